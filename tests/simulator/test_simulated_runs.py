"""Runs of simulated worlds: properties hold, a seed is a run, and faults are found."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WORLDS = {"hub": 300, "evaluation": 300, "remote": 300, "competition": 100}
"""Seeds of each: those of a competition take longest."""
ENOUGH = 300  # seeds, within which a fault is found
FAULTS = (
    *("split", "twice", "halves", "lost", "crashes", "early", "unheard", "locked"),
    *("unwritten", "not replayed", "unsent", "other turn", "wall clock", "stays", "promised"),
    *("free cells", "late quota", "forgotten", "entries' clock", "early round", "places"),
    *("cut short", "blamed", "lost farewell"),
)


def simulate(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The command, in a process of its own: it replaces Python's modules."""
    command = [sys.executable, "-m", "tests.simulator", *arguments]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=900, check=False
    )


def test_seeds_that_failed_once_hold() -> None:
    done = simulate("--failed")
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-20_000:]


@pytest.mark.slow
@pytest.mark.parametrize(("world", "seeds"), WORLDS.items())
@pytest.mark.timeout(900)
def test_properties_hold_whatever_goes_wrong(world: str, seeds: int) -> None:
    done = simulate("--world", world, "--seeds", str(seeds))
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-20_000:]
    assert f"all holds with {seeds} seeds" in done.stdout


@pytest.mark.parametrize("world", WORLDS)
def test_a_seed_is_the_same_run_whatever_was_played_before(world: str) -> None:
    alone = simulate("--world", world, "--from", "3", "--seeds", "1", "--trace")
    behind_others = simulate("--world", world, "--from", "1", "--seeds", "3", "--trace")
    digests = [
        re.findall(r"seed 3: .* trace (\w+)", each.stdout) for each in (alone, behind_others)
    ]
    assert digests[0] == digests[1] != []


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.timeout(900)
def test_a_fault_that_is_put_back_is_found_and_its_run_shown(fault: str) -> None:
    found = simulate("--fault", fault, "--seeds", str(ENOUGH))
    assert found.returncode == 1, found.stdout + found.stderr
    assert "VIOLATION" in found.stdout
    assert re.search(r"seed \d+ fails", found.stdout)


def test_every_world_and_every_fault_is_played() -> None:
    code = (
        "from tests.simulator.substitution import substitute; substitute();"
        "from tests.simulator.faults import FAULTS; from tests.simulator.worlds import WORLDS;"
        "print(*WORLDS, *FAULTS, sep='\\n')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == [*WORLDS, *FAULTS]


def test_names_that_are_unknown_are_refused() -> None:
    wrong = simulate("--world", "hup")
    assert wrong.returncode == 2
    assert "'hup'" in wrong.stderr
