"""`import reglue` is light, and has what the extras bring, loaded when it is used."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

import pytest

import reglue
from reglue.tools.extras import EXTRAS, GROUP
from tests.error_facts import raises

if TYPE_CHECKING:  # mypy refuses an ignore that it does not need: so it sees the signatures
    reglue.evaluate("MT10", agent="random", num_epsodes=3)  # type: ignore[call-arg]
    reglue.evaluate("MT10", agent="random", num_episodes="3")  # type: ignore[arg-type]
    reglue.Glue("mountain-car")  # type: ignore[call-arg]
    _ = reglue.Evaluater  # type: ignore[attr-defined]


def python(program: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout


@pytest.mark.parametrize("name", EXTRAS)
def test_each_name_of_an_extra_is_listed_and_loaded(name: str) -> None:
    assert name in dir(reglue)
    [point] = entry_points(group=GROUP, name=name)
    assert getattr(reglue, name) is point.load()


def test_every_entry_point_of_the_group_is_known() -> None:
    assert {point.name for point in entry_points(group=GROUP)} == {*EXTRAS}


def test_an_unknown_name_is_no_attribute() -> None:
    with raises(AttributeError, "'reglue'", "'evaluat'"):
        _ = getattr(reglue, "evaluat")  # noqa: B009 - mypy refuses the attribute


def test_a_missing_extra_is_named() -> None:
    program = (
        "import sys; sys.modules['pydantic'] = None\n"
        "import reglue\n"
        "try:\n    reglue.evaluate\n"
        "except reglue.ReglueError as error:\n    print(error)\n"
    )
    assert "pip install 'reglue[server]'" in python(program)
