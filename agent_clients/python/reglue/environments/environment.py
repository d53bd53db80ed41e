"""The environment's side of RL-Glue, over slots.

`Environment.play` is the primitive: one exchange over all slots. `env_start` and
`env_step` (RL-Glue's names) are what an environment of many slots writes. Most people
write a `World` (`reglue.environments.world`), which plays one episode at a time: `Worlds`
(`reglue.environments.slot_worlds`) makes an Environment of it.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from reglue.environments.validation import (
    DomainCheck,
    conforming_array,
    conforming_observation,
)
from reglue.error_message import printable
from reglue.errors import NotAnEnvironment, NotSupported
from reglue.messages.environment_messages import Cell, Play, Played, Slots
from reglue.spec import Array, Arrays, TaskSpec
from reglue.tracebacks import explained

log = logging.getLogger("reglue")

_MOST_CHARACTERS = 4096  # of a fault's text: the protocol's limit


@dataclass(frozen=True, slots=True)
class Earned:
    """The result of `env_step`: rows in the order of its slots. Flags may be one for all."""

    rewards: npt.ArrayLike  # (P,), task units, finite
    observations: Mapping[str, npt.ArrayLike]  # name -> (P, *shape)
    terminated: npt.ArrayLike = False  # (P,): the task ended
    truncated: npt.ArrayLike = False  # (P,): time ran out
    success: npt.ArrayLike = False  # (P,): the task's flag; agents do not see it


class StandardRandomness:
    """Numbers starts: the n-th draws from `reglue.rng.Rng(seed, n)`."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._starts = 0  # so far

    def next(self, cell: Cell) -> Cell:
        """`cell` as the next start plays it."""
        self._starts += 1
        return replace(cell, seed=self._seed, repeat=self._starts - 1)


