"""The costs of the pieces of a turn, by pyperf: `python -m speed.contenders.pieces -o FILE`.

Each is measured with 1 slot and with 64, of the light environment. For people who change one.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt
import pyperf

from glue_server import Glue
from glue_server.agent.actions import ActionChecks
from glue_server.agent.turn_rows import Rows, turn_of
from reglue import Actions, Agent, Phase, TaskSpec, Worlds
from reglue.agents.agent import play
from reglue.messages.agent_messages import Budget, Numbered, Starts, Steps, Turn
from reglue.messages.environment_messages import Cell, Play
from reglue.spec import Arrays
from reglue.v1 import agent_pb2 as pb
from reglue.wire.agent_encoding import decode_call, decode_reply, encode_call, encode_reply
from reglue.wire.layout import Repeats, numbered
from reglue.wire.repeated_messages import (
    decode_repeated_turn,
    encode_repeated_actions,
    encode_repeated_turn,
    see_turn,
)
from speed.light import Suite

SLOTS = (1, 64)


class Stepping(Agent):
    """Does nothing, written with the two routines that most agents have."""

    def agent_start(self, observations: Arrays, starts: Starts) -> npt.NDArray[np.int64]:
        """Zeros."""
        return np.zeros(len(starts), np.int64)

    def agent_step(
        self, rewards: npt.NDArray[np.float64], observations: Arrays, steps: Steps
    ) -> npt.NDArray[np.int64]:
        """Zeros."""
        return np.zeros(len(steps), np.int64)


def main() -> None:
    """Measure all; pyperf has the options."""
    runner = pyperf.Runner()
    for slots in SLOTS:
        _measure(runner, slots)


def _measure(runner: pyperf.Runner, slots: int) -> None:
    worlds = Worlds(Suite())
    spec = worlds.spec = worlds.env_init(slots)
    numbers = np.arange(slots, dtype=np.uint32)
    cell = Cell("light", 0, seed=0, repeat=0, phase=Phase.TRAIN)
    worlds.play(Play(numbers[:0], {}, dict.fromkeys(range(slots), cell)))
    step = Play(numbers, {"action": np.zeros(slots, np.int64)}, {})
    played = worlds.play(step)
    rows = Rows(numbers, np.zeros(slots, np.uint8), played.observations, played.rewards)
    turn = turn_of(spec, Phase.TRAIN, steps=rows)
    call = Numbered(10_000, turn, Budget(step_us=60_000_000))
    reply = Actions(step.actions)
    sent, answered = _write_turn(call, spec), _write_actions(reply, spec)
    written, read, acted, start = Repeats(), Repeats(), Repeats(), len(numbered(10_000))
    for _ in range(2):
        encode_repeated_turn(call, spec, written)
        encode_repeated_actions(10_000, reply, spec, acted)
        message = pb.AgentCall.FromString(sent)
        see_turn(decode_call(message, spec), message, spec, read)
    checks, agent = ActionChecks(spec), Stepping()
    agent.spec = spec
    for name, function, *arguments in (
        ("step worlds", worlds.play, step),
        ("make a turn of rows", partial(turn_of, spec, Phase.TRAIN, steps=rows)),
        ("write a turn", _write_turn, call, spec),
        ("write a turn by its layout", encode_repeated_turn, call, spec, written),
        ("read a turn, into arrays of its own", _read_turn, sent, spec),
        ("read a turn by its layout", decode_repeated_turn, 10_000, sent, start, spec, read),
        ("play a turn", play, agent, turn),
        ("write actions", _write_actions, reply, spec),
        ("write actions by their layout", encode_repeated_actions, 10_000, reply, spec, acted),
        ("read actions", _read_actions, answered, spec, slots),
        ("check actions", checks.check, reply.arrays, slots),
    ):
        runner.bench_func(f"{name}, {slots}", function, *arguments)
    with Glue(environment=Suite(), agent=Stepping(), slots=slots) as rl:
        rl.init()
        rl.start()
        runner.bench_func(f"RL_step in process, {slots}", rl.step)


def _write_turn(call: Numbered, spec: TaskSpec) -> bytes:
    return encode_call(call, spec).SerializeToString()


def _read_turn(sent: bytes, spec: TaskSpec) -> Arrays:
    call = decode_call(pb.AgentCall.FromString(sent), spec).call
    assert isinstance(call, Turn)
    return {name: rows.copy() for name, rows in call.observations.items()}


def _write_actions(reply: Actions, spec: TaskSpec) -> bytes:
    return encode_reply(10_000, reply, spec).SerializeToString()


def _read_actions(answered: bytes, spec: TaskSpec, rows: int) -> object:
    return decode_reply(pb.AgentReply.FromString(answered), spec, rows)


if __name__ == "__main__":
    main()
