"""The environment's side of RL-Glue, over slots.

`Environment.play` is the primitive: one exchange over all slots. `env_start` and
`env_step` (RL-Glue's names) are what an environment of many slots writes. Most people
write a `World` (`reglue.environments.world`), which plays one episode at a time: `Worlds` makes an
Environment of it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from reglue.environments.validation import (
    DomainCheck,
    conforming_array,
    conforming_observation,
    conforming_row,
    conforming_spec,
    conforming_step,
    say_unknown_names,
)
from reglue.environments.world import (
    Messaged,
    Restorable,
    Seeded,
    Step,
    Suite,
    World,
    close_suite,
)
from reglue.errors import (
    IllegalAction,
    NotAnEnvironment,
    NotSupported,
    OutOfOrder,
    RoutineRefused,
    UnknownKey,
    UsageError,
    printable,
    raise_interrupt,
)
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
    """True if slots share nothing, such as a connection for each: whether they leave each other
    alone is then not tried before a run.
    """

    repeatable = True
    """False if its cells do not decide its episodes: it draws random numbers of its own. Scores of
    it cannot be repeated; `evaluate` says so, and plays it.
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
            check = self._domain_check = DomainCheck(self.spec)
        check.spec = self.spec  # an equal one after another `init`: it counts on
        return check


@runtime_checkable
class RowWorld(World, Protocol):
    """A world that takes actions of a form of its own, and writes its rows itself.

    So the actions of a turn are checked and made ready together, and no row is copied twice.
    """

    def writes(self, spec: TaskSpec) -> bool:
        """Whether its rows are those of `spec`."""

    def values(self, actions: Arrays) -> Sequence[Any]:
        """Rows of actions, (rows, *shape), as `step_into` of any world of the suite takes them.

        Raises IllegalAction unless all are legal: then `step` says which is not.
        """

    def step_into(self, answer: Played, at: int, action: Any) -> None:
        """As `step`, into a row of `answer` whose reward and flags are zeros.

        Raises NotAnEnvironment, too, for what does not fit the spec.
        """


