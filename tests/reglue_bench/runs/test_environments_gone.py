"""An environment that raises EnvironmentLost ends the run, which can be resumed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import reglue
from reglue_bench.results.result import Result
from tests.reglue_bench.agents import Seeded
from tests.reglue_bench.remote import dialling

SOLVED = {"walk": [1, 0, 2, 0]}

SUITES = """
from pathlib import Path

import reglue
from reglue import Box, Cell, Earned, TaskSpec, TensorSpec
from tests.worlds import Corridor, Walk

GONE = Path(__file__).with_name("gone")  # there from the first time that it plays so many steps on
STEPS = {"at_step": 9, "at_start": 10}


def look(counted, where):
    if GONE.exists() and counted[0] >= STEPS[where]:
        raise reglue.EnvironmentLost("the simulator's licence server is gone")


class Leaves(Corridor):
    \"\"\"Counts the steps of its worlds.\"\"\"

    def __init__(self, *, where, **corridor):
        super().__init__(**corridor)
        self.where, self.counted = where, [0]

    def world(self):
        return LeavingWalk(self)


class LeavingWalk(Walk):
    def start(self, cell):
        if self._corridor.where == "at_start":
            look(self._corridor.counted, "at_start")
        return super().start(cell)

    def step(self, action):
        self._corridor.counted[0] += 1
        if self._corridor.where == "at_step":
            look(self._corridor.counted, "at_step")
        return super().step(action)


class LeavesWhole(reglue.Environment):
    \"\"\"The corridor as an environment whose steps move every slot.\"\"\"

    def __init__(self, *, solved, where):
        self._suite, self._worlds = Leaves(solved=solved, where=where), {}

    @property
    def variants(self):
        return self._suite.variants

    def env_init(self, slots):
        self._worlds = {slot: self._suite.world() for slot in range(slots)}
        return self._suite.spec

    def env_start(self, cells):
        seen = [self._worlds[slot].start(cell)["observation"] for slot, cell in cells.items()]
        return {"observation": seen}

    def env_step(self, actions, slots):
        steps = [
            self._worlds[slot].step({"action": actions["action"][row]})
            for row, slot in enumerate(slots.tolist())
        ]
        return Earned(
            [each.reward for each in steps],
            {"observation": [each.observation["observation"] for each in steps]},
            [each.terminated for each in steps],
            [each.truncated for each in steps],
            [each.success for each in steps],
        )
"""


@pytest.fixture
def suites(tmp_path: Path) -> Path:
    path = tmp_path / "suites.py"
    path.write_text(SUITES)
    return path


@pytest.fixture(scope="module")
def whole() -> Result:
    """A run of the same that loses nothing."""
    options = options_of("tests.worlds:Corridor", workers=0)
    options["environment_args"] = {"solved": SOLVED}
    return reglue.evaluate(**options)


def rows(result: Result) -> list[Any]:
    return [(row.unit, row.k, row.status, row.return_, row.steps) for row in result.episodes]


def options_of(name: str, where: str = "at_step", **settings: Any) -> dict[str, Any]:
    return {
        "benchmark": f"multi-task:{name}",
        "agent": Seeded(),
        "num_episodes": 8,
        "slots": 2,
        "environment_args": {"solved": SOLVED, "where": where},
        "raise_faults": False,
        **settings,
    }


def check_lost(result: Result, *, at_start: bool) -> None:
    assert result.ended_early is not None
    assert result.ended_early.status == "environment_error"
    assert "the simulator's licence server is gone" in result.ended_early.what
    assert "can be resumed" in result.ended_early.what
    assert result.status_counts["missing"] >= 1
    assert result.status_counts.keys() <= {"ok", "environment_lost", "missing"}
    if not at_start:
        assert result.status_counts["environment_lost"] >= 1


@pytest.mark.parametrize("where", ["at_step", "at_start"])
@pytest.mark.parametrize(
    ("name", "workers"),
    [("Leaves", 0), ("Leaves", 1), ("Leaves", 2), ("LeavesWhole", 0), ("LeavesWhole", 1)],
)
def test_rows_of_the_resumed_run_are_those_of_a_run_that_lost_nothing(
    suites: Path, tmp_path: Path, whole: Result, name: str, workers: int, where: str
) -> None:
    options = options_of(f"{suites}:{name}", where, workers=workers)
    gone, out = tmp_path / "gone", tmp_path / "run"
    gone.touch()
    check_lost(reglue.evaluate(**options, out=out), at_start=where == "at_start")
    gone.unlink()
    again = reglue.evaluate(**options, out=out, resume=True)
    assert again.complete
    assert rows(again) == rows(whole)


def test_one_that_connected_leaves_and_another_is_waited_for(
    suites: Path, tmp_path: Path, whole: Result
) -> None:
    options = options_of("wait", environment_args={}, reconnect_window=0.0)
    words = (f"solved={SOLVED}".replace("'", '"'), "where=at_step")
    gone, out = tmp_path / "gone", tmp_path / "run"
    gone.touch()
    with dialling(f"{suites}:Leaves", *words) as (watcher, started):
        check_lost(reglue.evaluate(**options, out=out, watcher=watcher), at_start=False)
        assert started[0].wait(30) == 1
    gone.unlink()
    with dialling(f"{suites}:Leaves", *words) as (watcher, _):
        again = reglue.evaluate(**options, out=out, resume=True, watcher=watcher)
    assert again.complete
    assert rows(again) == rows(whole)


def test_a_run_in_no_folder_is_not_said_to_be_resumable(suites: Path, tmp_path: Path) -> None:
    (tmp_path / "gone").touch()
    result = reglue.evaluate(**options_of(f"{suites}:Leaves", workers=0))
    assert result.ended_early is not None
    assert "resumed" not in result.ended_early.what


@pytest.mark.parametrize("slots", [1, 2])
def test_a_learner_that_lost_its_environment_plays_its_run_again(
    suites: Path, tmp_path: Path, slots: int
) -> None:
    """In this process, and in processes of several runs."""
    options = options_of(
        f"{suites}:Leaves", agent="tests.reglue_bench.agents:Learner", processes=slots
    )
    del options["num_episodes"], options["slots"]
    options |= {"benchmark": f"online:{suites}:Leaves", "runs": 3, "episodes": 3}
    whole, gone, out = reglue.evaluate(**options), tmp_path / "gone", tmp_path / "run"
    gone.touch()
    first = reglue.evaluate(**options, out=out)
    assert first.ended_early is not None
    assert "can be resumed" in first.ended_early.what
    gone.unlink()
    again = reglue.evaluate(**options, out=out, resume=True)
    assert again.complete
    assert rows(again) == rows(whole)
