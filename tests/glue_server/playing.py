"""Orders, agents and a few words to play them with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from env_adapters import Cell, Suite, SuiteName
from glue_server import (
    EnvironmentCalls,
    EnvironmentPort,
    EpisodeRunner,
    LocalEnvironmentPort,
    LocalPort,
    NextOrder,
    Order,
    Outcome,
    Timeouts,
    WorkersPort,
)
from reglue import Agent, Ends, Phase, Starts, Steps, TaskSpec
from reglue.environments.slot_worlds import Worlds
from reglue.messages.environment_messages import (
    EnvironmentCall,
    EnvironmentInit,
    EnvironmentReply,
    Play,
)
from reglue.spec import Arrays
from tests.worlds import Corridor

SOLVED = {"walk": (1, 3, 0, 5, 2), "run": (0, 2, 4, 0, 1)}
PATIENT = Timeouts(first_step_s=30.0, step_s=30.0)


def cell(task: str = "walk", variant: int = 0, phase: Phase = Phase.EVALUATE) -> Cell:
    return Cell(task, variant, seed=7, repeat=0, phase=phase)


def cells(count: int = 5) -> list[Cell]:
    """Both tasks' first `count` variants, in turn."""
    return [cell(task, variant) for variant in range(count) for task in SOLVED]


def in_turn(wanted: Iterable[Cell], unit: int = 0) -> NextOrder:
    """Each free slot takes the next of `wanted`."""
    orders = iter([Order(unit, k, each, 1000 + k) for k, each in enumerate(wanted)])
    return lambda slot: next(orders, None)


class Follower(Agent):
    """Each row's action depends on that row alone: its observation and its start's seed."""

    adapts = True  # so that meta-learning takes it; it learns nothing

    def agent_init(self, spec: TaskSpec) -> None:
        self._seeds = np.zeros(spec.slots)

    def agent_start(self, observations: Arrays, starts: Starts) -> npt.NDArray[np.float64]:
        self._seeds[starts.slots] = starts.seeds % 1000 / 1000
        return self._act(observations, starts.slots)

    def agent_step(
        self, rewards: npt.NDArray[np.float64], observations: Arrays, steps: Steps
    ) -> npt.NDArray[np.float64]:
        return self._act(observations, steps.slots)

    def _act(self, observations: Arrays, slots: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        taken, summed = observations["observation"][:, 0], observations["observation"][:, 1]
        actions: npt.NDArray[np.float64] = 0.3 * taken - 0.7 * summed + self._seeds[slots]
        return actions[:, None]


class Partial(Follower):
    partial_turns = True


class Scripted(Agent):
    """Answers each turn by `answer`, and keeps the turns and ends it saw."""

    adapts = True  # so that meta-learning takes it; it learns nothing

    def __init__(self, answer: Callable[..., Any]) -> None:
        self.answer = answer
        self.turns: list[Any] = []
        self.ends: list[tuple[int, int]] = []  # (slot, kind)

    def turn(self, turn: Any) -> Any:
        self.turns.append(turn)
        self.agent_end(turn.rewards, turn.observations, turn.ends)
        return self.answer(turn)

    def agent_end(self, rewards: Any, observations: Arrays, ends: Ends) -> None:
        self.ends += zip(ends.slots.tolist(), ends.kinds.tolist(), strict=True)


def rows_of(turn: Any) -> int:
    """The number of actions that a turn asks for."""
    return len(turn.steps) + len(turn.starts)


def still(turn: Any) -> npt.NDArray[np.float32]:
    """Zeros."""
    return np.zeros((rows_of(turn), 1), np.float32)


class Told(LocalPort):
    """A port that remembers its refusals."""

    def __init__(self, agent: Agent) -> None:
        super().__init__(agent, "told")
        self.refusals: list[str] = []

    def refuse(self, refused: Any) -> None:
        self.refusals.append(refused.code)


class PromptWorkers(WorkersPort):
    """Workers that are there before the next turn, whatever the machine does."""

    _first: EnvironmentReply | None = None  # the answer to env_init, until it is asked for

    def send(self, call: EnvironmentCall) -> None:
        super().send(call)
        if isinstance(call, EnvironmentInit):
            self._first = super().receive(60.0)

    def receive(self, timeout_s: float) -> EnvironmentReply:
        first, self._first = self._first, None
        return first or super().receive(timeout_s)


def start(cell: Cell) -> Play:
    """Begin an episode in slot 0."""
    return Play(np.zeros(0, np.uint32), {}, {0: cell})


def step() -> Play:
    """A step of zero in slot 0 of a Corridor."""
    return Play(np.zeros(1, np.uint32), {"action": np.zeros((1, 1), np.float32)}, {})


def calls_of(port: EnvironmentPort, slots: int) -> EnvironmentCalls:
    """An environment that is ready to play; it is let go where that goes wrong."""
    calls = EnvironmentCalls(port)
    try:
        calls.init(slots)
    except BaseException:
        calls.close()
        raise
    return calls


def local(suite: Suite, slots: int = 1) -> EnvironmentCalls:
    """A suite's worlds in this process."""
    return calls_of(LocalEnvironmentPort(Worlds(suite), "local"), slots)


def in_workers(
    suite: SuiteName, slots: int, *, workers: int, **more: Any
) -> tuple[EnvironmentCalls, WorkersPort]:
    """A suite's worlds in processes, and those."""
    port = WorkersPort(suite, workers=workers, **more)
    return calls_of(port, slots), port


def glue_of(agent: Agent, pool: EnvironmentCalls) -> tuple[EpisodeRunner, Told]:
    """An agent in this process, ready to play."""
    port = Told(agent)
    glue = EpisodeRunner(port, pool, timeouts=PATIENT)
    glue.init()
    return glue, port


def corridor_pool(slots: int = 1, **config: Any) -> EnvironmentCalls:
    return local(Corridor(**{"solved": SOLVED} | config), slots)


def played(
    agent: Agent, pool: EnvironmentCalls, wanted: Sequence[Cell], phase: Phase = Phase.EVALUATE
) -> list[Outcome]:
    """The outcomes of all cells, in the order of the plan."""
    glue, _ = glue_of(agent, pool)
    return by_k(glue.play(in_turn(wanted), phase))


def by_k(outcomes: Iterator[Outcome]) -> list[Outcome]:
    return sorted(outcomes, key=lambda outcome: outcome.order.k)
