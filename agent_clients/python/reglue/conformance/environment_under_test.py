"""The environment for `reglue conformance environment`."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from reglue.conformance.rule import (
    START,
    Bytes,
    Commands,
    ToldToFail,
    draw,
    elements,
    fold,
    number_bytes,
    tensor_bytes,
)
from reglue.conformance.words import spec_of_text
from reglue.environments.environment import Earned, Environment
from reglue.errors import OutOfOrder, UnknownKey
from reglue.messages.agent_messages import Phase
from reglue.messages.environment_messages import Cell, Play, Played, Slots
from reglue.spec import Array, Arrays, TaskSpec, TensorSpec

_DEFAULT = TaskSpec((TensorSpec("observation", "float64"),), (TensorSpec("action", "float64"),))

_EARNED = (TensorSpec("/reward", "float64"), TensorSpec("/success", "bool"))
"""Tensors that a memory makes after the observations."""

_STATE = struct.Struct("<5sIIII??")
_SEED = struct.Struct("<6sI")


class ConformanceEnvironment(Environment):
    """Makes every observation from its episode's cell and actions."""

    portable = True
    whole_turns = False

    def __init__(self) -> None:
        self._plays = _DEFAULT
        self._episodes: dict[int, _Episode] = {}  # by slot
        self._standard: tuple[int, int] | None = None  # seed, starts so far
        self._failing: int | None = None  # slot, in the next Play
        self._commands = Commands(
            *"init start step get_state set_state get_random_seed set_random_seed".split(),
            *"standardize_randomness message cleanup".split(),
        )

    @property
    def variants(self) -> Mapping[str, int]:
        """Two tasks."""
        return {"first": 4, "second/één": 1}

    def env_init(self, slots: int) -> TaskSpec:
        """The task of the last `play`, in that many slots."""
        self._commands.count("init")
        self._episodes, self._standard, self._failing = {}, None, None
        return self._plays.with_slots(slots)

    def env_start(self, cells: Mapping[int, Cell]) -> Mapping[str, npt.ArrayLike]:
        """Take in cells."""
        self._commands.count("start", len(cells))
        for slot, cell in cells.items():
            self._episodes[slot] = _Episode.of(self._numbered(cell))
        return self._move([*cells], [])

    def env_step(self, actions: Arrays, slots: Slots) -> Earned:
        """Take in actions."""
        self._commands.count("step", len(slots))
        for slot in slots.tolist():
            episode = self._on(slot, "env_step")
            self._episodes[slot] = replace(episode, steps=episode.steps + 1)
        values = self._move(slots.tolist(), tensor_bytes(self.spec.actions, actions, len(slots)))
        episodes = [self._episodes[slot] for slot in slots.tolist()]
        is_last = np.array([each.steps == each.length for each in episodes])
        times_out = np.array([each.times_out for each in episodes])
        is_solved = values["/success"] & np.array([each.is_judged for each in episodes])
        for slot in slots[is_last | is_solved].tolist():
            del self._episodes[slot]
        return Earned(
            values["/reward"],
            values,
            terminated=is_last & ~times_out | is_solved,
            truncated=is_last & times_out,
            success=values["/success"],
        )

    def env_get_state(self, slot: int) -> bytes:
        """The whole episode."""
        state = self._on(slot, "env_get_state").to_bytes()
        self._commands.count("get_state")
        return state

    def env_set_state(self, slot: int, state: bytes) -> None:
        """Restore an episode."""
        self._episodes[slot] = _Episode.from_bytes(state)
        self._commands.count("set_state")

    def env_get_random_seed(self, slot: int) -> bytes:
        """The episode's rng."""
        rng = self._on(slot, "env_get_random_seed").rng
        self._commands.count("get_random_seed")
        return _SEED.pack(b"random", rng)

    def env_set_random_seed(self, slot: int, seed: bytes) -> None:
        """Restore an rng."""
        episode = self._on(slot, "env_set_random_seed")
        if len(seed) != _SEED.size or not seed.startswith(b"random"):
            raise UnknownKey(got=f"{len(seed)} bytes", wanted="what env_get_random_seed gave")
        self._episodes[slot] = replace(episode, rng=_SEED.unpack(seed)[1])
        self._commands.count("set_random_seed")

    def env_standardize_randomness(self, seed: int) -> None:
        """Number the starts from now on."""
        self._commands.count("standardize_randomness")
        self._standard = (seed, 0)

    def env_message(self, message: str) -> str:
        """Carry out a command."""
        self._commands.count("message")
        first, _, lines = message.partition("\n")
        match first.split(" "):
            case ["play"]:
                self._plays = spec_of_text(lines)
            case ["fail", slot]:
                self._failing = int(slot)
        return self._commands.answer(message)

    def env_cleanup(self) -> None:
        """End all episodes."""
        self._commands.count("cleanup")
        self._episodes = {}

    def play(self, play: Play) -> Played:
        """Do what the routines do, unless a slot must fail."""
        played = super().play(play)
        failing = self._failing
        if failing is None or failing not in {*play.slots.tolist(), *play.starts}:
            return played
        self._failing = None
        self._episodes.pop(failing, None)
        return replace(played, faults={failing: str(ToldToFail())})

    def _numbered(self, cell: Cell) -> Cell:
        if self._standard is None:
            return cell
        seed, starts = self._standard
        self._standard = (seed, starts + 1)
        return replace(cell, seed=seed, repeat=starts)

    def _on(self, slot: int, routine: str) -> _Episode:
        if slot not in self._episodes:
            raise OutOfOrder(got=f"{routine} in slot {slot}", wanted="env_start there first")
        return self._episodes[slot]

    def _move(self, slots: list[int], blocks: list[Bytes]) -> dict[str, Array]:
        """Let episodes take in their rows of bytes and their rng; returns what they show."""
        episodes = [self._episodes[slot] for slot in slots]
        rng = np.array([each.rng for each in episodes], np.uint32)
        memory = np.array([each.memory for each in episodes], np.uint32)
        memory = fold(memory, *blocks, number_bytes(rng, "<u4"))
        later = draw(rng, np.ones(1, np.uint32))[:, 0]
        moved = zip(slots, episodes, memory.tolist(), later.tolist(), strict=True)
        for slot, episode, taken, drawn in moved:
            self._episodes[slot] = replace(episode, memory=taken, rng=drawn)
        return elements(memory, (*self.spec.observations, *_EARNED))


