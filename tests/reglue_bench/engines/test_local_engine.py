"""Runs that several processes play: the rows of one, whatever happens to a process."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from glue_server import Outcome
from reglue.errors import UsageError
from reglue_bench.engines.process_players import LocalPlayers
from reglue_bench.engines.run_identity import machine
from reglue_bench.evaluation import resume
from reglue_bench.plans.plan import Plan
from reglue_bench.runs.observer import NullObserver
from tests.error_facts import raises
from tests.leftovers import child_processes
from tests.reglue_bench.agents import Seeded
from tests.reglue_bench.procedures.test_online import kept
from tests.reglue_bench.toys import (
    AGENTS,
    Interrupts,
    Says,
    corridor_plan,
    joining,
    online_plan,
    play,
)

pytestmark = pytest.mark.slow

SEEDED = joining("Seeded")
PLANS = [
    online_plan(runs=3, episodes=3),
    corridor_plan(agents=2, num_episodes=4),
    corridor_plan("meta-learning", agents=2, num_evals=3),
]


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.procedure)
def test_rows_do_not_depend_on_the_number_of_processes(
    tmp_path: Path, plan: Plan, capfd: pytest.CaptureFixture[str]
) -> None:
    play(tmp_path / "here", plan, Seeded())
    assert play(tmp_path / "3", plan, agent_cmd=SEEDED, processes=3).complete
    assert kept(tmp_path / "here") == kept(tmp_path / "3")
    assert capfd.readouterr().err == ""  # processes leave without a word


STARVED = "killed by SIGKILL, perhaps for want of memory"
LOST = f"a process on {machine()} died, and another plays what is left of its units"


class Kills(NullObserver):
    """Kills a process that plays after some outcomes, so many times."""

    def __init__(self, times: int = 1, after: int = 2) -> None:
        self._dead: set[int] = set()  # some may still be listed
        self._times = times
        self._after = self._left = after

    def outcome(self, outcome: Outcome, phase: str) -> None:
        self._left -= 1
        # None, where the last words of one that was killed are told.
        alive = [each for each in players() if each not in self._dead]
        if alive and self._left <= 0 and self.killed < self._times:
            self._left = self._after
            self._dead.add(alive[0])
            os.kill(alive[0], signal.SIGKILL)

    @property
    def killed(self) -> int:
        """The number of killed processes."""
        return len(self._dead)


def players() -> list[int]:
    """The processes that play a run of ours."""
    command = b"reglue_bench.engines.shard_process"
    return [
        pid for pid in child_processes() if command in Path(f"/proc/{pid}/cmdline").read_bytes()
    ]


@pytest.mark.parametrize("plan", PLANS[:2], ids=lambda plan: plan.procedure)
def test_what_a_killed_process_played_is_played_again_by_another(
    tmp_path: Path, plan: Plan
) -> None:
    watcher = Kills()
    play(tmp_path / "whole", plan, Seeded())
    result = play(tmp_path / "killed", plan, agent_cmd=SEEDED, processes=2, watcher=watcher)
    assert watcher.killed == 1
    assert result.complete
    assert kept(tmp_path / "killed") == kept(tmp_path / "whole")
    assert not players()
    assert result.machines == [machine()]


def hungry(fuse: Path, times: int) -> Plan:
    """Runs whose processes run out of memory so many times, or more where two do at once."""
    fuse.write_bytes(bytes(times))
    config = {"fuse": str(fuse)}
    return online_plan(runs=2, suite="tests.reglue_bench.bench_worlds:Hungry", config=config)


def test_what_a_process_without_memory_played_is_played_again(tmp_path: Path) -> None:
    watcher = Says()
    play(tmp_path / "whole", hungry(tmp_path / "fuse", 0), Seeded())
    plan = hungry(tmp_path / "fuse", 1)
    result = play(tmp_path / "starved", plan, agent_cmd=SEEDED, processes=2, watcher=watcher)
    assert result.complete
    assert kept(tmp_path / "starved") == kept(tmp_path / "whole")
    assert [each.what for each in result.events] == [f"{LOST}: {STARVED}"]
    assert result.events[0].what in watcher.said


def test_a_unit_without_enough_memory_anywhere_ends_the_run(tmp_path: Path) -> None:
    plan = hungry(tmp_path / "fuse", 9)
    result = play(tmp_path / "run", plan, agent_cmd=SEEDED, processes=2)
    assert result.ended_early is not None
    assert result.ended_early.status == "environment_error"
    words = "3 processes died, .* that played unit [01]; the last, on "
    assert re.match(f"{words}{re.escape(machine())}: {STARVED} ", result.ended_early.what)
    (tmp_path / "fuse").write_bytes(b"")
    assert resume(tmp_path / "run", NullObserver()).complete


def test_a_unit_whose_processes_die_again_and_again_ends_the_run(tmp_path: Path) -> None:
    plan = online_plan(runs=2, episodes=800)  # more than fit into a socket: none is ahead of us
    result = play(tmp_path, plan, agent_cmd=SEEDED, processes=2, watcher=Kills(times=20, after=1))
    assert result.ended_early is not None
    assert result.ended_early.status == "environment_error"
    assert STARVED in result.ended_early.what
    assert "--" not in result.ended_early.what  # whoever reads it may have begun it in Python
    assert len(result.events) > 0
    again = resume(tmp_path, NullObserver())
    assert again.complete
    assert again.events == result.events


def test_ctrl_c_keeps_what_is_whole_and_the_rest_is_resumed(tmp_path: Path) -> None:
    plan = online_plan(runs=4, episodes=3)
    play(tmp_path / "whole", plan, Seeded())
    result = play(
        tmp_path / "cut", plan, agent_cmd=SEEDED, processes=2, watcher=Interrupts(after=7)
    )
    assert result.ended_early is not None
    assert result.ended_early.status == "interrupted"
    assert not players()
    assert resume(tmp_path / "cut", NullObserver()).complete
    assert kept(tmp_path / "cut") == kept(tmp_path / "whole")


def test_the_same_fault_of_every_agent_ends_the_run(tmp_path: Path) -> None:
    plan = online_plan(runs=30)
    result = play(tmp_path, plan, agent_cmd=joining("Exits"), processes=2)
    assert result.ended_early is not None
    assert "the first 3 agents were all lost in the same way" in result.ended_early.what
    assert sum(status == "agent_disconnected" for _, _, status, *_ in kept(tmp_path)) in (3, 4)


def test_an_agent_that_cannot_be_made_is_said_once(tmp_path: Path) -> None:
    with raises(UsageError, "NoSuchAgent", AGENTS):
        play(tmp_path, online_plan(), f"{AGENTS}:NoSuchAgent", processes=2)
    assert not (tmp_path / "ledger.sqlite").exists()


@pytest.mark.parametrize(
    ("plan", "settings", "why", "named"),
    [
        (corridor_plan(), {"agent_cmd": SEEDED}, "agent", {"agents"}),
        (online_plan(), {"agent": "wait"}, "agent", set()),
        (online_plan(), {"agent_cmd": SEEDED, "record": True}, "dataset", {"record"}),
    ],
)
def test_processes_that_could_not_help_are_refused(
    tmp_path: Path, plan: Plan, settings: dict[str, Any], why: str, named: set[str]
) -> None:
    with raises(UsageError, "processes=2", 1, why, settings={"processes", *named}):
        play(tmp_path / "run", plan, processes=2, **settings)
    assert not (tmp_path / "run").exists()


def test_copies_of_an_agent_that_connects_by_itself_are_refused(tmp_path: Path) -> None:
    with raises(UsageError, settings={"agent", "agent_cmd", "agents"}):
        play(tmp_path, corridor_plan(agents=2), "wait")


MINE = """
from tests.worlds import Corridor


class Mine(Corridor):
    def __init__(self) -> None:
        super().__init__(solved={"walk": [0]})
"""


def test_no_file_of_a_users_folder_replaces_a_standard_module(tmp_path: Path) -> None:
    """Neither in processes that play, nor in their agents and workers."""
    for name in ("queue", "random", "copy"):
        (tmp_path / f"{name}.py").write_text(f"raise SystemExit('{name} of a user')")
    (tmp_path / "mine.py").write_text(MINE)
    words = "multi-task:mine.py:Mine --agent random --num-episodes 2 --slots 2 --agents 2"
    done = subprocess.run(
        [sys.executable, "-P", "-m", "reglue", "bench", *words.split(), "--workers", "2"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("spare", [0, 1])
def test_processes_that_take_all_cores_stay_on_one_each(spare: int) -> None:
    allowed = sorted(os.sched_getaffinity(0))
    players = LocalPlayers(len(allowed) - spare)
    begun = [players.begin(number) for number in range(len(allowed))]
    try:
        found = [os.sched_getaffinity(player.pid) for player in begun]
        assert found == [set(allowed) if spare else {core} for core in allowed]
    finally:
        for player in begun:
            player.leave()
            player.end(5.0)