class Environment:
    """Derive from it and write `env_init`, `env_start` and `env_step`, or `play`.

    Actions are a dict of named arrays with one row for each slot, `(rows, *shape)`. Return
    observations in the same form; they are cast to the spec's dtypes. An episode is a function of
    its cell and actions, and does not depend on earlier episodes. `self.spec` is the TaskSpec that
    `env_init` returned, with the number of slots that are played.

    An exception is a fault of the slots that were played, and their episodes are played again. If
    what the environment needs is gone for good, such as a server, raise reglue.EnvironmentLost: the
    run ends then, and can be resumed.
    """

    spec: TaskSpec

    max_slots = 0
    """The most slots that it can play at once; 0 means any number."""

    portable = False
    """True if another process of this environment can set a state from this one."""

    tells_success = True
    """False if its episodes never report success: the score is then the mean return."""

    raw_actions = False
    """True if it takes actions outside a Box; otherwise Reglue clips them before."""

    whole_turns = True
    """True if a step may move every slot, as a simulator of a whole batch does: Reglue then steps
    all episodes in one call. False if nothing happens in slots that a call does not name, also if
    the call fails: agents of `partial_turns` are then asked about some slots while others step,
    and an episode that failed is played again alone.
    """

    separate_slots = False
    """True if slots share nothing, such as a connection for each, and a slot that failed begins
    anew at its next start. A run then begins without the check that slots do not change each other,
    and a worker process stays when one of its slots fails.
    """

    repeatable = True
    """False if its cells do not decide its episodes: it draws random numbers of its own. Scores of
    it cannot be repeated; `evaluate` says so, and plays it. An episode that failed is not played
    again.
    """

    nullable: Collection[str] = ()
    """Names of observations of floats in which NaN stands for a missing value: it is not counted as
    outside of their Box. `env_init` may set it.
    """

    is_replacement = False
    """True, before `env_init`, if its process replaces one that has died: what was there before,
    such as a server, may be away for a while and is worth waiting for.
    """

    @property
    def variants(self) -> Mapping[str, int]:
        """The number of variants of each task, in the order of tasks."""
        return {"task": 1}

    @property
    def restores(self) -> bool:
        """True if states can be saved and restored."""
        return type(self).env_get_state is not Environment.env_get_state

    @property
    def seeds(self) -> bool:
        """True if random states can be saved and restored."""
        return type(self).env_get_random_seed is not Environment.env_get_random_seed

    @property
    def standardizes(self) -> bool:
        """True if `env_standardize_randomness` is supported."""
        cls = type(self)
        return cls.env_standardize_randomness is not Environment.env_standardize_randomness

    def env_init(self, slots: int) -> TaskSpec:
        """Reset, with no episode in any slot; returns the task."""
        raise NotImplementedError

    def env_start(self, cells: Mapping[int, Cell]) -> Mapping[str, npt.ArrayLike]:
        """Begin an episode in each slot; returns first observations in the order of `cells`.

        Nothing happens in the other slots, also with `whole_turns`.
        """
        raise NotImplementedError

    def env_step(self, actions: Arrays, slots: Slots) -> Earned:
        """Take one step in each of `slots`, which are all that have an episode with `whole_turns`.
        Without, nothing happens in the other slots.

        Actions are legal values of their domains; with `raw_actions` finite numbers may lie
        outside of a Box.
        """
        raise NotImplementedError

    def env_get_state(self, slot: int) -> bytes:
        """The slot's whole state, as opaque bytes. Raises OutOfOrder without an episode."""
        raise NotSupported(got="env_get_state", wanted="an environment that saves states")

    def env_set_state(self, slot: int, state: bytes) -> None:
        """Continue from `state`, to the bit. Raises UnknownKey for a state of another
        environment."""
        raise NotSupported(got="env_set_state", wanted="an environment that saves states")

    def env_get_random_seed(self, slot: int) -> bytes:
        """The state of the slot's generators. Raises OutOfOrder without an episode."""
        raise NotSupported(
            got="env_get_random_seed", wanted="an environment that saves its random state"
        )

    def env_set_random_seed(self, slot: int, seed: bytes) -> None:
        """Set the state of the slot's generators. Raises UnknownKey."""
        raise NotSupported(
            got="env_set_random_seed", wanted="an environment that saves its random state"
        )

    def env_standardize_randomness(self, seed: int) -> None:
        """From now on the n-th start draws from `reglue.rng.Rng(seed, n)`."""
        raise NotSupported(
            got="env_standardize_randomness", wanted="an environment that standardizes"
        )

    def env_message(self, message: str) -> str:
        """The answer to a message of the benchmark program."""
        return ""

    def env_cleanup(self) -> None:
        """Release what `env_init` took."""

    def play(self, play: Play) -> Played:
        """Take all steps of a Play, then begin its starts."""
        steps, starts = len(play.slots), len(play.starts)
        earned: object = self.env_step(play.actions, play.slots) if steps else Earned((), {})
        if not isinstance(earned, Earned):
            wanted = "reglue.Earned(rewards, observations, …)"
            raise NotAnEnvironment(f"env_step() returned {earned!r}, wanted {wanted}")
        first = self.env_start(play.starts) if starts else {}
        parts = [
            conforming_observation(part, self.spec, (count,))
            for part, count in ((earned.observations, steps), (first, starts))
            if count
        ]
        observations = _joined(self.spec, parts)
        slots = np.array([*play.slots.tolist(), *play.starts]) if starts else play.slots
        return Played(
            rewards=_column("rewards", earned.rewards, steps, "float64"),
            observations=observations,
            terminated=_column("terminated", earned.terminated, steps, "bool"),
            truncated=_column("truncated", earned.truncated, steps, "bool"),
            success=_column("success", earned.success, steps, "bool"),
            faults=self._domains.mistakes(observations, slots),
            outside=self._domains.outside_last,
            is_fresh=True,
        )

    @property
    def _domains(self) -> DomainCheck:
        """The checks of the present spec, made here: subclasses need not call a constructor."""
        check: DomainCheck | None = self.__dict__.get("_domain_check")
        if check is None or (check.spec is not self.spec and check.spec != self.spec):
            check = self._domain_check = DomainCheck(self.spec, self.nullable)
        check.spec = self.spec  # an equal one after another `init`: it counts on
        return check


def fault_text(error: BaseException) -> str:
    """An environment's error and where its author's code raised it, at most 4096 characters.

    For an answer that does not fit the TaskSpec it is the message alone.
    """
    if isinstance(error, NotAnEnvironment):
        return printable(str(error)[:_MOST_CHARACTERS])
    return printable(explained(error)[-_MOST_CHARACTERS:])


def _joined(spec: TaskSpec, parts: Sequence[Arrays]) -> Arrays:
    if len(parts) == 1:
        return parts[0]
    return {
        tensor.name: np.concatenate([part[tensor.name] for part in parts] or [tensor.empty(0)])
        for tensor in spec.observations
    }


def _column(name: str, values: object, rows: int, dtype: str) -> Array:
    """A copy of `values`, (rows,); one value stands for all rows."""
    if isinstance(values, bool) and dtype == "bool":  # as an Earned has by default
        return np.full(rows, values, dtype)
    column = conforming_array(f"env_step's {name}", values, np.dtype(dtype))
    if column.shape == (rows,):
        return column.copy()
    if column.shape not in ((), (1,)):
        raise NotAnEnvironment(
            f"env_step's {name}", got=f"rows {column.shape}", wanted=f"({rows},)"
        )
    return np.full(rows, column.item(), column.dtype)
