"""Shards that do nothing: at once they say that they have played whatever they are told to.

`python -m speed.scaling.idle_shards FD PARENT` reads from the inherited socket FD how many steps an
episode has, then serves each socket that comes there as `reglue_bench.engines.shard_process` does.
"""

from __future__ import annotations

import os
import socket
import threading
from array import array
from contextlib import suppress
from dataclasses import dataclass
from typing import NoReturn

from glue_server import Order, Outcome
from glue_server.processes.child import Channel, inherited_channel
from glue_server.processes.message_codec import Codec
from reglue_bench.engines.shard import (
    TO_SHARD,
    AgentConnected,
    EpisodeEnded,
    EpisodePlayed,
    Machine,
    Shard,
    ShardOver,
    ShardSettings,
    ShardSpent,
    ToShard,
    UnitPlayed,
)
from reglue_bench.plans.plan import Plan
from reglue_bench.procedures import procedure_of


@dataclass(frozen=True, slots=True)
class IdleSettings:
    """The first message to the process."""

    steps: int  # of an episode


def main() -> NoReturn:
    """Serve until the parent leaves."""
    parent = inherited_channel(Codec[IdleSettings](IdleSettings))
    steps = parent.receive().steps
    while (received := socket.recv_fds(parent.socket, 1, 1))[0]:
        channel = Channel(socket.socket(fileno=received[1][0]), TO_SHARD, silence_s=None)
        threading.Thread(target=_serve, args=(channel, steps), daemon=True).start()
    os._exit(0)


def _serve(channel: Channel[ToShard], steps: int) -> None:
    spent = ShardSpent()
    with suppress(EOFError, OSError):
        channel.send(Machine("idle"))
        settings = channel.receive()
        assert isinstance(settings, ShardSettings)
        plan = Plan.from_json(settings.plan)
        procedure = procedure_of(plan)
        channel.send(AgentConnected("idle"))
        while isinstance(shard := channel.receive(), Shard):
            for todo in shard.todo:
                outcomes = []
                for cell in procedure.cells(todo.unit):
                    outcomes.append(_outcome(plan.order(todo.unit, cell, b"", None), steps))
                    episode = EpisodePlayed.of(outcomes[-1], whole=False)
                    channel.send(EpisodeEnded(episode, "online", spent))
                episodes = tuple(EpisodePlayed.of(each, whole=True) for each in outcomes)
                channel.send(UnitPlayed(todo.attempt, episodes, spent))
            channel.send(ShardOver(None, spent))


def _outcome(order: Order, steps: int) -> Outcome:
    return Outcome(
        order,
        status="ok",
        return_=-float(steps),
        steps=steps,
        actions=bytes(8 * steps),
        rewards=(array("d", [-1.0]) * steps).tobytes(),
    )


if __name__ == "__main__":
    main()
