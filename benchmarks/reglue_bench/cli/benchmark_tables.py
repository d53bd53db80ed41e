"""The tables of `reglue benchmarks`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from rich.table import Table
from rich.text import Text

from env_adapters.metaworld import catalogue, task_set
from env_adapters.suite_names import Family
from env_adapters.suites import FAMILIES
from reglue.errors import UsageError
from reglue.spec import Box, Discrete, TaskSpec, TensorSpec
from reglue_bench.benchmark.benchmark import Benchmark
from reglue_bench.benchmark.benchmark_file import described
from reglue_bench.benchmark.benchmark_source import META_WORLD, is_file
from reglue_bench.procedures import PROCEDURES, procedure_names
from reglue_bench.procedures.meta_learning import GOALS
from reglue_bench.settings import read_settings


def described_file(name: str | None) -> str:
    """The benchmark as a file. Raises UsageError."""
    if name is None:
        raise UsageError("--describe describes one benchmark: give its name")
    benchmark = Benchmark.of(read_settings(benchmark=name))
    endless = {} if is_file(name) else PROCEDURES[benchmark.source.procedure].endless
    if endless and benchmark.facts().continuing:
        settings = benchmark.settings.model_copy(update=dict(endless))
        benchmark = replace(benchmark, settings=settings)
    return described(benchmark.resolve().plan)


def names() -> dict[str, Any]:
    """The names of benchmarks, procedures and families of environments."""
    return {
        "benchmarks": {form: META_WORLD[form[:2]] for form in catalogue()},
        "procedures": procedure_names(),
        "environments": {family.form(prefix): family.about for prefix, family in _families()},
    }


def facts(name: str) -> dict[str, Any]:
    """A benchmark's tasks, their numbers of variants, and its observations and actions."""
    made = _made_here(name).facts()
    assert made.spec is not None, "it was made here"
    return {"name": name, "variants": dict(made.variants), "spec": asdict(made.spec)}


def tables(name: str | None) -> Sequence[Table]:
    """The benchmark's tasks and tensors; without a name what there is."""
    return _one(name) if name else (_all(), _environments(), _procedures())


def _families() -> Iterator[tuple[str, Family]]:
    """The families that are not benchmarks themselves."""
    built_in = {form.partition(":")[0] for form in catalogue()}
    return (
        (prefix, family) for prefix, family in FAMILIES.loaded().items() if prefix not in built_in
    )


def _all() -> Table:
    table = Table(title="benchmarks")
    for column in ("name", "tasks", "goal", "variants", "procedure"):
        table.add_column(column)
    for name, what in catalogue().items():
        family = name[:2]
        tasks, goal = what.rsplit(", goal ", 1)
        played = "50 a task" if family == "MT" else f"{GOALS} a task"
        table.add_row(name, tasks, goal, played, META_WORLD[family])
    table.caption = "Success is the flag at any step. `reglue benchmarks NAME` lists the tasks."
    return table


def _environments() -> Table:
    table = _described_names("PROCEDURE:ENVIRONMENT", "environment")
    for prefix, family in _families():
        table.add_row(family.form(prefix), family.about)
    table.add_row("<file.py>:<class>", "your own")
    table.add_row("<file.toml>", "a schedule: several, one after another")
    table.add_row("wait", "one that connects by itself, from any language")
    table.caption = (
        "Play one by a procedure, such as online:mountain-car. `reglue bench FILE.toml` plays a "
        "benchmark of your own."
    )
    return table


def _procedures() -> Table:
    table = _described_names("procedures", "procedure")
    for name, procedure in PROCEDURES.loaded().items():
        if name in procedure_names():
            table.add_row(name, procedure.about)
    return table


def _described_names(title: str, what: str) -> Table:
    table = Table(title=title)
    for column in (what, "what it is"):
        table.add_column(column)
    return table


def _one(name: str) -> list[Table]:
    benchmark = _made_here(name)
    source, made = benchmark.source, benchmark.facts()
    assert made.spec is not None, "it was made here"
    if source.is_metaworld:
        return [_tasks(source.name, source.procedure), _seen(made.spec)]
    return [_variants(name, made.variants), _seen(made.spec)]


def _made_here(name: str) -> Benchmark:
    benchmark = Benchmark.of(read_settings(benchmark=name))
    if benchmark.source.waits:
        raise UsageError(
            f"{name} plays the environment that connects: its tasks are unknown until then"
        )
    return benchmark


def _tasks(name: str, procedure: str) -> Table:
    sets = [task_set(name)]
    if sets[0].family == "ML":
        with contextlib.suppress(UsageError):  # an own list need not have both
            sets.insert(0, task_set(name, "train"))
    table = Table(title=Text(f"{name}, {procedure}"))
    for tasks in sets:
        table.add_column(f"{tasks.split}, {len(tasks.tasks)} task{'s' * (len(tasks.tasks) > 1)}")
    for place in range(max(len(tasks.tasks) for tasks in sets)):
        table.add_row(*(t.tasks[place] if place < len(t.tasks) else "" for t in sets))
    return table


def _variants(name: str, variants: Mapping[str, int]) -> Table:
    table = Table(title=Text(name))
    table.add_column("task")
    table.add_column("variants", justify="right")
    for task, count in variants.items():
        table.add_row(Text(task), str(count))
    return table


def _seen(spec: TaskSpec) -> Table:
    kind = "continuing: --steps N" if spec.continuing else "episodic"
    limit = f", truncated after {spec.horizon:,} steps" if spec.horizon else ""
    table = Table(title="what an agent sees and does", caption=f"{kind}{limit}")
    for column in ("", "name", "dtype", "shape", "values"):
        table.add_column(column)
    for what, tensors in (("observation", spec.observations), ("action", spec.actions)):
        for tensor in tensors:
            shape = " × ".join(map(str, tensor.shape)) or "a number"
            table.add_row(what, tensor.name, tensor.dtype, shape, Text(_values(tensor)))
    return table


def _values(tensor: TensorSpec) -> str:
    match tensor.domain:
        case Discrete(n, start):
            return f"{start} to {start + n - 1}"
        case Box():
            return f"{tensor.low().min():g} to {tensor.high().max():g}"
        case other:
            return str(other)
