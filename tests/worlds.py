"""Small worlds for tests: real suites, built by name in any process."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from env_adapters import Cell, Step
from reglue import Box, Phase, TaskSpec, TensorSpec
from reglue.spec import Arrays


class Corridor:
    """Walks of `horizon` steps. Variant v of a task succeeds at step `solved[task][v]`.

    A cell that evaluates ends at its success. 0 means never. The observation is
    (steps taken, sum of actions), the reward 1 plus a tenth of the action, so that a
    walk's bits depend on its actions. `show` adds the task's place and the variant.
    """

    def __init__(
        self, *, solved: Mapping[str, Sequence[int]], horizon: int = 5, show: bool = False
    ) -> None:
        self.solved = solved
        self.variants = {task: len(steps) for task, steps in solved.items()}
        self.standardizes = True
        self.horizon = horizon
        self.show = show
        self.spec = TaskSpec(
            observations=(TensorSpec("observation", "float64", (4 if show else 2,)),),
            actions=(TensorSpec("action", "float32", (1,), Box((-1.0,), (1.0,))),),
            horizon=horizon,
            rewards_in_evaluation=False,
        )

    def world(self) -> Walk:
        return Walk(self)


class Walk:
    """One slot of a Corridor."""

    def __init__(self, corridor: Corridor) -> None:
        self._corridor = corridor
        self._cell: Cell | None = None
        self._steps = 0
        self._sum = 0.0

    def start(self, cell: Cell) -> Arrays:
        if cell.variant >= len(self._corridor.solved[cell.task]):
            raise ValueError(f"no variant {cell.variant}")
        self._cell, self._steps, self._sum = cell, 0, 0.0
        return self._observation()

    def step(self, action: Arrays) -> Step:
        assert self._cell is not None
        self._steps += 1
        self._sum += float(action["action"][0])
        success = self._steps == self._corridor.solved[self._cell.task][self._cell.variant]
        return Step(
            reward=1.0 + 0.1 * float(action["action"][0]),
            observation=self._observation(),
            terminated=success and self._cell.phase is Phase.EVALUATE,
            truncated=self._steps == self._corridor.horizon,
            success=success,
        )

    def close(self) -> None:
        self._cell = None

    def _observation(self) -> Arrays:
        assert self._cell is not None
        seen = [float(self._steps), self._sum]
        if self._corridor.show:
            seen += [float(list(self._corridor.solved).index(self._cell.task)), self._cell.variant]
        return {"observation": np.array(seen)}


class Unnumbered(Corridor):
    """A corridor that does not standardize its randomness."""

    def __init__(self, **corridor: object) -> None:
        super().__init__(**corridor)  # type: ignore[arg-type]
        self.standardizes = False


class Trapdoor(Corridor):
    """A corridor whose process is killed at step 3, as long as the file `fuse` has marks.

    Each death removes one mark (a byte) first.
    """

    def __init__(self, *, fuse: str, **corridor: object) -> None:
        super().__init__(**corridor)  # type: ignore[arg-type]
        self.fuse = Path(fuse)

    def world(self) -> Walk:
        return Falling(self)


class Falling(Walk):
    def step(self, action: Arrays) -> Step:
        taken = super().step(action)
        fuse: Path = self._corridor.fuse  # type: ignore[attr-defined]
        if self._steps == 3 and (marks := fuse.stat().st_size):
            os.truncate(fuse, marks - 1)
            os.kill(os.getpid(), signal.SIGKILL)
        return taken


class Haunted(Corridor):
    """A corridor whose process is killed at the steps that are the bytes of the file `fuse`, in
    turn: each death removes the first.
    """

    def __init__(self, *, fuse: str, **corridor: object) -> None:
        super().__init__(**corridor)  # type: ignore[arg-type]
        self.fuse = Path(fuse)

    def world(self) -> Walk:
        return Haunting(self)


class Haunting(Walk):
    def step(self, action: Arrays) -> Step:
        taken = super().step(action)
        fuse: Path = self._corridor.fuse  # type: ignore[attr-defined]
        left = fuse.read_bytes()
        if left and self._steps == left[0]:
            fuse.write_bytes(left[1:])
            os.kill(os.getpid(), signal.SIGKILL)
        return taken


class Narrow(Haunted):
    """A corridor whose observations are outside of their bounds from the second step on."""

    def __init__(self, *, fuse: str = os.devnull, **corridor: object) -> None:
        super().__init__(fuse=fuse, **corridor)
        [seen] = self.spec.observations
        bounded = replace(seen, domain=Box(high=(1.0, np.inf)))
        self.spec = replace(self.spec, observations=(bounded,))


class Loose(Corridor):
    """A corridor that says what it can by numbers."""

    def __init__(self, **corridor: object) -> None:
        super().__init__(**corridor)  # type: ignore[arg-type]
        self.standardizes = 1  # type: ignore[assignment]


class Unsaved(Corridor):
    """A corridor that fails to save its states, and adds a mark to the file `asked` each time."""

    def __init__(self, *, asked: str, **corridor: object) -> None:
        super().__init__(**corridor)  # type: ignore[arg-type]
        self.asked = Path(asked)

    def world(self) -> Walk:
        return Forgetful(self)


class Forgetful(Walk):
    def get_state(self) -> bytes:
        with self._corridor.asked.open("a") as asked:  # type: ignore[attr-defined]
            asked.write(".")
        raise RuntimeError("the paper is lost")

    def set_state(self, state: bytes) -> None:
        raise RuntimeError("the paper is lost")


class Faulty(Corridor):
    """A corridor that does what `faults[variant]` says: at the start, or at step 2.

    `raises at start`, `raises`, `nan`, `wrong shape`, `no observation`, `numpy reward`,
    or nothing where it says nothing.
    """

    def __init__(self, *, faults: Sequence[str], **corridor: object) -> None:
        solved = {"walk": [0] * len(faults)}
        super().__init__(**{"solved": solved} | corridor)  # type: ignore[arg-type]
        self.faults = faults

    def world(self) -> Walk:
        return Stumbling(self)


class Stumbling(Walk):
    def start(self, cell: Cell) -> Arrays:
        taken = super().start(cell)
        if self._fault() == "raises at start":
            raise RuntimeError("the door is stuck")
        return taken

    def step(self, action: Arrays) -> Step:
        taken = super().step(action)
        if self._fault() == "numpy reward":
            return replace(taken, reward=np.float32(0.1), success=np.True_)  # type: ignore[arg-type]
        if self._steps != 2:
            return taken
        match self._fault():
            case "raises":
                raise RuntimeError("the floor gave way")
            case "nan":
                return replace(taken, reward=float("nan"))
            case "wrong shape":
                return replace(taken, observation={"observation": np.zeros(3)})
            case "no observation":
                return replace(taken, observation={})
            case _:
                return taken

    def _fault(self) -> str:
        assert self._cell is not None
        faults: Sequence[str] = self._corridor.faults  # type: ignore[attr-defined]
        return faults[self._cell.variant]


class Unrepeatable(Corridor):
    """A corridor whose rewards are its process's id, and whose variant 0 fails at step 3."""

    def world(self) -> Walk:
        return Wandering(self)


