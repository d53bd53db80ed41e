"""The cost of a coordinator: a whole online run whose shards are idle.

`python -m speed.scaling.coordinator SHARDS RUNS EPISODES STEPS` prints what it took as JSON.
"""

from __future__ import annotations

import json
import socket
import sys
import time
from functools import partial
from typing import Any
from unittest.mock import patch

from glue_server import Outcome
from glue_server.processes.child import Channel, Child
from glue_server.processes.message_codec import Codec
from reglue_bench.engines.process_players import Player, Players
from reglue_bench.engines.shard import FROM_SHARD, FromShard
from reglue_bench.evaluation import evaluate
from reglue_bench.runs import players
from reglue_bench.runs.observer import NullObserver
from speed.scaling.idle_shards import IdleSettings


def main() -> None:
    """Play, and print."""
    shards, runs, episodes, steps = map(int, sys.argv[1:])
    clocks = _Clocks()
    with patch.object(players, "LocalPlayers", partial(_IdlePlayers, steps=steps)):
        result = evaluate(
            "online:mountain-car",
            agent="random",
            runs=runs,
            episodes=episodes,
            processes=shards,
            watcher=clocks,
        )
    assert result.complete, result.ended_early
    print(json.dumps({"rows": clocks.rows} | clocks.read()))


class _Clocks(NullObserver):
    """The time spent since the first episode."""

    rows = 0

    def outcome(self, outcome: Outcome, phase: str) -> None:
        """Count it."""
        if not self.rows:
            self._began = _now()
        self.rows += 1

    def read(self) -> dict[str, float]:
        """Seconds by the clock, and of this process."""
        wall_s, cpu_s = (now - then for now, then in zip(_now(), self._began, strict=True))
        return {"wall_s": wall_s, "cpu_s": cpu_s}


def _now() -> tuple[float, float]:
    return time.perf_counter(), time.process_time()


class _IdlePlayers(Players[FromShard]):
    """Shards that do nothing: all in one process, each with a socket."""

    elsewhere = False

    def __init__(self, count: int, *, steps: int) -> None:
        self._count = count
        self._steps = steps

    @property
    def most(self) -> int:
        return self._count

    def open(self) -> None:
        self._process = Child("speed.scaling.idle_shards", Codec[Any]())
        self._process.send(IdleSettings(self._steps))

    def begin(self, number: int) -> Player[FromShard]:
        ours, theirs = socket.socketpair()
        with theirs:
            socket.send_fds(self._process.socket, [b"+"], [theirs.fileno()])
        return _IdlePlayer(ours, FROM_SHARD)

    def close(self, within_s: float) -> None:
        self._process.leave()
        self._process.end(within_s)


class _IdlePlayer(Channel[FromShard]):
    """A channel to the process of all."""

    def death(self, within_s: float) -> str:
        return "the process of all shards ended"

    def end(self, within_s: float) -> None:
        pass


if __name__ == "__main__":
    main()
