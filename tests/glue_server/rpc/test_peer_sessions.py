"""Sessions with good agents, bad ones and lost ones, over gRPC and over Unix sockets."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from glue_server import EnvironmentCalls, EpisodeRunner, Timeouts
from glue_server.rpc import GlueServer
from reglue import Phase, TaskSpec, TensorSpec
from reglue.error_message import printable
from reglue.errors import AgentDisconnected, AgentFault, AgentTimeout, UsageError
from reglue.messages.agent_messages import AgentInit, Freeze, RoutineDone
from reglue.net.grpc_settings import HUB_MESSAGE_BYTES
from reglue.v1 import agent_pb2 as pb
from reglue.v1 import session_pb2
from tests.error_facts import raises
from tests.glue_server.playing import (
    PATIENT,
    Follower,
    by_k,
    cell,
    cells,
    corridor_pool,
    in_turn,
    played,
)
from tests.glue_server.rpc.conftest import Dial, Join
from tests.glue_server.rpc.peers import PATIENCE_S, RawAgent, seated
from tests.waiting import until

SPEC = corridor_pool().spec
WALK = [cell(variant=2)]  # five steps


def glue_over(
    server: GlueServer, pool: EnvironmentCalls, timeouts: Timeouts = PATIENT
) -> EpisodeRunner:
    return EpisodeRunner(seated(server), pool, timeouts=timeouts)


# Good agents.


@pytest.mark.parametrize("slots", [1, 7])
def test_rows_are_the_same_over_a_stream(server: GlueServer, join: Join, slots: int) -> None:
    join(Follower())
    glue = glue_over(server, corridor_pool(slots))
    glue.init()
    rows = by_k(glue.play(in_turn(cells()), Phase.EVALUATE))
    assert rows == played(Follower(), corridor_pool(1), cells())


# Agents whose answers are no good.


def in_thread(task: Callable[[], Any]) -> Future[Any]:
    threads = ThreadPoolExecutor(1, thread_name_prefix="peer")
    future = threads.submit(task)
    threads.shutdown(wait=False)
    return future


def test_garbage_in_actions_ends_the_episode_and_play_goes_on(
    server: GlueServer, dial: Dial
) -> None:
    def peer(agent: RawAgent) -> list[str]:
        agent.done()  # init
        agent.act(b"xyz")
        heard = [agent.hear(), *(agent.act(bytes(4)) for _ in range(5))]
        agent.act(b"")  # the last turn has ends alone
        return [str(call.WhichOneof("call")) for call in heard]

    agent = dial()
    calls = in_thread(lambda: peer(agent))
    glue = glue_over(server, corridor_pool())
    glue.init()
    rows = by_k(glue.play(in_turn(WALK * 2), Phase.EVALUATE))
    assert [(row.status, row.steps) for row in rows] == [("agent_error", 0), ("ok", 5)]
    assert rows[0].detail == "got 3 bytes of 'action', wanted 4 bytes: 1 rows of float32[1]"
    assert calls.result(PATIENCE_S) == ["refusal", *["turn"] * 5]


def test_a_refusal_names_the_reply_and_says_why(server: GlueServer, dial: Dial) -> None:
    agent = dial()
    glue = glue_over(server, corridor_pool())
    nan = np.array([np.nan], np.float32).tobytes()
    answering = in_thread(lambda: (agent.done(), agent.act(nan)))
    glue.init()
    list(glue.play(in_turn(WALK), Phase.EVALUATE))
    _, turn = answering.result(PATIENCE_S)
    refusal = agent.hear().refusal
    assert refusal.of_seq == turn.seq
    assert refusal.code == session_pb2.REFUSAL_CODE_NOT_FINITE
    assert (refusal.got, refusal.wanted) == ("'action' = [nan] in slot 0", "finite numbers")


@pytest.mark.parametrize(
    "reply",
    [
        pb.AgentReply(),
        pb.AgentReply(hello=pb.AgentHello()),
        pb.AgentReply(done=session_pb2.RoutineDone()),
    ],
)
def test_an_answer_of_another_kind_is_refused(
    server: GlueServer, dial: Dial, reply: pb.AgentReply
) -> None:
    agent = dial()

    def peer() -> pb.AgentCall:
        agent.done()
        reply.seq = agent.hear().seq
        agent.send(reply)
        return agent.hear()

    told = in_thread(peer)
    glue = glue_over(server, corridor_pool())
    glue.init()
    [row] = list(glue.play(in_turn(WALK), Phase.EVALUATE))
    assert row.status == "agent_error"
    assert told.result(PATIENCE_S).refusal.code == session_pb2.REFUSAL_CODE_WRONG_KIND


# Agents that fail.


def test_a_fault_reply_ends_the_play_with_its_words(server: GlueServer, dial: Dial) -> None:
    agent = dial()

    def peer() -> None:
        agent.done()
        agent.hear()
        agent.send(pb.AgentReply(fault=session_pb2.Fault(what="out of memory")))

    in_thread(peer)
    assert lost(glue_over(server, corridor_pool()), AgentFault) == ("agent_error", "out of memory")


def lost(glue: EpisodeRunner, kind: type[AgentFault]) -> tuple[str, str]:
    """The status of the episode in which the agent was lost, and what was raised then."""
    glue.init()
    play_on = glue.play(in_turn(WALK), Phase.EVALUATE)
    row = next(play_on)
    with pytest.raises(kind) as fault:
        next(play_on)
    assert fault.type is kind
    return row.status, str(fault.value)


def test_an_agent_that_vanishes_in_mid_turn_is_disconnected(server: GlueServer, dial: Dial) -> None:
    agent = dial()

    def peer() -> None:
        agent.done()
        agent.hear()
        agent.vanish()

    in_thread(peer)
    status, words = lost(glue_over(server, corridor_pool()), AgentDisconnected)
    assert status == "agent_disconnected"
    assert "connection is gone" in words


KILLS_ITSELF = """
import os, signal
from tests.glue_server.playing import Follower

