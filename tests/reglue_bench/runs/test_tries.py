"""The number of a unit's starts is known, also if the run is killed in the middle of it."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from glue_server import Order, Outcome
from reglue_bench.evaluation import carry_out, evaluate
from reglue_bench.results.result import Result
from reglue_bench.runs.ledger import Begun, Ledger, LedgerReader, Totals, Try
from reglue_bench.runs.observer import NullObserver
from reglue_bench.runs.run import Request, Retry, begin
from reglue_bench.settings import Settings
from tests.glue_server.playing import cell
from tests.programs import program
from tests.reglue_bench.agents import Seeded
from tests.reglue_bench.toys import corridor_plan, play, rows
from tests.waiting import until

READY = "REGLUE_TEST_READY"


class Pauses(Seeded):
    """Pauses in its twentieth turn, if the environment names a file that says so."""

    asked = 0

    def agent_step(self, rewards: Any, observations: Any, steps: Any) -> Any:
        self.asked += 1
        if self.asked == 20 and READY in os.environ:
            Path(os.environ[READY]).touch()
            signal.pause()
        return super().agent_step(rewards, observations, steps)


KILLED = """
import os
from tests.reglue_bench.runs.test_tries import READY, walk

os.environ[READY] = {ready!r}
walk({out!r})
"""


def walk(out: Path | str, **more: Any) -> Result:
    return evaluate(
        "multi-task:tests.worlds:Corridor",
        agent=Pauses(),
        out=out,
        num_episodes=40,
        slots=2,
        workers=0,
        environment_args={"solved": {"walk": [0] * 40}},
        **more,
    )


def outcome(unit: int) -> Outcome:
    return Outcome(Order(unit, 0, cell(), 1), "ok", steps=3)


def test_the_ledger_knows_which_units_are_in_play(tmp_path: Path) -> None:
    with_plan = play(tmp_path / "run", corridor_plan(num_episodes=1), Seeded())
    assert with_plan.complete
    ledger = Ledger(tmp_path / "run")
    try:
        session = ledger.begin_session()
        ledger.record([], begun=[Begun(7, 0), Begun(8, 2)], session=session)
        assert ledger.begun() == {7: 0, 8: 2}
        ledger.record([], begun=[Begun(7, 1)], session=session)
        ledger.record([Try(2, [outcome(8)])], begun=[Begun(9, 0)], session=session, totals=Totals())
        assert ledger.begun() == {7: 1, 9: 0}
        ledger.record([Try(0, [outcome(9)])], begun=[Begun(9, 0)], session=session)
        assert ledger.begun() == {7: 1}
    finally:
        ledger.close()


def test_what_was_in_play_when_a_run_was_killed_is_a_later_try(tmp_path: Path) -> None:
    """A real kill -9; tests/simulator kills runs at any statement of SQL."""
    out, ready = tmp_path / "run", tmp_path / "ready"
    code = KILLED.format(out=str(out), ready=str(ready))
    with program(code, tmp_path) as killed:
        until(ready.exists, "it plays")
        until(lambda: bool(in_play(out)), "that is taken down")
        os.kill(killed.pid, signal.SIGKILL)
        killed.wait(10)
    in_play_then = in_play(out)
    assert set(in_play_then.values()) == {0}
    result = walk(out, resume=True)
    assert result.complete
    assert rows(result) == rows(walk(tmp_path / "undisturbed"))
    assert {row.unit for row in result.episodes if row.attempt} == set(in_play_then)
    assert result.episodes_retried == len(in_play_then)
    assert in_play(out) == {}


@pytest.mark.parametrize("retry", ["none", "environment"])
def test_a_unit_is_not_begun_for_ever(tmp_path: Path, retry: Retry) -> None:
    """It is no agent's fault, and the run is not complete until somebody wants it played again."""
    plan = corridor_plan(num_episodes=2)
    request = Request(Settings(benchmark=plan.benchmark, workers=0), plan, agent=Seeded())
    with begin(tmp_path, request) as ledger:
        session = ledger.begin_session()
        ledger.record([], begun=[Begun(1, 9)], session=session)
        result = carry_out(tmp_path, ledger, replace(request, retry_faults=retry), NullObserver())
    tries = {row.unit: (row.status, row.attempt) for row in result.episodes}
    status = "environment_error" if retry == "none" else "ok"
    assert tries.pop(1) == (status, 10)
    assert set(tries.values()) == {("ok", 0)}
    assert result.complete == (retry != "none")


def in_play(folder: Path) -> dict[int, int]:
    with LedgerReader(folder) as reader:
        return reader.begun()
