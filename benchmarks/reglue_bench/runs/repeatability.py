"""Plays a short episode again at the end of a run, by its recorded actions.

An environment that plays a function of its cells and actions earns the same, to the bit. One that
draws random numbers of its own, or keeps something from one episode to the next, does not: what it
scored cannot be repeated. Agents are asked again separately: see glue_server's repetition.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from glue_server import EnvironmentCalls, EpisodeRunner, LocalPort, Outcome, Timeouts
from glue_server.agent.actions import unpacked
from glue_server.agent.repetition import Repetition
from reglue.agents.agent import Agent
from reglue.messages.agent_messages import Ends, Phase, Starts, Steps
from reglue.spec import Arrays, TaskSpec
from reglue_bench.procedures import Procedure
from reglue_bench.runs.notes import Repeat

_TIMES = 2  # as the first episode of its world, and after another: it was one of these
_SHARE = 400  # of so many turns of the run, one is played again each time
_LEAST_STEPS = 50  # of a long episode that are played again


class ShortestEpisode:
    """The shortest of a run's episodes that were played to their end, the last of equals."""

    outcome: Outcome | None = None

    def __init__(self) -> None:
        self._steps = 0  # of all that it could be, in all slots

    def take(self, outcome: Outcome) -> None:
        """Consider it. One that comes without its actions and rewards is none."""
        if outcome.status != "ok" or not (outcome.actions and outcome.rewards):
            return
        self._steps += outcome.steps
        if self.outcome is None or outcome.steps <= self.outcome.steps:
            self.outcome = outcome

    def take_unit(self, outcomes: Iterable[Outcome], procedure: Procedure) -> None:
        """Consider a unit's episodes, in order, that another process has played."""
        before = 0
        for outcome in outcomes:
            left = procedure.steps_left(outcome.order.k, before)
            order = replace(outcome.order, max_steps=int(left) if math.isfinite(left) else 0)
            self.take(replace(outcome, order=procedure.after_steps(order, before)))
            before += outcome.steps

    def repeat_episode(self, environment: EnvironmentCalls, procedure: Procedure) -> Repeat:
        """Call `repeat_episode` for so few steps that they take little of the run's time.

        A step of one slot takes as long as a turn of all, where a call of the environment costs
        more than a row of it.
        """
        assert self.outcome is not None, "there is one to play again"
        most = max(_LEAST_STEPS, self._steps // (_SHARE * environment.spec.slots))
        return repeat_episode(self.outcome, environment, procedure, most_steps=most)


def repeat_episode(
    outcome: Outcome, environment: EnvironmentCalls, procedure: Procedure, *, most_steps: int
) -> Repeat:
    """Play an episode's first steps in slot 0, twice.

    All rewards must be as recorded, and what is seen the same both times; of a whole episode also
    its success and its end. Raises EnvironmentFault if the environment is lost.
    """
    steps, before = min(outcome.steps, most_steps), list[Arrays]()
    what = _name(outcome, steps, procedure)
    for _ in range(_TIMES):
        if difference := _difference(environment, outcome, steps, before):
            what = f"{what}: {difference}"
            return Repeat(who="environment", repeatable=False, what=what)
    return Repeat(who="environment", repeatable=True, what=what)


def repeat_of_agent(repetitions: Sequence[Repetition]) -> Repeat:
    """The repeatability of an agent, or its copies, which were asked their first turns again."""
    for each in repetitions:
        if each.difference:
            return Repeat(who="agent", repeatable=False, what=each.difference)
    for each in repetitions:
        if each.fault:
            what = f"asked its first turns again, it failed: {each.fault}"
            return Repeat(who="agent", repeatable=None, what=what)
    rows = sum(each.rows for each in repetitions)
    return Repeat(who="agent", repeatable=True, what=f"asked about {rows} observations again")


def _name(outcome: Outcome, steps: int, procedure: Procedure) -> str:
    order, cell, unit = outcome.order, outcome.order.cell, procedure.unit
    name = f"episode {order.unit}" if unit == "unit" else f"{unit} {order.unit}, episode {order.k}"
    length = f"{steps} steps" if steps == outcome.steps else f"the first {steps} steps"
    return f"{name} ({cell.task}, variant {cell.variant}, repeat {cell.repeat}; {length})"


def _difference(
    environment: EnvironmentCalls, recorded: Outcome, steps: int, before: list[Arrays]
) -> str:
    """The first difference in that many steps; an empty text without one.

    `before` holds what was seen the first time, or is empty, and filled.
    """
    agent = _Recorded(recorded.actions)
    glue = EpisodeRunner(LocalPort(agent, "recorded"), environment, timeouts=Timeouts())
    orders = [replace(recorded.order, max_steps=steps, truncates=False)]
    glue.init()
    [played] = glue.play(lambda slot: orders.pop() if orders and slot == 0 else None, Phase.TRAIN)
    if difference := _of_rewards(played, recorded, steps):
        return difference
    for step, (got, wanted) in enumerate(zip(agent.seen, before or agent.seen, strict=True)):
        if difference := _of_observations(got, wanted):
            return f"step {step}: {difference}"
    before[:] = agent.seen
    if steps < recorded.steps:
        return ""
    if played.success != recorded.success:
        return f"got success {played.success}, wanted {recorded.success}"
    if not (agent.has_ended or 0 < recorded.order.max_steps <= steps):
        return f"got an episode that goes on after step {steps}, wanted its end"
    return ""


def _of_observations(got: Arrays, wanted: Arrays) -> str:
    """The first number whose bytes differ; empty: none."""
    for name, rows in got.items():
        if rows.tobytes() == wanted[name].tobytes():
            continue
        for place in np.ndindex(rows.shape):
            now, then = rows[place], wanted[name][place]
            if now.tobytes() != then.tobytes():
                at = f"{name!r}{[*place[1:]]}" if place[1:] else repr(name)
                both = f"got {_shown(now, then)} the second time, wanted {_shown(then, now)}"
                return f"observation {at}: {both}"
    return ""


def _shown(value: npt.NDArray[Any], other: npt.NDArray[Any]) -> str:
    """A number; with its bytes, if the other looks the same."""
    looks, others = repr(value.item()), repr(other.item())
    return looks if looks != others else f"{looks} (bytes {value.tobytes().hex()})"


def _of_rewards(played: Outcome, recorded: Outcome, steps: int) -> str:
    got, wanted = (np.frombuffer(each.rewards, "<f8") for each in (played, recorded))
    for step in range(played.steps):
        if got[step : step + 1].tobytes() != wanted[step : step + 1].tobytes():
            return f"step {step + 1}: got reward {float(got[step])}, wanted {float(wanted[step])}"
    if played.status != "ok":
        error = (played.detail.strip().splitlines() or [""])[-1][:200]  # its traceback is before
        return f"step {played.steps + 1}: got {played.status}, {error}; wanted none"
    if played.steps < steps:
        return f"got its end at step {played.steps}, wanted {recorded.steps} steps"
    return ""


class _Recorded(Agent):
    """Plays recorded actions, and keeps what it sees, in one slot."""

    def __init__(self, actions: bytes) -> None:
        self.seen: list[Arrays] = []
        self.has_ended = False
        self._actions = actions

    def agent_init(self, spec: TaskSpec) -> None:
        self._rows = unpacked(self._actions, spec.actions)

    def agent_start(self, observations: Arrays, starts: Starts) -> Arrays:
        return self._next(observations)

    def agent_step(
        self, rewards: npt.NDArray[np.float64], observations: Arrays, steps: Steps
    ) -> Arrays:
        return self._next(observations)

    def agent_end(self, rewards: npt.NDArray[np.float64], observations: Arrays, ends: Ends) -> None:
        self._see(observations)
        self.has_ended = True

    def _next(self, observations: Arrays) -> Arrays:
        """The action at this step; after the last one any, which is not played."""
        self._see(observations)
        return {
            name: rows[min(len(self.seen), len(rows)) - 1][None]
            for name, rows in self._rows.items()
        }

    def _see(self, observations: Arrays) -> None:
        self.seen.append({name: rows.copy() for name, rows in observations.items()})
