"""A session whose calls a program takes one by one."""

from __future__ import annotations

import contextlib
import itertools
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import FrameType
from typing import Any

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
from reglue.net import session as session_lines
from reglue.net.join_string import join_string
from reglue.net.peer import AgentPeer
from reglue.net.session import Session
from reglue_signals import signals_exit
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
    role = AgentPeer(Agent(), "by hand")
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


def test_a_stream_that_cannot_be_closed_does_not_keep_an_interrupted_program(
    server: GlueServer, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when the interruption came within the lines of one of its locks."""
    with ThreadPoolExecutor(1) as pool:
        calls = session.calls()
        first = pool.submit(next, calls)
        port = seated(server)
        port.send(AgentInit(SPEC))
        first.result(PATIENCE_S)
        stream: Any = session._stream
        close, is_freed = type(stream).close, threading.Event()

        def hangs(each: Any) -> None:
            if each is stream:
                is_freed.wait(2 * PATIENCE_S)
            close(each)

        monkeypatch.setattr(type(stream), "close", hangs)
        leaving = pool.submit(calls.throw, KeyboardInterrupt())
        assert isinstance(leaving.exception(PATIENCE_S), KeyboardInterrupt)
        is_freed.set()
        with pytest.raises(AgentFault):
            port.receive(PATIENCE_S)
        port.close("goodbye")


class Interrupted(Agent):
    """Its session's thread is interrupted at a line of the session's own, after a turn."""

    def __init__(self, line: int) -> None:
        self._left = line
        self._is_counting = False
        self.is_done = False

    def turn(self, turn: Turn) -> Any:
        self._is_counting = not self._is_counting
        return np.zeros(1, np.int64)

    def trace(self, frame: FrameType, event: str, _: object) -> Callable[..., Any] | None:
        if frame.f_code.co_filename != session_lines.__file__:
            return None
        self._left -= event == "line" and self._is_counting
        if self._left == 0 and not self.is_done:
            self.is_done = True
            raise KeyboardInterrupt
        return self.trace


def interrupt(server: GlueServer, line: int) -> str | None:
    """The glue's words of an interruption there; None where a turn has fewer lines."""
    agent = Interrupted(line)
    where = join_string(server.address, server.token)
    session = Session(where, AgentPeer(agent, "agent"), connect_timeout_s=60.0, transport="auto")

    def play() -> None:
        sys.settrace(agent.trace)
        with contextlib.suppress(KeyboardInterrupt):
            session.play()

    with ThreadPoolExecutor(1) as pool:
        left = pool.submit(play)
        port = seated(server)
        try:
            for call in (AgentInit(SPEC), START, START):
                port.send(call)
                port.receive(PATIENCE_S)
        except AgentFault as fault:
            return str(fault)
        finally:
            port.close("that was all")
            left.result(PATIENCE_S)
            server.release(port)
    assert not agent.is_done
    return None


def test_an_interruption_at_any_line_of_a_session_reaches_the_glue() -> None:
    with GlueServer(reconnect_window_s=600.0) as server:
        tries = (interrupt(server, line) for line in itertools.count(1))
        heard = [*itertools.takewhile(bool, tries)]
    assert len(heard) > 10  # lines
    assert all("interrupted" in each for each in heard if each), heard


@pytest.mark.parametrize(
    ("raised", "code"), [(KeyboardInterrupt(), 130), (SystemExit(143), 143)], ids=["ctrl-c", "term"]
)
def test_a_script_that_is_interrupted_exits_with_the_shells_code(
    raised: BaseException, code: int
) -> None:
    """Also where it ends as the error of a lock; what Ctrl-C raises is caught as ever."""

    def work() -> None:
        try:
            raise raised
        finally:
            raise RuntimeError("cannot release un-acquired lock")

    with pytest.raises(SystemExit) as left, signals_exit():
        work()
    assert left.value.code == code
    assert isinstance(left.value, KeyboardInterrupt) == isinstance(raised, KeyboardInterrupt)
