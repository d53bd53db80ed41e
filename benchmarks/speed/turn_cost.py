"""What a turn costs in Python, piece by piece: CPU time of one process, no transport.

`python -m speed.turn_cost` prints it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from glue_server import Glue
from glue_server.agent.actions import ActionChecks
from reglue import Agent, TaskSpec, Turn
from reglue.agents.dispatch import play
from reglue.environments.environment import Worlds
from reglue.environments.world import Cell
from reglue.messages.agent import Actions, Ends, Numbered, Phase, Starts, Steps
from reglue.messages.environment import Play
from reglue.spec import Arrays
from reglue.v1 import agent_pb2
from reglue.wire.agent import decode_call, decode_reply, encode_call, encode_reply
from reglue.wire.environment_bytes import (
    environment_call_from_bytes,
    environment_call_to_bytes,
    environment_reply_from_bytes,
    environment_reply_to_bytes,
)
from speed.light import Suite

_REPETITIONS = 5  # the fastest counts: what else runs here only adds
_REPETITION_S = 0.05


class Cost(NamedTuple):
    """Of one piece, for S slots in one turn."""

    what: str
    slots: int
    microseconds: float  # of CPU time


class Stepping(Agent):
    """Does nothing, as most people write an agent."""

    def agent_start(self, observations: Arrays, starts: Starts) -> npt.NDArray[np.int64]:
        """Zeros."""
        return np.zeros(len(starts), np.int64)

    def agent_step(
        self, rewards: npt.NDArray[np.float64], observations: Arrays, steps: Steps
    ) -> npt.NDArray[np.int64]:
        """Zeros."""
        return np.zeros(len(steps), np.int64)


def metric() -> list[Cost]:
    """Every piece, for one slot and for 32."""
    return [
        Cost(what, slots, _microseconds(piece))
        for slots in (1, 32)
        for pieces in (_agents_pieces, _environments_pieces, _routines)
        for what, piece in pieces(slots)
    ]


def _agents_pieces(slots: int) -> Iterator[tuple[str, Callable[[], object]]]:
    spec = Suite().spec.with_slots(slots)
    turn = _turn(spec)
    call = encode_call(Numbered(1, turn), spec).SerializeToString()
    agent = Stepping()
    agent.spec = spec
    actions = play(agent, turn)
    assert isinstance(actions, Actions)
    reply = encode_reply(1, actions, spec).SerializeToString()
    checks = ActionChecks(spec)
    read_call, read_reply = agent_pb2.AgentCall.FromString, agent_pb2.AgentReply.FromString
    yield "encode_call", lambda: encode_call(Numbered(1, turn), spec).SerializeToString()
    yield "decode_call", lambda: decode_call(read_call(call), spec)
    yield "play", lambda: play(agent, turn)
    yield "encode_reply", lambda: encode_reply(1, actions, spec).SerializeToString()
    yield "decode_reply", lambda: decode_reply(read_reply(reply), spec, slots)
    yield "check_actions", lambda: checks.check(actions.arrays, slots)


def _environments_pieces(slots: int) -> Iterator[tuple[str, Callable[[], object]]]:
    worlds = Worlds(Suite())
    worlds.spec = spec = worlds.env_init(slots)
    worlds.play(Play(np.zeros(0, np.uint32), {}, _cells(slots)))
    step = Play(np.arange(slots, dtype=np.uint32), {"action": np.zeros(slots, np.int64)}, {})
    call = environment_call_to_bytes(step, spec)
    played = worlds.play(step)
    reply = environment_reply_to_bytes(played, spec)
    yield "encode Play", lambda: environment_call_to_bytes(step, spec)
    yield "decode Play", lambda: environment_call_from_bytes(call, spec)
    yield "Worlds.play", lambda: worlds.play(step)
    yield "encode Played", lambda: environment_reply_to_bytes(played, spec)
    yield "decode Played", lambda: environment_reply_from_bytes(reply, step, spec)


def _routines(slots: int) -> Iterator[tuple[str, Callable[[], object]]]:
    with Glue(environment=Suite(), agent=Stepping(), slots=slots) as rl:
        rl.init()
        rl.start()
        yield "RL_step in process", rl.step


def _cells(slots: int) -> dict[int, Cell]:
    return {slot: Cell("light", 0, slot, 0, Phase.TRAIN) for slot in range(slots)}


def _turn(spec: TaskSpec) -> Turn:
    """A step in every slot."""
    nothing = np.zeros(0, np.uint32)
    slots = np.arange(spec.slots, dtype=np.uint32)
    return Turn(
        Phase.TRAIN,
        Ends(nothing, np.zeros(0, np.uint8)),
        Steps(slots, np.zeros(spec.slots, np.uint8)),
        Starts(nothing, np.zeros(0, np.uint64)),
        rewards=np.ones(spec.slots),
        observations={tensor.name: tensor.empty(spec.slots) for tensor in spec.observations},
    )


def _microseconds(piece: Callable[[], object]) -> float:
    times = 1
    while (spent_s := _spent_s(piece, times)) < _REPETITION_S:
        times = max(2 * times, int(times * _REPETITION_S / (spent_s + 1e-9)))
    return min(_spent_s(piece, times) for _ in range(_REPETITIONS)) / times * 1e6


def _spent_s(piece: Callable[[], object], times: int) -> float:
    began = time.process_time()
    for _ in range(times):
        piece()
    return time.process_time() - began


def main() -> None:
    """Print it."""
    for cost in metric():
        sys.stdout.write(f"{cost.what:20} S = {cost.slots:3} {cost.microseconds:8.1f} µs\n")


if __name__ == "__main__":
    main()
