"""`reglue benchmarks`: lists benchmarks and environments."""

from __future__ import annotations

from json import dumps
from typing import Annotated

from typer import Argument, Option

from glue_server.commands.command import Command
from glue_server.console import console
from reglue.tools.loading_modules import loading
from reglue.tools.outputs import product
from reglue_bench.cli.shared_flags import AsJson, print_document


def benchmarks(
    name: Annotated[
        str | None, Argument(help="show this one's tasks, in order, and its tensors")
    ] = None,
    describe: Annotated[
        bool,
        Option(
            "--describe",
            help="print NAME as a benchmark file, which you may edit and `reglue bench` plays",
        ),
    ] = False,
    json: AsJson = False,
) -> None:
    """List the benchmarks, with their tasks, variants (goals) and procedure, and the environments.

    `reglue benchmarks ML10` lists one benchmark's tasks, and the tensors that its agents see and
    return. `reglue benchmarks MT10 --describe > my.toml` writes a file to edit; `reglue bench
    my.toml` plays it.

    Exit codes: 0 listed; 2 wrong usage, or no such benchmark; 130 interrupted.
    """
    with loading():
        from reglue_bench.cli.benchmark_tables import described_file, facts, names, tables

    if describe:
        with product():
            print(described_file(name), end="")
        return
    if json:
        print_document(dumps(facts(name) if name else names()))
        return
    for table in tables(name):
        console().print(table)


main = Command(benchmarks)
