"""Suites of runs: made, and where the files of Python are that they name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from env_adapters import Suite, SuiteName
from env_adapters.suites import suite_name
from reglue.errors import NotAnEnvironment, ReglueError, UsageError
from reglue_bench.plans.file import is_custom
from reglue_bench.plans.plan import Plan
from reglue_bench.settings import Settings

_MEMBERS = ("spec", "variants", "standardizes", "world")  # of a Suite

_NAMED = re.compile(r"([^:]+\.py):\w+")  # file.py:Class


def build(suite: SuiteName) -> Suite:
    """Make the suite. Raises UsageError, also where its author's code fails."""
    try:
        made = suite.build()
        missing = [name for name in _MEMBERS if not hasattr(made, name)]
    except ReglueError:
        raise
    except Exception as error:  # the edge of somebody's suite
        raise UsageError(
            f"the environment {suite.factory} cannot be made: {type(error).__name__}: {error}"
        ) from error
    if missing:
        raise NotAnEnvironment(
            f"{suite.factory} made a {type(made).__name__}, which has no {', '.join(missing)}; "
            f"wanted a suite of environments, with {', '.join(_MEMBERS)}"
        )
    return made


def suite_of(plan: Plan, settings: Settings) -> SuiteName:
    """The plan's, as it is made here."""
    folder = Path(settings.directory)
    if is_custom(settings.benchmark):
        folder = (folder / settings.benchmark).parent
    return located(plan.suite, folder)


def located(suite: SuiteName, folder: Path) -> SuiteName:
    """The same suite, its files named from the root: relative ones are `folder`'s."""

    def from_root(name: str) -> str:
        return str(folder / name) if _NAMED.fullmatch(name) else name

    return SuiteName(from_root(suite.factory), _changed(suite.config, from_root))


def schedule_in(
    folder: Path, name: str, arguments: Mapping[str, Any], key: bytes | None = None
) -> SuiteName:
    """The schedule in a file of `folder`; files of Python in it are named from there."""
    suite = suite_name(str(folder / name), arguments, key)

    def from_folder(text: str) -> str:
        return text.removeprefix(f"{folder}/") if _NAMED.fullmatch(text) else text

    return SuiteName(suite.factory, _changed(suite.config, from_folder))


def files(suite: SuiteName) -> list[Path]:
    """Those that the suite names, itself or anywhere in its config, and that are there."""
    found = dict.fromkeys(
        Path(match[1]) for text in texts(suite) if (match := _NAMED.fullmatch(text))
    )
    return [path for path in found if path.is_file()]


def texts(suite: SuiteName) -> Iterator[str]:
    """Every string in it: its factory, and what stands anywhere in its config."""
    yield suite.factory
    yield from _texts(suite.config)


def _changed(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [_changed(each, change) for each in value]
    if isinstance(value, dict):
        return {key: _changed(each, change) for key, each in value.items()}
    return value


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts(each)