class Worlds(Environment):
    """Plays one world in each slot; its suite makes a world when the slot is first used.

    An error in one world is a fault of its slot; the other slots continue. A world that failed is
    closed, and another one made for the slot's next start.
    """

    portable = True

    whole_turns = False

    raise_stop: Callable[[BaseException], None] = staticmethod(raise_interrupt)
    """Raises an error that is no fault of a world: in a process of its own SystemExit, too."""

    def __init__(self, suite: Suite) -> None:
        self.tells_success = bool(getattr(suite, "tells_success", True))
        self.max_slots = int(getattr(suite, "max_slots", self.max_slots))
        self.raw_actions = bool(getattr(suite, "raw_actions", self.raw_actions))
        self.repeatable = bool(getattr(suite, "repeatable", self.repeatable))
        self._suite = suite
        self._is_open = True
        self._worlds: dict[int, World] = {}
        self._write_themselves: bool | None = None  # all of them; None: not known yet
        self._has_tasks = True  # of which one may be played beside another
        self._tasks: dict[int, str] = {}  # of each slot's last start
        self._standard: StandardRandomness | None = None

    @property
    def variants(self) -> Mapping[str, int]:
        return self._suite.variants

    @property
    def restores(self) -> bool:
        return self._are(Restorable)

    @property
    def seeds(self) -> bool:
        return self._are(Seeded)

    @property
    def standardizes(self) -> bool:
        return self._suite.standardizes

    @property
    def reports_success(self) -> bool:
        """Whether a world's environment has reported success, or that there was none, so far."""
        return any(getattr(world, "reports_success", False) for world in self._worlds.values())

    def env_init(self, slots: int) -> TaskSpec:
        self._close_worlds()
        self._is_open = True
        self._standard = None
        self._has_tasks = len(self.variants) > 1
        return conforming_spec(self._suite.spec).with_slots(slots)

    def play(self, play: Play) -> Played:
        """Step and start the worlds one after another, ordered by task: worlds of one task may
        share memory, which then stays in the processor's cache.
        """
        return self.play_into(Played.blank(self.spec, play, is_fresh=True), play)

    def play_into(self, answer: Played, play: Play, rows: Sequence[int] | None = None) -> Played:
        """As `play`, into the arrays of `answer`; returns it with the faults.

        Args:
            rows: The answer's rows in those arrays, steps first; by default in order.
                Their rewards and flags are zeros. Rows of slots that failed become zeros.
        """
        slots = [*play.slots.tolist(), *play.starts]
        at = rows or range(len(slots))
        faults: dict[int, str] = {}
        illegal = self._step(play, slots, answer, at, faults)
        if play.starts:
            self._start(play, answer, at[len(play.slots) :], faults)
        if faults:
            failed = [at[row] for row, slot in enumerate(slots) if slot in faults]
            for values in answer.observations.values():
                values[failed] = 0
        domains = self._domains
        mistakes = domains.mistakes(answer.observations, slots, faults, rows=rows)
        for slot in mistakes:
            self._discard(slot)
        if not (faults or mistakes or domains.outside_last):
            return answer
        return replace(
            answer,
            faults=faults | mistakes,
            illegal=frozenset(illegal),
            outside=domains.outside_last,
        )

    def _step(
        self,
        play: Play,
        slots: Sequence[int],
        answer: Played,
        at: Sequence[int],
        faults: dict[int, str],
    ) -> set[int]:
        """Step the worlds, and write what they earn to the rows `at`.

        Adds to `faults`; returns the slots whose action was illegal.
        """
        illegal, worlds = set[int](), self._worlds
        write_themselves, actions = self._actions(play)
        for row in self._by_task(slots[: len(play.slots)]):
            slot = slots[row]
            try:
                world = worlds.get(slot)
                if world is None:
                    raise OutOfOrder(got=f"env_step in slot {slot}", wanted="env_start there first")
                if write_themselves:
                    world.step_into(answer, at[row], actions[row])  # type: ignore[attr-defined]
                else:
                    self._earn(answer, at[row], conforming_step(world.step(actions[row])))
            except IllegalAction as error:
                faults[slot] = str(error)
                illegal.add(slot)
            except BaseException as error:  # noqa: BLE001 - the edge of somebody's world
                faults[slot] = self._fault(error)
                self._discard(slot)
        return illegal

    def _start(self, play: Play, answer: Played, at: Sequence[int], faults: dict[int, str]) -> None:
        """Begin the episodes, and write what they begin with to the rows `at`."""
        for row, (slot, cell) in zip(at, play.starts.items(), strict=True):
            try:
                numbered = cell if self._standard is None else self._standard.next(cell)
                self._tasks[slot] = cell.task
                first = self._world_of(slot).start(numbered)
                self._keep(answer, row, first)
                if len(first) > len(self.spec.observations):
                    say_unknown_names(first, [each.name for each in self.spec.observations])
            except BaseException as error:  # noqa: BLE001 - the edge of somebody's world
                faults[slot] = self._fault(error)
                self._discard(slot)

    def _by_task(self, slots: Sequence[int]) -> Sequence[int]:
        """The rows of slots that step, those of one task one after another."""
        if len(slots) == 1 or not self._has_tasks:
            return range(len(slots))
        tasks = [self._tasks.get(slot, "") for slot in slots]
        return sorted(range(len(slots)), key=tasks.__getitem__)

    def _actions(self, play: Play) -> tuple[bool, Sequence[Any]]:
        """True if the worlds write their rows, and the action of each row."""
        if self._write_themselves is None:
            worlds = self._worlds.values()
            self._write_themselves = bool(worlds) and all(
                isinstance(world, RowWorld) and world.writes(self.spec) for world in worlds
            )
        if self._write_themselves and self._worlds and play.actions:
            any_world: Any = next(iter(self._worlds.values()))
            with suppress(IllegalAction):  # `step` says which row is not legal
                return True, any_world.values(play.actions)
        rows = zip(*play.actions.values(), strict=True)
        return False, [dict(zip(play.actions, row, strict=True)) for row in rows]

    def _earn(self, answer: Played, at: int, step: Step) -> None:
        """Keep what an action earned in a row of `answer`."""
        self._keep(answer, at, step.observation)
        answer.rewards[at] = step.reward
        if step.terminated:
            answer.terminated[at] = True
        if step.truncated:
            answer.truncated[at] = True
        if step.success:
            answer.success[at] = True

    def _keep(self, answer: Played, at: int, observation: Arrays) -> None:
        # Copied at once: the worlds of a suite may share the array that they return.
        for tensor in self.spec.observations:
            answer.observations[tensor.name][at] = conforming_row(observation, tensor, self.spec)

    def _discard(self, slot: int) -> None:
        """Close the slot's world, which failed: its later episodes could be wrong."""
        if (world := self._worlds.pop(slot, None)) is not None:
            try:
                world.close()
            except BaseException as error:  # the edge of somebody's world
                self.raise_stop(error)
                log.debug("a world that failed was not closed", exc_info=error)

    def env_get_state(self, slot: int) -> bytes:
        state: bytes = self._routine(slot, Restorable, OutOfOrder, "get_state")
        return state

    def env_set_state(self, slot: int, state: bytes) -> None:
        self._routine(slot, Restorable, UnknownKey, "set_state", state)

    def env_get_random_seed(self, slot: int) -> bytes:
        seed: bytes = self._routine(slot, Seeded, OutOfOrder, "get_random_seed")
        return seed

    def env_set_random_seed(self, slot: int, seed: bytes) -> None:
        self._routine(slot, Seeded, UnknownKey, "set_random_seed", seed)

    def _routine(
        self, slot: int, able: type, refusal: type[RoutineRefused], name: str, *arguments: bytes
    ) -> Any:
        """Call the routine of the slot's world, if that is `able`; its UsageError becomes a
        refusal.
        """
        world, routine = self._world_of(slot), f"env_{name}"
        if not isinstance(world, able):
            return getattr(super(), routine)(slot, *arguments)
        try:
            return getattr(world, name)(*arguments)
        except RoutineRefused:
            raise
        except UsageError as error:
            raise refusal(got=routine, wanted=str(error)) from error

    def env_standardize_randomness(self, seed: int) -> None:
        """Number the starts: the n-th cell gets this seed and repeat n."""
        if not self._suite.standardizes:
            super().env_standardize_randomness(seed)
        self._standard = StandardRandomness(seed)

    def env_message(self, message: str) -> str:
        """The answer of the first world that is there; empty if worlds do not answer messages.

        Slot 0's is there at any time, another slot's from its first start on. Each gets the
        message. One that is made later has not got it, and neither has one that plays an episode
        again in place of a world that failed.
        """
        worlds = {0: self._world_of(0)} | self._worlds
        answers = [
            world.message(message)
            for _, world in sorted(worlds.items())
            if isinstance(world, Messaged)
        ]
        return answers[0] if answers else ""

    def world(self, slot: int) -> World:
        """The world that plays in a slot."""
        return self._world_of(slot)

    def env_cleanup(self) -> None:
        """Close every world, then their suite, also if one of them fails."""
        is_open, self._is_open = self._is_open, False
        with ExitStack() as closing:
            if is_open:
                closing.callback(close_suite, self._suite)
            closing.callback(self._close_worlds)

    def _close_worlds(self) -> None:
        worlds, self._worlds = self._worlds, {}
        with ExitStack() as closing:
            for world in reversed(worlds.values()):
                closing.callback(world.close)

    def _are(self, kind: type) -> bool:
        """Whether its worlds are of a kind. False if no world can be made: the start's fault says
        why.
        """
        try:
            return isinstance(self._world_of(0), kind)
        except BaseException as error:  # noqa: BLE001 - the edge of somebody's world
            self.raise_stop(error)
            return False

    def _world_of(self, slot: int) -> World:
        if slot not in self._worlds:
            self._worlds[slot] = self._suite.world()
            self._write_themselves = None
        return self._worlds[slot]

    def _fault(self, error: BaseException) -> str:
        self.raise_stop(error)
        return fault_text(error)


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


def _column(name: str, values: npt.ArrayLike, rows: int, dtype: str) -> Array:
    """A copy of `values`, (rows,); one value stands for all rows."""
    column = conforming_array(f"env_step's {name}", values, np.dtype(dtype))
    if column.shape == (rows,):
        return column.copy()
    if column.shape not in ((), (1,)):
        raise NotAnEnvironment(
            f"env_step's {name}", got=f"rows {column.shape}", wanted=f"({rows},)"
        )
    return np.full(rows, column.item(), column.dtype)
