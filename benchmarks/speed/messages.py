"""The bytes of one step over the light environment, as Reglue's own sessions carry them."""

from __future__ import annotations

from reglue.messages.agent import Phase
from reglue.v1 import agent_pb2 as pb
from speed.light import NUMBERS


def turn(seq: int, reward: bytes, observation: bytes) -> pb.AgentCall:
    """A step of slot 0."""
    return pb.AgentCall(
        seq=seq,
        turn=pb.Turn(
            phase=int(Phase.TRAIN),  # type: ignore[arg-type]
            step_slots=[0],
            step_flags=[0],
            reward=reward,
            observation=[observation],
        ),
    )


def actions(seq: int, action: bytes) -> pb.AgentReply:
    """Its answer."""
    return pb.AgentReply(seq=seq, actions=pb.Actions(action=[action]))


CALL = turn(10_000, bytes(8), bytes(8 * NUMBERS)).SerializeToString()
REPLY = actions(10_000, bytes(8)).SerializeToString()
