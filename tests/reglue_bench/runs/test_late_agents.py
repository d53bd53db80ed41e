"""Runs whose agent is late, where that costs default actions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from reglue_bench.replay import Replay, read_episode
from reglue_bench.runs.ledger import Ledger
from tests.reglue_bench.toys import corridor_plan, joining, online_plan, play


@pytest.mark.parametrize("procedure", ["multi-task", "online"])
def test_defaults_are_counted_kept_and_played_again(tmp_path: Path, procedure: str) -> None:
    plan = online_plan(runs=1) if procedure == "online" else corridor_plan(slots=1)
    command = joining("Dawdles")
    result = play(
        tmp_path, plan, agent_cmd=command, step_timeout=0.3, late="default-action", workers=0
    )
    assert result.complete
    assert not result.faults
    rows = [row for row in result.episodes if row.defaulted]
    assert rows
    assert result.defaulted_steps == sum(row.defaulted for row in rows)
    with Ledger(tmp_path) as ledger:
        kept = [np.frombuffer(ledger.actions(row.unit, row.attempt, row.k), "<f4") for row in rows]
    assert [np.count_nonzero(actions == 0) for actions in kept] == [row.defaulted for row in rows]
    for row in rows:
        recorded = read_episode(tmp_path, row.k, row.unit)
        replay = Replay(recorded, recorded.suite.build())
        *_, last = replay.moments()
        replay.close()
        assert last.return_ == row.return_
