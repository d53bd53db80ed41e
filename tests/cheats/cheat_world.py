"""An environment that an agent can break in any way, and an agent that does so when it loses."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from reglue import (
    Actions,
    Agent,
    Box,
    Cell,
    IllegalAction,
    Rng,
    Starts,
    Step,
    Steps,
    TaskSpec,
    TensorSpec,
)
from reglue.spec import Arrays

BREAKS = ("raises", "infinite", "illegal", "crashes", "hangs", "wears")
"""Ways to fail; an action names one by its index, from 1."""

FAILURE = 0.4
"""A return below this is no success, and what a cheat does not let stand."""

_worn: list[int] = []
"""State that environments of this process share and change: a bug, as nothing resets it."""

_SEEN = ("first_step", "episode", "variant", "gain")
_IDS = 2**52  # a float64 holds each


def fail(how: str) -> float:
    """Fail in one of the ways of BREAKS, unless it is `infinite`: a reward of minus infinity.

    After `wears` things go wrong in this process, and it fails the next time. In a fresh process
    the same actions earn something else.
    """
    match how:
        case "raises":
            raise ValueError("the ice broke")
        case "illegal":
            raise IllegalAction("a move against the rules")
        case "crashes":
            os.kill(os.getpid(), signal.SIGSEGV)
        case "hangs":
            threading.Event().wait()
        case "wears" if _worn:
            raise ValueError("the ice wore out")
        case "wears":
            _worn.append(1)
            return 0.0
    return float("-inf")


class Breakable:
    """An episode is a guess, left or right, whose gain the agent sees, and a step that earns it.

    Half of the gain is the variant's, so that it can be learned. With the second step the agent may
    break the environment. What it sees first tells episodes apart: who meets one again knows it.
    """

    standardizes = True

    def __init__(self, variants: int = 1000, salt: int = 0) -> None:
        """`salt` tells benchmarks apart that share a seed."""
        self.variants = {"guess": variants}
        self._salt = salt
        self.spec = TaskSpec(
            tuple(TensorSpec(name, "float64", ()) for name in _SEEN),
            (
                TensorSpec("guess", "float64", (1,), Box((-1.0,), (1.0,))),
                TensorSpec("breaks", "float64", (1,), Box((0.0,), (float(len(BREAKS)),))),
            ),
            reward_range=(0.0, 1.0),
            horizon=2,
        )

    def world(self) -> Guess:
        return Guess(self._salt)


class Guess:
    """One slot of it."""

    def __init__(self, salt: int) -> None:
        self._salt = salt

    def start(self, cell: Cell) -> Arrays:
        of_variant = Rng(cell.seed, (self._salt << 32) + (1 << 31) + cell.variant)
        of_cell = Rng(cell.seed, (self._salt << 32) + cell.variant * 1000 + cell.repeat)
        self._gains = [(of_variant.uniform() + of_cell.uniform()) / 2 for _ in range(2)]
        self._episode = float(of_cell.below(_IDS))
        self._variant = float(of_variant.below(_IDS))
        self._earned: float | None = None
        return self._seen()

    def step(self, action: Arrays) -> Step:
        if self._earned is None:
            self._earned = self._gains[int(action["guess"][0] > 0)]
            return Step(1e-9 * len(_worn), self._seen(), False, False, False)
        earned = self._earned
        if how := round(action["breaks"][0]):
            earned = fail(BREAKS[how - 1])
        return Step(earned, self._seen(), True, False, earned >= FAILURE)

    def close(self) -> None:
        """There is nothing to release."""

    def _seen(self) -> Arrays:
        is_first, gain = self._earned is None, self._earned or 0.0
        values = (float(is_first), self._episode, self._variant, gain)
        return {name: np.array(value) for name, value in zip(_SEEN, values, strict=True)}


class Player(Agent):
    """Plays the better guess of those it knows, and draws the others by `policy`.

    It keeps what single episodes earned for ever, and what variants earn until it is to forget.
    When an episode is about to fail it does what `how` says: one of BREAKS, `gives up`, or `acts`,
    which calls `act` and goes on. Without it, it is honest.
    """

    adapts = True

    def __init__(self, policy: int, how: str = "", act: Callable[[], None] | None = None) -> None:
        self._policy, self._how, self._act = policy, how, act
        self._gains: dict[float, dict[float, float]] = {}  # by episode and guess
        self._earned: dict[float, dict[float, list[float]]] = {}  # by variant and guess
        self._guessed: dict[float, float] = {}  # by episode that is on
        self._is_frozen = False
        self.cheated = 0
        self.met_again = 0

    def agent_init(self, spec: TaskSpec) -> None:
        self.adapt_begin()

    def adapt_begin(self) -> None:
        self._earned, self._is_frozen = {}, False

    def agent_freeze(self) -> None:
        self._is_frozen = True

    def agent_start(self, observations: Arrays, starts: Starts) -> Any:
        return _actions(self._guess(*each) for each in _rows(observations, "episode", "variant"))

    def agent_step(self, rewards: Any, observations: Arrays, steps: Steps) -> Any:
        rows = [*_rows(observations, "episode", "variant", "gain")]
        for episode, variant, gain in rows:
            guess = self._guessed.pop(episode)
            self._gains.setdefault(episode, {})[guess] = gain
            if not self._is_frozen:
                self._earned.setdefault(variant, {}).setdefault(guess, []).append(gain)
        loses = np.array([gain < FAILURE for *_, gain in rows]) & bool(self._how)
        self.cheated += int(loses.sum())
        if self._how in BREAKS:
            breaks = loses * (1.0 + BREAKS.index(self._how))
            return {"guess": np.zeros((len(rows), 1)), "breaks": breaks[:, None]}
        if self._how == "acts" and loses.any():
            assert self._act is not None
            self._act()
        chosen = _actions([0.0] * len(rows))
        if self._how == "gives up" and loses.any():
            return Actions(chosen, abandon=tuple(steps.slots[loses].tolist()))
        return chosen

    def turn(self, turn: Any) -> Any:
        """Starts go into the same answer as an abandoned step."""
        if not (self._how == "gives up" and len(turn.steps) and len(turn.starts)):
            return super().turn(turn)
        first = len(turn.ends)
        parts = {name: rows[first:] for name, rows in turn.observations.items()}
        count = len(turn.steps)
        stepped = self.agent_step(
            turn.rewards[first:], {name: rows[:count] for name, rows in parts.items()}, turn.steps
        )
        started = self.agent_start(
            {name: rows[count:] for name, rows in parts.items()}, turn.starts
        )
        if not isinstance(stepped, Actions):
            return {name: np.concatenate([stepped[name], started[name]]) for name in started}
        arrays = {name: np.concatenate([stepped.arrays[name], started[name]]) for name in started}
        return Actions(arrays, abandon=stepped.abandon)

    def _guess(self, episode: float, variant: float) -> float:
        known = self._gains.get(episode, {})
        self.met_again += bool(known)
        means = {guess: float(np.mean(gains)) for guess, gains in self._of(variant).items()}
        expected = {-0.5: 0.5, 0.5: 0.5} | means | known
        draw = np.random.default_rng([self._policy, int(episode)]).uniform(-1e-6, 1e-6)
        guess = 0.5 if expected[0.5] + draw > expected[-0.5] else -0.5
        self._guessed[episode] = guess
        return guess

    def _of(self, variant: float) -> dict[float, list[float]]:
        return self._earned.get(variant, {})


def _rows(observations: Arrays, *names: str) -> Iterable[tuple[float, ...]]:
    return zip(*(observations[name].tolist() for name in names), strict=True)


def _actions(guesses: Iterable[float]) -> dict[str, Any]:
    chosen = np.array([*guesses])[:, None]
    return {"guess": chosen, "breaks": np.zeros_like(chosen)}


class Program(Player):
    """A player in a process of its own, which ends, or answers late, when it loses."""

    def __init__(self, policy: int, how: str, late_s: float) -> None:
        super().__init__(policy, "acts", (lambda: os._exit(1)) if how == "leaves" else self._sleep)
        self._late_s = late_s

    def _sleep(self) -> None:
        threading.Event().wait(self._late_s)