@dataclass(frozen=True, slots=True)
class _Episode:
    """One slot's episode; all but the first two follow from its cell."""

    memory: int
    rng: int
    steps: int
    length: int  # steps
    times_out: bool  # truncated at its length, else terminated
    is_judged: bool  # success ends it

    @staticmethod
    def of(cell: Cell) -> _Episode:
        """An episode before its first observation."""
        name = cell.task.encode() + cell.variant.to_bytes(4, "little") + bytes([cell.phase])
        steps = cell.steps.to_bytes(8, "little")
        numbers = cell.seed.to_bytes(8, "little") + cell.repeat.to_bytes(8, "little")
        return _Episode(
            memory=_folded(name + steps),
            rng=_folded(numbers),
            steps=0,
            length=2 + cell.seed % 6,
            times_out=cell.variant % 2 == 1,
            is_judged=cell.phase is Phase.EVALUATE,
        )

    @staticmethod
    def from_bytes(state: bytes) -> _Episode:
        """The episode of bytes that `to_bytes` gave. Raises UnknownKey for other bytes."""
        if len(state) != _STATE.size or not state.startswith(b"state"):
            raise UnknownKey(got=f"{len(state)} bytes", wanted="what env_get_state gave")
        return _Episode(*_STATE.unpack(state)[1:])

    def to_bytes(self) -> bytes:
        """The whole episode, encoded."""
        numbers = (self.memory, self.rng, self.steps, self.length)
        return _STATE.pack(b"state", *numbers, self.times_out, self.is_judged)


def _folded(block: bytes) -> int:
    row = np.frombuffer(block, np.uint8)[None]
    return int(fold(np.array([START], np.uint32), row)[0])