class Leaving(Follower):
    def agent_step(self, *_):
        os.kill(os.getpid(), signal.SIGKILL)
"""


def test_an_agent_whose_process_is_killed_is_disconnected(
    server: GlueServer, tmp_path: Path
) -> None:
    (tmp_path / "leaving.py").write_text(KILLS_ITSELF)
    path = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    where = {"REGLUE_ADDRESS": server.address, "REGLUE_TOKEN": server.token}
    with subprocess.Popen(
        [sys.executable, "-m", "reglue", "join", f"{tmp_path}/leaving.py:Leaving"],
        env=os.environ | path | where,
        stderr=subprocess.DEVNULL,
    ) as process:
        status, _ = lost(glue_over(server, corridor_pool()), AgentDisconnected)
        assert status == "agent_disconnected"
        assert process.wait(PATIENCE_S) == -signal.SIGKILL


def test_an_agent_that_does_not_answer_is_timed_out(server: GlueServer, dial: Dial) -> None:
    agent = dial()
    in_thread(lambda: (agent.done(), agent.act(bytes(4)), agent.hear()))
    timeouts = Timeouts(first_step_s=3600.0, step_s=0.2)
    status, words = lost(glue_over(server, corridor_pool(), timeouts), AgentTimeout)
    assert status == "agent_timeout"
    assert "did not answer within 0.2 s" in words


def test_the_first_turn_may_take_longer(server: GlueServer, dial: Dial) -> None:
    """Some agents compile then: the limit that is exceeded is that of the first step."""
    agent = dial()
    in_thread(lambda: (agent.done(), agent.hear()))
    timeouts = Timeouts(first_step_s=0.3, step_s=0.0)
    _, words = lost(glue_over(server, corridor_pool(), timeouts), AgentTimeout)
    assert "within 0.3 s" in words


def test_a_late_answer_is_dropped(server: GlueServer, dial: Dial) -> None:
    agent = dial()
    port = seated(server)
    port.send(AgentInit(SPEC))
    with pytest.raises(AgentTimeout):
        port.receive(0.0)
    port.send(Freeze())
    late, due = agent.hear().seq, agent.hear().seq
    agent.send(pb.AgentReply(seq=late, message=session_pb2.TextMessage(text="late")))
    agent.send(pb.AgentReply(seq=due, done=session_pb2.RoutineDone()))
    assert port.owed == 1
    assert port.receive(PATIENCE_S) is None
    assert port.owed == 0
    assert port.receive(PATIENCE_S) == RoutineDone()


def test_an_answer_that_was_refused_cannot_be_given_again(server: GlueServer, dial: Dial) -> None:
    agent = dial()

    def peer() -> None:
        agent.done()
        turn = agent.act(b"xyz")
        agent.send(pb.AgentReply(seq=turn.seq, actions=pb.Actions(actions=[bytes(4)])))
        agent.hear()  # the refusal
        agent.done()

    in_thread(peer)
    glue = glue_over(server, corridor_pool())
    glue.init()
    list(glue.play(in_turn(WALK), Phase.EVALUATE))
    glue.freeze()


def test_calls_after_the_agent_was_lost_say_so_at_once(server: GlueServer, dial: Dial) -> None:
    agent = dial()
    port = seated(server)
    port.send(AgentInit(SPEC))
    agent.vanish()
    with pytest.raises(AgentDisconnected):
        port.receive(PATIENCE_S)
    with pytest.raises(AgentDisconnected):
        port.send(Freeze())


@pytest.mark.parametrize("transport", ["grpc"])  # the glue reads ahead in its streams alone
def test_the_last_words_of_an_agent_that_leaves_at_once_are_heard_later(
    server: GlueServer, dial: Dial
) -> None:
    """They lie here, behind the end of its stream, until somebody receives."""
    agent = dial()
    port: Any = seated(server)
    port.send(Freeze())
    agent.hear()
    agent.send(pb.AgentReply(fault=session_pb2.Fault(what="my disk is full")))
    agent.hang_up()
    with pytest.raises(StopIteration):
        agent.hear()
    with raises(AgentFault, "my disk is full"):
        port.receive(PATIENCE_S)


def test_the_last_words_of_a_lost_agent_are_cut_and_printable(
    server: GlueServer, dial: Dial
) -> None:
    agent = dial()
    port: Any = seated(server)
    agent.send(pb.AgentReply(fault=session_pb2.Fault(what="\x1b[2Jgone " + "e" * 100_000)))
    until(lambda: port.is_gone, "it has left")
    with raises(AgentDisconnected, "[2Jgone") as gone:
        port.send(Freeze())
    words = str(gone.value)
    assert words == printable(words)
    assert len(words) < 10_000


# What is too much.


def test_too_many_slots_are_refused_with_words_for_both(server: GlueServer, dial: Dial) -> None:
    agent = dial(max_slots=2)
    glue = glue_over(server, corridor_pool(3))
    with raises(AgentFault, "2 slots", 3):
        glue.init()
    refusal = agent.hear().refusal
    assert refusal.code == session_pb2.REFUSAL_CODE_NOT_CAPABLE
    assert refusal.wanted == "3: run it in fewer"


@pytest.mark.parametrize(("observation", "action"), [(2**22, 1), (1, 2**23)])
def test_a_task_too_large_for_a_message_is_refused_at_init(
    server: GlueServer, dial: Dial, observation: int, action: int
) -> None:
    """It is neither the agent's fault nor a surprise in mid-play."""
    dial()
    spec = TaskSpec(
        (TensorSpec("observation", "float64", (observation,)),),
        (TensorSpec("action", "float64", (action,)),),
    )
    with raises(UsageError, "observations", "actions", f"{HUB_MESSAGE_BYTES} bytes"):
        seated(server).send(AgentInit(spec))
