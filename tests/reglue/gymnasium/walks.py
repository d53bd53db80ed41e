"""A walk to make twice: as Gymnasium's own vector environments play it, and over a glue."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import gymnasium
import numpy as np

from env_adapters import Cell
from env_adapters.gymnasium import suite_of
from glue_server import (
    EnvironmentCalls,
    EpisodeRunner,
    LocalEnvironmentPort,
    Order,
    Outcome,
    Timeouts,
)
from glue_server.rpc import GlueServer
from reglue.environments.slot_worlds import Worlds
from reglue.errors import AgentFault
from reglue.messages.agent_messages import Phase
from tests.glue_server.rpc.peers import seated

WALK, PAD = f"{__file__}:Walk", f"{__file__}:Pad"
"""Names by which they are made."""

PATIENCE_S = 20.0
PATIENT = Timeouts(first_step_s=PATIENCE_S, step_s=PATIENCE_S)


class Walk(gymnasium.Env[Any, Any]):
    """Each action is how far it goes: it ends at 5 or farther, or after 4 steps; no seeds matter.

    It shows how far it is, and how many steps it took.
    """

    observation_space = gymnasium.spaces.Box(0.0, 20.0, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(3)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.seen = np.zeros(2, np.float32)
        return self.seen.copy(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.seen = self.seen + np.array([action, 1], np.float32)
        far, steps = self.seen.tolist()
        return self.seen.copy(), float(action) - 0.5, far >= 5, far < 5 and steps >= 4, {}


class Pad(gymnasium.Env[Any, Any]):
    """Several tensors either way, one of them nested."""

    observation_space = gymnasium.spaces.Dict(
        {
            "camera": gymnasium.spaces.Dict(
                {"left": gymnasium.spaces.Box(0, 255, (2, 2), np.uint8)}
            ),
            "touch": gymnasium.spaces.MultiBinary(3),
        }
    )
    action_space = gymnasium.spaces.Dict(
        {
            "grip": gymnasium.spaces.Discrete(3, start=-1),
            "push": gymnasium.spaces.Box(-1.0, 1.0, (2,), np.float32),
        }
    )

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        return self._seen(0), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        return self._seen(int(action["grip"]) + 1), float(action["push"].sum()), False, False, {}

    def _seen(self, number: int) -> Any:
        left = np.full((2, 2), number, np.uint8)
        return {"camera": {"left": left}, "touch": np.ones(3, np.int8)}


def environment(slots: int, kind: type[gymnasium.Env[Any, Any]] = Walk) -> EnvironmentCalls:
    """`slots` of them, in this process."""
    suite = suite_of(kind)
    assert suite is not None
    calls = EnvironmentCalls(LocalEnvironmentPort(Worlds(suite), "walk"))
    calls.init(slots)
    return calls


def order(k: int, phase: Phase = Phase.TRAIN, task: str = "Walk") -> Order:
    return Order(0, k, Cell(task, 0, seed=k, repeat=0, phase=phase), 1000 + k)


def endless(task: str) -> Callable[[int], Order]:
    numbers = count()
    return lambda _slot: order(next(numbers), Phase.TRAIN, task)


def first(episodes: int, phase: Phase = Phase.TRAIN) -> Callable[[int], Order | None]:
    orders = iter([order(k, phase) for k in range(episodes)])
    return lambda _slot: next(orders, None)


Drive = Callable[[EpisodeRunner], object]


class Played:
    """A glue in a thread, and what came of it."""

    def __init__(self, server: GlueServer, task: str) -> None:
        self.server = server
        self.task = task
        self.outcomes: list[Outcome] = []
        self.error: BaseException | None = None

    @property
    def statuses(self) -> list[str]:
        return [outcome.status for outcome in sorted(self.outcomes, key=lambda o: o.order.k)]


@contextmanager
def glue(
    drive: Callable[[EpisodeRunner, Played], object],
    slots: int = 1,
    kind: Any = Walk,
    **server: Any,
) -> Iterator[Played]:
    """A server whose thread does `drive` with the first agent that connects, then says farewell."""
    with GlueServer(**server) as listening:
        played = Played(listening, kind.__name__)

        def run() -> None:
            port = seated(listening)
            played_with = environment(slots, kind)
            try:
                drive(EpisodeRunner(port, played_with, timeouts=PATIENT), played)
            except AgentFault as fault:
                played.error = fault
            finally:
                port.close("that is all")
                played_with.close()

        thread = threading.Thread(target=run, name="glue")
        thread.start()
        try:
            yield played
        finally:
            thread.join(PATIENCE_S)
            assert not thread.is_alive()


def training(runner: EpisodeRunner, played: Played) -> None:
    """Episodes without end."""
    runner.init()
    for outcome in runner.play(endless(played.task), Phase.TRAIN):
        played.outcomes.append(outcome)
