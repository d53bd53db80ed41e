"""The agent thinks about one group of slots while workers step the other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from env_adapters import SuiteName
from glue_server import EnvironmentCalls, EpisodeRunner
from glue_server.rpc import GlueServer
from reglue import Phase
from reglue.errors import AgentFault
from tests.error_facts import raises
from tests.glue_server.playing import (
    PATIENT,
    SOLVED,
    Follower,
    Partial,
    by_k,
    cell,
    cells,
    corridor_pool,
    in_turn,
    in_workers,
    played,
)
from tests.glue_server.rpc.conftest import Join
from tests.glue_server.rpc.peers import seated
from tests.waiting import until
from tests.worlds import meet


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


def glue_with(server: GlueServer, pool: EnvironmentCalls) -> EpisodeRunner:
    agent = seated(server)
    glue = EpisodeRunner(agent, pool, timeouts=PATIENT)
    glue.init()
    return glue


def test_agent_and_environment_meet_in_their_work(
    server: GlueServer, join: Join, tmp_path: Path
) -> None:
    """Each waits for the other to begin: one after the other they would wait forever."""
    join(Punctual(tmp_path))
    config = {"solved": SOLVED, "folder": str(tmp_path)}
    pool, _ = in_workers(SuiteName("tests.worlds:Rendezvous", config), 2, workers=1)
    try:
        glue = glue_with(server, pool)
        rows = list(glue.play(in_turn([cell(variant=2)] * 2), Phase.EVALUATE))
    finally:
        pool.close()
    assert [row.status for row in rows] == ["ok", "ok"]


def test_rows_are_those_of_one_slot(server: GlueServer, join: Join) -> None:
    join(Partial())
    pool, _ = in_workers(SuiteName("tests.worlds:Corridor", {"solved": SOLVED}), 5, workers=2)
    try:
        rows = by_k(glue_with(server, pool).play(in_turn(cells()), Phase.EVALUATE))
    finally:
        pool.close()
    assert rows == played(Follower(), corridor_pool(1), cells())


def test_a_worker_that_hangs_is_replaced_while_the_agent_thinks(
    server: GlueServer, join: Join, tmp_path: Path
) -> None:
    """The agent waits for that, as nobody else sends anything."""
    (fuse := tmp_path / "fuse").write_bytes(bytes(1))
    suite = SuiteName("tests.worlds:Hanging", {"solved": SOLVED, "fuse": str(fuse)})
    pool, port = in_workers(suite, 2, workers=1, timeout_s=2.0)
    before = port.processes

    class Thinker(Partial):
        turns = 0

        def turn(self, turn: Any) -> Any:
            self.turns += 1
            if self.turns == 6:  # the first slot is at its third step
                until(lambda: port.processes != before, "the worker is replaced", 20.0)
            return super().turn(turn)

    join(Thinker())
    try:
        rows = list(glue_with(server, pool).play(in_turn([cell(variant=2)] * 2), Phase.EVALUATE))
    finally:
        pool.close()
    assert [row.status for row in rows] == ["ok", "ok"]


class Forgetful(Partial):
    """Fails at its second turn, which is about the other group."""

    def __init__(self) -> None:
        self.turns = 0

    def turn(self, turn: Any) -> Any:
        self.turns += 1
        if self.turns == 2:
            raise KeyError("coffee")
        return super().turn(turn)


def test_an_agents_words_are_kept_where_environments_answer_after_it_failed(
    server: GlueServer, join: Join
) -> None:
    """Later answers are not sent to an agent that is gone: its loss would be a second fault."""
    failing = join(Forgetful())
    config = {"solved": SOLVED, "pause_s": 1.0}
    pool, _ = in_workers(SuiteName("tests.worlds:Slow", config), 2, workers=1)
    try:
        rows = glue_with(server, pool).play(in_turn([cell(variant=2)] * 2), Phase.EVALUATE)
        with raises(AgentFault, "KeyError: 'coffee'"):
            list(rows)
    finally:
        pool.close()
    server.close()  # which the agent that left waits for
    with raises(KeyError, "coffee"):
        failing.result(60.0)


def test_an_agents_words_are_kept_where_it_fails_before_it_is_asked_again(
    server: GlueServer, join: Join
) -> None:
    """Its fault has come, and nobody has read it when there is a turn to send."""
    failing = join(Forgetful(), transport="grpc")  # of which the glue reads ahead
    agent: Any = seated(server)
    glue = EpisodeRunner(agent, corridor_pool(2), timeouts=PATIENT)
    glue.init()
    rows = glue.play(in_turn([cell(variant=0)] * 4), Phase.EVALUATE)
    assert next(rows).status == "ok"  # of the first group, when the second has been asked
    until(lambda: agent.is_gone, "its fault has come")
    with raises(AgentFault, "KeyError: 'coffee'"):
        list(rows)
    server.close()  # which the agent that left waits for
    with raises(KeyError, "coffee"):
        failing.result(60.0)
