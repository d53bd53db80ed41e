"""A session whose calls a program takes one by one."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from glue_server.rpc import GlueServer
from reglue import Agent, TaskSpec, TensorSpec
from reglue.errors import AgentFault
from reglue.messages.agent_messages import (
    NO_ENDS,
    NO_STEPS,
    Actions,
    AgentInit,
    Freeze,
    Numbered,
    Phase,
    RoutineDone,
    Starts,
    Turn,
)
from reglue.net.join_string import join_string
from reglue.net.role import AgentRole
from reglue.net.session import Session
from tests.error_facts import raises
from tests.glue_server.rpc.peers import seated
from tests.reglue.connecting import PATIENCE_S

SPEC = TaskSpec((TensorSpec("seen", "float32"),), (TensorSpec("action", "int64"),))
START = Turn(
    Phase.TRAIN,
    NO_ENDS,
    NO_STEPS,
    Starts(np.zeros(1, np.uint32), np.ones(1, np.uint64)),
    np.zeros(0),
    {"seen": np.zeros(1, np.float32)},
)


@pytest.fixture
def session(server: GlueServer) -> Session:
    role = AgentRole(Agent(), "by hand")
    where = join_string(server.address, server.token)
    return Session(where, role, connect_timeout_s=PATIENCE_S, transport="auto")


def test_a_program_takes_calls_and_sends_replies_in_its_own_time(
    server: GlueServer, session: Session
) -> None:
    with ThreadPoolExecutor(1) as pool:
        calls = session.calls()
        first = pool.submit(next, calls)
        port = seated(server)
        port.send(AgentInit(SPEC))
        assert first.result(PATIENCE_S).call == AgentInit(SPEC)
        port.send(START)
        turn: Numbered = pool.submit(calls.send, RoutineDone()).result(PATIENCE_S)
        assert isinstance(turn.call, Turn)
        port.send(Freeze())
        freeze = calls.send(Actions({"action": np.array([7])}))
        assert isinstance(freeze.call, Freeze)
        assert port.receive(PATIENCE_S) == RoutineDone()
        reply = port.receive(PATIENCE_S)
        assert isinstance(reply, Actions)
        assert reply.arrays["action"].tolist() == [7]
        port.close("enough")
        with raises(StopIteration, value="enough"):
            calls.send(RoutineDone())


def test_a_program_that_leaves_early_says_so(server: GlueServer, session: Session) -> None:
    with ThreadPoolExecutor(1) as pool:
        calls = session.calls()
        first = pool.submit(next, calls)
        port = seated(server)
        port.send(AgentInit(SPEC))
        first.result(PATIENCE_S)
        leaving = pool.submit(calls.close)
        with raises(AgentFault, "left"):
            port.receive(PATIENCE_S)
        port.close("goodbye")
        leaving.result(PATIENCE_S)
