"""Agents that play the corridor, and several that fail.

Runs start them as processes, so that nothing but the SDK is imported here.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from reglue import Agent, Ends, Starts, Steps, TaskSpec
from reglue.errors import NotCapable
from reglue.spec import Arrays


class Learner(Agent):
    """Acts by what it has learned: a tenth more after each episode that ended, up to 1.

    So the first action of a run shows whether its agent was naive. `ends` counts agent_end,
    an entry for each agent_init.
    """

    adapts = True  # as it plays

    def __init__(self) -> None:
        self.inits = 0
        self.ends: list[int] = []

    def agent_init(self, spec: TaskSpec) -> None:
        self.inits += 1
        self.learned = 0.0
        self.ends.append(0)

    def agent_start(self, observations: Arrays, starts: Starts) -> npt.NDArray[np.float64]:
        return np.full((len(starts), 1), self.learned)

    def agent_step(
        self, rewards: npt.NDArray[np.float64], observations: Arrays, steps: Steps
    ) -> npt.NDArray[np.float64]:
        return np.full((len(steps), 1), self.learned)

    def agent_end(self, rewards: npt.NDArray[np.float64], observations: Arrays, ends: Ends) -> None:
        self.ends[-1] += 1
        self.learned = min(1.0, self.learned + 0.1)


class Seeded(Agent):
    """Draws every action from its start seed alone, so that slots do not matter."""

    adapts = True  # so that meta-learning takes it; it learns nothing

    def agent_init(self, spec: TaskSpec) -> None:
        self._chance: dict[int, np.random.Generator] = {}

    def agent_start(self, observations: Arrays, starts: Starts) -> npt.NDArray[np.float64]:
        for slot, seed in zip(starts.slots.tolist(), starts.seeds.tolist(), strict=True):
            self._chance[slot] = np.random.default_rng(seed)
        return self._draw(starts.slots)

    def agent_step(
        self, rewards: npt.NDArray[np.float64], observations: Arrays, steps: Steps
    ) -> npt.NDArray[np.float64]:
        return self._draw(steps.slots)

    def _draw(self, slots: npt.NDArray[np.uint32]) -> npt.NDArray[np.float64]:
        return np.array([self._chance[slot].uniform(-1, 1, 1) for slot in slots.tolist()])


class Frozen(Seeded):
    """Cannot adapt, and says so."""

    adapts = False


class Unseeded(Frozen):
    """Draws from the operating system's entropy."""

    def _draw(self, slots: npt.NDArray[np.uint32]) -> npt.NDArray[np.float64]:
        return np.random.default_rng().uniform(-1, 1, (len(slots), 1))


class Endless(Seeded):
    """Plays continuing tasks alone, and says so."""

    episodic = False


class Single(Seeded):
    """Plays one episode at a time, and says so."""

    max_slots = 1


class Exits(Seeded):
    """Leaves at its second turn, with a last word."""

    def agent_step(self, rewards: Any, observations: Any, steps: Any) -> Any:
        print("out of coffee", flush=True)
        os._exit(3)


class Hangs(Seeded):
    """Does not answer its second turn."""

    def agent_step(self, rewards: Any, observations: Any, steps: Any) -> Any:
        threading.Event().wait()


class Dawdles(Seeded):
    """Takes 1 s for its third turn."""

    turns = 0

    def turn(self, turn: Any) -> Any:
        self.turns += 1
        if self.turns == 3:
            time.sleep(1.0)
        return super().turn(turn)


class Pausing(Seeded):
    """Takes 0.15 s for each step."""

    def agent_step(self, rewards: Any, observations: Any, steps: Any) -> Any:
        time.sleep(0.15)
        return super().agent_step(rewards, observations, steps)


class Raises(Seeded):
    """Raises at its second turn."""

    def agent_step(self, rewards: Any, observations: Any, steps: Any) -> Any:
        raise KeyError("coffee")


class Garbled(Seeded):
    """Raises at its second turn, in words that no terminal and no file should get."""

    def agent_step(self, rewards: Any, observations: Any, steps: Any) -> Any:
        print("\x1b]0;mine\x07\x1b[2J", flush=True)
        raise ValueError("caf\udce9 \x1b[31mred")


class Lost(Seeded):
    """Answers what is no number at each step."""

    def agent_step(self, rewards: Any, observations: Any, steps: Any) -> Any:
        return np.full((len(steps), 1), np.nan)


class Transposed(Seeded):
    """Answers with a column a slot."""

    def agent_step(self, rewards: Any, observations: Any, steps: Any) -> Any:
        return np.zeros((2, len(steps)))


