"""Plays a short episode again at the end of a run, by its recorded actions.

An environment that plays a function of its cells and actions earns the same, to the bit. One that
draws random numbers of its own, or keeps something from one episode to the next, does not: what it
scored cannot be repeated.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from glue_server import EnvironmentCalls, Outcome
from glue_server.agent.actions import unpacked
from reglue.messages.environment import Play
from reglue_bench.procedures import Procedure
from reglue_bench.results.result import Repeat
from reglue_bench.runs.environments import cores

_TIMES = 2  # as the first episode of its world, and after another: it was one of these
_SHARE = 400  # of the steps that each core has simulated, one is played again each time
_LEAST_STEPS = 50  # of a long episode that are played again


class ShortestEpisode:
    """The shortest of a run's episodes that were played to their end, the last of equals."""

    outcome: Outcome | None = None

    def __init__(self) -> None:
        self._steps = 0  # of all that it could be

    def take(self, outcome: Outcome) -> None:
        """Consider it. One that comes without its actions and rewards is none."""
        if outcome.status != "ok" or not (outcome.actions and outcome.rewards):
            return
        self._steps += outcome.steps
        if self.outcome is None or outcome.steps <= self.outcome.steps:
            self.outcome = replace(outcome, observed=None)

    def take_unit(self, outcomes: Iterable[Outcome], procedure: Procedure) -> None:
        """Those of a unit, in its order, that another process has played by its own orders."""
        before = 0
        for outcome in outcomes:
            left = procedure.steps_left(outcome.order.k, before)
            order = replace(outcome.order, max_steps=int(left) if math.isfinite(left) else 0)
            if procedure.counts_steps:
                order = replace(order, cell=replace(order.cell, steps=before))
            before += outcome.steps
            self.take(replace(outcome, order=order))

    def played_again(self, environment: EnvironmentCalls, procedure: Procedure) -> Repeat:
        """As `played_again`, so many steps that it takes little of the run's time."""
        assert self.outcome is not None, "there is one to play again"
        most = max(_LEAST_STEPS, self._steps // (_SHARE * cores()))
        return played_again(self.outcome, environment, procedure, most_steps=most)


def played_again(
    outcome: Outcome, environment: EnvironmentCalls, procedure: Procedure, *, most_steps: int
) -> Repeat:
    """Play an episode's first steps in slot 0, twice.

    All rewards must be as recorded, and what is seen the same both times; of a whole episode also
    its success and its end. Raises EnvironmentFault if the environment is lost.
    """
    steps, seen = min(outcome.steps, most_steps), list[bytes]()
    what = _name(outcome, steps, procedure)
    for _ in range(_TIMES):
        if difference := _difference(environment, outcome, steps, seen):
            return Repeat(repeatable=False, what=f"{what}: {difference}")
    return Repeat(repeatable=True, what=what)


def _name(outcome: Outcome, steps: int, procedure: Procedure) -> str:
    order, cell, unit = outcome.order, outcome.order.cell, procedure.unit
    name = f"episode {order.unit}" if unit == "unit" else f"{unit} {order.unit}, episode {order.k}"
    length = f"{steps} steps" if steps == outcome.steps else f"the first {steps} steps"
    return f"{name} ({cell.task}, variant {cell.variant}, repeat {cell.repeat}; {length})"


def _difference(
    environment: EnvironmentCalls, outcome: Outcome, steps: int, seen: list[bytes]
) -> str:
    """The first one in so many steps; empty: there is none.

    `seen` holds what was seen the first time, or is empty, and filled.
    """
    slot = np.zeros(1, np.uint32)
    actions = unpacked(outcome.actions, environment.spec.actions)
    rewards = np.frombuffer(outcome.rewards, "<f8")
    starts = Play(slot[:0], {}, {0: outcome.order.cell})
    won = is_over = False
    for step in range(steps + 1):
        rows = {name: values[step - 1 : step] for name, values in actions.items()}
        played = environment.play(Play(slot, rows, {}) if step else starts)
        if played.faults:
            return f"step {step}: got {_brief(played.faults[0])}, wanted no error"
        if step and played.rewards.tobytes() != rewards[step - 1 : step].tobytes():
            got, wanted = float(played.rewards[0]), float(rewards[step - 1])
            return f"step {step}: got reward {got!r}, wanted {wanted!r}"
        won = won or bool(played.success.any())
        is_over = bool((played.terminated | played.truncated).any())
        if is_over and step < outcome.steps:
            return f"got its end at step {step}, wanted {outcome.steps} steps"
        observed = b"".join(rows.tobytes() for rows in played.observations.values())
        if len(seen) == step:
            seen.append(observed)
        elif seen[step] != observed:
            return f"step {step}: got another observation the second time, wanted the same"
    if steps < outcome.steps:
        return ""
    if won != outcome.success:
        return f"got success {won}, wanted {outcome.success}"
    if not (is_over or 0 < outcome.order.max_steps <= steps):
        return f"got an episode that goes on after step {steps}, wanted its end"
    return ""


def _brief(fault: str) -> str:
    """The error, without the traceback before it."""
    return fault.strip().splitlines()[-1][:200]
