"""Plays worlds, one episode each, as the slots of an Environment."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from typing import Any, Protocol, runtime_checkable

from reglue.environments.environment import Environment, StandardRandomness, fault_text
from reglue.environments.validation import (
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
    EnvironmentLost,
    IllegalAction,
    OutOfOrder,
    RoutineRefused,
    UnknownKey,
    UsageError,
    raise_interrupt,
)
from reglue.messages.environment_messages import Play, Played
from reglue.spec import Arrays, TaskSpec

log = logging.getLogger("reglue")


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
    closed, and another one made for the slot's next start. EnvironmentLost ends all of them.
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
        """An error of a world in words; EnvironmentLost is raised."""
        self.raise_stop(error)
        if isinstance(error, EnvironmentLost):
            raise error
        return fault_text(error)