class Mendable(Seeded):
    """Exits, or answers what is no number, for as long as the file `fault` is there."""

    def __init__(self, fault: str, how: str) -> None:
        self._fault, self._how = Path(fault), how

    def agent_step(self, rewards: Any, observations: Any, steps: Any) -> Any:
        if not self._fault.exists():
            return super().agent_step(rewards, observations, steps)
        if self._how == "exit":
            os._exit(3)
        return np.full((len(steps), 1), np.nan)


class NeverMade(Seeded):
    """Cannot be constructed."""

    def __init__(self) -> None:
        sys.exit("no weights")


class Tells(Learner):
    """Prints its process's id at each agent_init."""

    def agent_init(self, spec: Any) -> None:
        super().agent_init(spec)
        print("process", os.getpid(), flush=True)


class FailsOnce(Learner):
    """Fails in its second episode, as long as the file `fuse` is there, which it takes away."""

    def __init__(self, fuse: str, how: str) -> None:
        super().__init__()
        self._fuse, self._how = Path(fuse), how

    def agent_step(self, rewards: Any, observations: Any, steps: Any) -> Any:
        if self.learned and self._fuse.exists():
            self._fuse.unlink()
            print("out of coffee", flush=True)
            match self._how:
                case "exits":
                    os._exit(3)
                case "hangs":
                    threading.Event().wait()
                case _:
                    raise KeyError("coffee")
        return super().agent_step(rewards, observations, steps)


class MadeOnce(Learner):
    """Can be constructed while the file `permit` is there, and uses it up."""

    def __init__(self, permit: str) -> None:
        super().__init__()
        try:
            Path(permit).unlink()
        except FileNotFoundError:
            sys.exit("no weights")


class Stays(Seeded):
    """Does not leave, whatever it is told but by SIGKILL."""

    def __init__(self) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        threading.Thread(target=time.sleep, args=(3600.0,)).start()


class Fading(Learner):
    """Plays its first run, and raises in all that follow; the file `marks` tells them apart."""

    def __init__(self, marks: str) -> None:
        super().__init__()
        self._is_first = not Path(marks).exists()
        Path(marks).touch()

    def agent_step(self, rewards: Any, observations: Any, steps: Any) -> Any:
        if not self._is_first:
            raise KeyError("coffee")
        return super().agent_step(rewards, observations, steps)


class Gated(Seeded):
    """Says that it was made, and plays on from a start only once the gate is there."""

    def __init__(self, gate: str, after: int) -> None:
        self._gate, self._after, self._starts = Path(gate), after, 0
        print("made", flush=True)

    def agent_start(self, observations: Any, starts: Any) -> Any:
        self._starts += len(starts)
        if self._starts > self._after:
            print("thinks", flush=True)
        while self._starts > self._after and not self._gate.exists():
            time.sleep(0.01)
        return super().agent_start(observations, starts)


class Meets(Seeded):
    """Plays once so many of it are there, which it awaits for a minute: each leaves a file.

    Its actions are `scale` times those of the others.
    """

    def __init__(self, folder: str, copies: int, scale: float = 1.0) -> None:
        self._folder, self._copies, self._scale = Path(folder), copies, scale
        self._folder.mkdir(exist_ok=True)
        (self._folder / str(os.getpid())).touch()

    def agent_start(self, observations: Any, starts: Any) -> Any:
        until = time.monotonic() + 60
        while len([*self._folder.iterdir()]) < self._copies:
            assert time.monotonic() < until, f"wanted {self._copies} copies of it"
            time.sleep(0.01)
        return super().agent_start(observations, starts)

    def _draw(self, slots: npt.NDArray[np.uint32]) -> npt.NDArray[np.float64]:
        return self._scale * super()._draw(slots)


class Stops(Seeded):
    """Stops its own process, as Ctrl-Z does."""

    def agent_step(self, rewards: Any, observations: Any, steps: Any) -> Any:
        os.kill(os.getpid(), signal.SIGSTOP)
        return super().agent_step(rewards, observations, steps)


class Refuses(Seeded):
    """Finds out in agent_init that it cannot play."""

    def agent_init(self, spec: TaskSpec) -> None:
        raise NotCapable(got=f"{len(spec.observations)} tensors", wanted="none")


class Breaks(Seeded):
    """Fails in agent_init by a bug of its own."""

    def agent_init(self, spec: TaskSpec) -> None:
        raise ZeroDivisionError("its own bug")
