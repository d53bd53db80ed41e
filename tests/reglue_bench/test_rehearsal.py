"""A rehearsal says who cannot be repeated, and whether agents can make the environment fail."""

from __future__ import annotations

from pathlib import Path

import pytest

from reglue_bench.rehearsal import rehearse
from reglue_bench.runs.observer import NullObserver
from reglue_bench.settings import read_settings

FILE = """
import numpy as np

from tests.reglue_bench.worlds import Unrepeatable
from tests.worlds import Corridor

class Blurred(Unrepeatable):
    def __init__(self):
        super().__init__(way="random observation", solved={"walk": [0]})

class Remembers(Unrepeatable):
    def __init__(self):
        super().__init__(way="rewards of before", solved={"walk": [0]})

class Clear(Corridor):
    def __init__(self):
        super().__init__(solved={"walk": [0]})

def zeros(observations):
    return np.zeros((len(observations), 1))

def reacting(observations):
    return np.sin(observations[:, :1])

def drawing(observations):
    return np.random.default_rng().uniform(-1, 1, (len(observations), 1))
"""


def remarks(folder: Path, environment: str, agent: str) -> list[str]:
    """What a rehearsal remarks of being repeated."""
    (folder / "own.py").write_text(FILE)
    settings = read_settings(
        benchmark=f"evaluate:own.py:{environment}",
        agent=f"own.py:{agent}",
        directory=str(folder),
        workers=0,
        slots=2,
    )
    checks = rehearse(settings, NullObserver())
    assert [check for check in checks if check.passed is False] == []
    return [check.what for check in checks if check.passed is None and "repeatable" in check.what]


@pytest.mark.parametrize(
    ("environment", "agent"),
    [("Remembers", "zeros"), ("Blurred", "reacting")],
)
def test_an_environment_is_blamed_for_what_it_does(
    tmp_path: Path, environment: str, agent: str
) -> None:
    found = remarks(tmp_path, environment, agent)
    assert "because of the environment" in found[0]
    assert not [each for each in found if "because of the agent" in each]


def test_an_agent_is_blamed_where_the_environment_can_be_repeated(tmp_path: Path) -> None:
    found = remarks(tmp_path, "Clear", "drawing")
    assert "because of the agent" in found[0]
    assert not [each for each in found if "because of the environment" in each]


def test_where_both_cannot_be_repeated_both_are(tmp_path: Path) -> None:
    first, second, *_ = remarks(tmp_path, "Blurred", "drawing")
    assert "because of the environment" in first
    assert "because of the agent" in second


def test_where_both_can_be_repeated_nobody_is(tmp_path: Path) -> None:
    assert remarks(tmp_path, "Clear", "reacting") == []
