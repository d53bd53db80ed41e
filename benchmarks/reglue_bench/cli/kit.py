"""`reglue kit`: write a project for an agent."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument

from glue_server.commands.command import Command
from glue_server.console import say
from reglue.tools.loading_modules import loading
from reglue_bench.kit.language import LANGUAGES, LanguageName


def kit(
    language: Annotated[LanguageName, Argument(help="the language of the agent")],
    folder: Annotated[
        Path, Argument(metavar="DIR", help="the folder to write: a new one, or an empty one")
    ],
) -> None:
    """Write a project for an agent in C, C++, Julia, Python or TypeScript.

    It holds an agent that acts at random, to write yours in its place; its build; a Dockerfile;
    and the sources of Reglue's client, so that it needs no checkout. Its README.md has four
    commands: build, rehearse, join, container.

    reglue kit cpp my-agent

    Exit codes: 0 written; 1 the disk is full; 2 wrong usage; 130 interrupted.
    """
    with loading():
        from reglue_bench.kit.writing import missing_programs, write_project

    write_project(language, folder)
    say(
        f"{folder}: begin with {folder / 'README.md'}, and write your agent in its "
        f"{LANGUAGES[language].agent}"
    )
    if missing := missing_programs(language):
        say(
            f"To build it here, install what is missing: {', '.join(missing)}. "
            f"{LANGUAGES[language].where_programs_are.replace('`', '')}"
        )


main = Command(kit)