class SaysUnrepeatable(Corridor):
    """A corridor that says that it is not repeatable, and whose variant 0 fails at step 3."""

    repeatable = False

    def world(self) -> Walk:
        return Failing(self)


class Failing(Walk):
    def step(self, action: Arrays) -> Step:
        taken = super().step(action)
        assert self._cell is not None
        if self._cell.variant == 0 and self._steps == 3:
            raise RuntimeError("the floor gave way")
        return taken


class Wandering(Failing):
    def step(self, action: Arrays) -> Step:
        return replace(super().step(action), reward=float(os.getpid()))


class Doorbell(Corridor):
    """A corridor that rings at step 3, once, and then waits to be killed.

    Ringing: the file `bell` is removed and the process's id written to the pipe `door`.
    """

    def __init__(self, *, bell: str, door: str, **corridor: object) -> None:
        super().__init__(**corridor)  # type: ignore[arg-type]
        self.bell, self.door = Path(bell), Path(door)

    def world(self) -> Walk:
        return Ringing(self)


class Ringing(Walk):
    def step(self, action: Arrays) -> Step:
        taken = super().step(action)
        bell: Path = self._corridor.bell  # type: ignore[attr-defined]
        if self._steps == 3 and _taken(bell):
            self._corridor.door.write_text(str(os.getpid()))  # type: ignore[attr-defined]
            signal.pause()
        return taken


