"""Agents that say what no SDK would, over a competition's wire."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from reglue.agents.agent import play
from reglue.messages.agent_messages import AgentInit
from reglue.net.grpc_settings import grpc
from reglue.v1 import agent_pb2 as pb
from reglue.v1 import session_pb2
from reglue.wire.agent_encoding import decode_call, encode_reply
from tests.glue_server.rpc.peers import RawAgent
from tests.reglue_bench.agents import Seeded

Twist: TypeAlias = Callable[[RawAgent, pb.AgentReply], None]
"""Sends something in place of an answer that is right."""


def play_raw(channel: grpc.Channel, token: str, twist: Twist) -> str:
    """Play as the agent `Seeded` would, but for a twist; the farewell, or the stream's status."""
    own, spec = Seeded(), None
    try:
        with left(RawAgent(channel, token)) as agent:
            while True:
                message = agent.hear()
                if message.WhichOneof("call") == "farewell":
                    return message.farewell.reason
                numbered = decode_call(message, spec)
                if isinstance(numbered.call, AgentInit):
                    spec = numbered.call.spec
                if (reply := play(own, numbered.call)) is not None:
                    twist(agent, encode_reply(numbered.seq, reply, spec))
    except StopIteration:
        return "OK: the stream has ended"
    except grpc.RpcError as error:
        return f"{error.code().name}: {error.details()}"


@contextmanager
def left(agent: RawAgent) -> Iterator[RawAgent]:
    """It breaks its stream at the end."""
    try:
        yield agent
    finally:
        agent.vanish()


def answers_twice(agent: RawAgent, reply: pb.AgentReply) -> None:
    """And says the answer before once more."""
    for seq in (reply.seq, reply.seq, max(reply.seq, 1) - 1):
        agent.send(with_seq(reply, seq))


def answers_out_of_order(agent: RawAgent, reply: pb.AgentReply) -> None:
    """Calls that are still to come, first."""
    for seq in (reply.seq + 2, reply.seq + 1, reply.seq):
        agent.send(with_seq(reply, seq))


def floods(agent: RawAgent, reply: pb.AgentReply) -> None:
    """Sends faster than it is asked."""
    for _ in range(200):
        agent.send(reply)


def sends_too_much(agent: RawAgent, reply: pb.AgentReply) -> None:
    """One message, larger than any may be."""
    text = "x" * 70_000_000
    agent.send(pb.AgentReply(seq=reply.seq, message=session_pb2.TextMessage(text=text)))


def lies_about_its_slots(agent: RawAgent, reply: pb.AgentReply) -> None:
    """Acts for one more than there is."""
    if reply.HasField("actions"):
        rows = [bytes(each) + b"\0\0\0\0" for each in reply.actions.actions]
        reply = pb.AgentReply(seq=reply.seq, actions=pb.Actions(actions=rows))
    agent.send(reply)


def answers_garbage(agent: RawAgent, reply: pb.AgentReply) -> None:
    """Another kind of answer than was asked for."""
    agent.send(pb.AgentReply(seq=reply.seq, message=session_pb2.TextMessage(text="hello")))


def says_nothing(agent: RawAgent, reply: pb.AgentReply) -> None:
    """Stalls."""


def leaves(agent: RawAgent, reply: pb.AgentReply) -> None:
    """Breaks its stream instead of an answer."""
    agent.vanish()


def with_seq(reply: pb.AgentReply, seq: int) -> pb.AgentReply:
    """The same answer, to another call."""
    other = pb.AgentReply()
    other.CopyFrom(reply)
    other.seq = seq
    return other
