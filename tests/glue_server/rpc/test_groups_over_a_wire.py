"""The agent thinks about one group of slots while workers step the other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from env_adapters import SuiteName
from glue_server import SlotGlue, WorkerPool
from glue_server.rpc import GlueServer
from reglue import Phase
from tests.glue_server.playing import (
    PATIENT,
    SOLVED,
    Follower,
    by_k,
    cell,
    cells,
    corridor_pool,
    in_turn,
    played,
)
from tests.glue_server.rpc.conftest import Join
from tests.worlds import meet


class Partial(Follower):
    partial_turns = True


class Punctual(Partial):
    """At its second turn it waits until an environment has begun to step."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.turns = 0

    def turn(self, turn: Any) -> Any:
        self.turns += 1
        if self.turns == 2:
            meet(self.folder, "agent", "environment")
        return super().turn(turn)


def glue_with(server: GlueServer, pool: WorkerPool) -> SlotGlue:
    agent = server.agent(timeout_s=20)
    assert agent is not None
    glue = SlotGlue(agent, pool, timeouts=PATIENT)
    glue.init()
    return glue


def test_agent_and_environment_meet_in_their_work(
    server: GlueServer, join: Join, tmp_path: Path
) -> None:
    """Each waits for the other to begin: one after the other they would wait forever."""
    join(Punctual(tmp_path))
    config = {"solved": SOLVED, "folder": str(tmp_path)}
    pool = WorkerPool(SuiteName("tests.worlds:Rendezvous", config), 2, workers=1)
    try:
        glue = glue_with(server, pool)
        rows = list(glue.play(in_turn([cell(variant=2)] * 2), Phase.EVALUATE))
    finally:
        pool.close()
    assert [row.status for row in rows] == ["ok", "ok"]


def test_rows_are_those_of_one_slot(server: GlueServer, join: Join) -> None:
    join(Partial())
    pool = WorkerPool(SuiteName("tests.worlds:Corridor", {"solved": SOLVED}), 5, workers=2)
    try:
        rows = by_k(glue_with(server, pool).play(in_turn(cells()), Phase.EVALUATE))
    finally:
        pool.close()
    assert rows == played(Follower(), corridor_pool(1), cells())