def _taken(bell: Path) -> bool:
    """Whether it was this process, of several, that took the bell away."""
    try:
        bell.unlink()
    except FileNotFoundError:
        return False
    return True


class Unbuildable:
    """A suite whose making fails."""

    def __init__(self) -> None:
        raise OSError("the plans are lost")


class Houseless(Corridor):
    """A suite that can be made and whose environments cannot."""

    def world(self) -> Walk:
        raise OSError("no bricks")


class Once(Corridor):
    """A corridor that can be built while the file `permit` is there, and uses it up."""

    def __init__(self, *, permit: str, **corridor: object) -> None:
        super().__init__(**corridor)  # type: ignore[arg-type]
        try:
            Path(permit).unlink()
        except FileNotFoundError as error:
            raise OSError("the permit is used up") from error


class Rendezvous(Corridor):
    """A corridor whose steps wait until the agent has come to `folder`, and say that they have."""

    def __init__(self, *, folder: str, **corridor: object) -> None:
        super().__init__(**corridor)  # type: ignore[arg-type]
        self.folder = Path(folder)

    def world(self) -> Walk:
        return Meeting(self)


class Meeting(Walk):
    def step(self, action: Arrays) -> Step:
        assert isinstance(self._corridor, Rendezvous)
        meet(self._corridor.folder, "environment", "agent")
        return super().step(action)


def meet(folder: Path, me: str, other: str) -> None:
    """Come, and wait for the other. Raises TimeoutError if it does not come."""
    (folder / me).touch()
    deadline = time.monotonic() + 10.0
    while not (folder / other).exists():
        if time.monotonic() > deadline:
            raise TimeoutError(f"the {other} has not come")
        time.sleep(0.002)


class Frail(Corridor):
    """A corridor that, as long as the file `fuse` has marks, kills its process or hangs when
    it is built. Each time removes one mark (a byte) first.
    """

    def __init__(self, *, fuse: str, hangs: bool = False, **corridor: object) -> None:
        super().__init__(**corridor)  # type: ignore[arg-type]
        if marks := Path(fuse).stat().st_size:
            os.truncate(fuse, marks - 1)
            if hangs:
                time.sleep(3600.0)
            os.kill(os.getpid(), signal.SIGKILL)


class Slow(Corridor):
    """A corridor whose steps take `pause_s` seconds."""

    def __init__(self, *, pause_s: float, **corridor: object) -> None:
        super().__init__(**corridor)  # type: ignore[arg-type]
        self.pause_s = pause_s

    def world(self) -> Walk:
        return Strolling(self)


class Strolling(Walk):
    def step(self, action: Arrays) -> Step:
        time.sleep(self._corridor.pause_s)  # type: ignore[attr-defined]
        return super().step(action)


class Hanging(Corridor):
    """A corridor that hangs at step 3, as long as the file `fuse` has marks.

    Each time removes one mark (a byte) first. It hangs as `how` says: `sleep`, or `catch`, which
    catches one exception, also Ctrl-C's, makes the file `fuse`.caught, and hangs on.
    """

    def __init__(self, *, fuse: str, how: str = "sleep", **corridor: object) -> None:
        super().__init__(**corridor)  # type: ignore[arg-type]
        self.fuse = Path(fuse)
        self.how = how

    def world(self) -> Walk:
        return Stuck(self)


class Stuck(Walk):
    def step(self, action: Arrays) -> Step:
        taken = super().step(action)
        assert isinstance(self._corridor, Hanging)
        if self._steps == 3 and (marks := self._corridor.fuse.stat().st_size):
            self._hang(self._corridor, marks - 1)
        return taken

    @staticmethod
    def _hang(corridor: Hanging, left: int) -> None:
        """Do not come back."""
        if corridor.how == "catch":
            with contextlib.suppress(BaseException):
                os.truncate(corridor.fuse, left)
                time.sleep(3600.0)
            corridor.fuse.with_suffix(".caught").touch()
        else:
            os.truncate(corridor.fuse, left)
        time.sleep(3600.0)
