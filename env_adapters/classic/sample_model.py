"""Environments as sample models, and the World that plays them; states can be saved."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from env_adapters.states import seal, unseal
from reglue.environments.world import Step
from reglue.errors import BadArgument, UnknownName, UsageError
from reglue.messages.environment_messages import Cell
from reglue.rng import Rng
from reglue.spec import Arrays, Discrete, TaskSpec

State = TypeVar("State", bound=tuple[float, ...])
"""The state of an environment: a NamedTuple of numbers."""


class Transition(NamedTuple, Generic[State]):
    """The result of one action."""

    state: State
    reward: float
    terminated: bool = False
    success: bool = False


class SampleModel(Protocol[State]):
    """An environment as pure functions of its state and a random generator.

    Models that play differently must differ in their `repr`, which marks saved states.
    """

    @property
    def spec(self) -> TaskSpec:
        """The task; it has one action tensor, `action`, of integers from 0."""

    @property
    def variants(self) -> Mapping[str, int]:
        """The number of variants of each task."""

    @property
    def state_format(self) -> str:
        """The state's numbers as a format of `struct`, little-endian."""

    def begin(self, rng: Rng) -> State:
        """The first state of an episode."""

    def move(self, state: State, action: int, rng: Rng) -> Transition[State]:
        """The result of a legal action."""

    def observe(self, state: State) -> Arrays:
        """The observation of a state."""

    def recall(self, *numbers: Any) -> State:
        """The state of these numbers. Raises ValueError if no running episode can have it."""


@dataclass(slots=True)
class _Episode(Generic[State]):
    rng: Rng
    state: State
    steps: int = 0


class ClassicWorld(Generic[State]):
    """A World that is Restorable and Seeded; see reglue.environments.world.

    An episode draws from `Rng(cell.seed, cell.repeat)` alone.
    """

    def __init__(self, model: SampleModel[State]) -> None:
        self._model = model
        self._horizon = model.spec.horizon
        domain = model.spec.actions[0].domain
        assert isinstance(domain, Discrete)
        self._actions = domain.n
        self._mark = f"reglue.classic.state.1 {model!r}\n".encode()
        self._numbers = struct.Struct(model.state_format)
        self._episode: _Episode[State] | None = None

    def start(self, cell: Cell) -> Arrays:
        """Begin the cell's episode. Raises UsageError; the previous episode then goes on."""
        variants = self._model.variants
        if cell.task not in variants:
            raise UnknownName("task in this suite", cell.task, variants)
        if not 0 <= cell.variant < variants[cell.task]:
            wanted = f"0 to {variants[cell.task] - 1}"
            raise BadArgument(cell.task, got=f"variant {cell.variant}", wanted=wanted)
        rng = Rng(cell.seed, cell.repeat)
        self._episode = _Episode(rng, self._model.begin(rng))
        return self._model.observe(self._episode.state)

    def step(self, action: Arrays) -> Step:
        """Take one step. Raises UsageError, with nothing changed, for an illegal action."""
        episode = self._live()
        transition = self._model.move(episode.state, self._read_action(action), episode.rng)
        episode.state = transition.state
        episode.steps += 1
        terminated = transition.terminated
        truncated = not terminated and episode.steps == self._horizon
        if terminated or truncated:
            self.close()
        observation = self._model.observe(transition.state)
        return Step(transition.reward, observation, terminated, truncated, transition.success)

    def get_state(self) -> bytes:
        """Mark, checksum, steps taken, the generator's state, and the state's numbers."""
        episode = self._live()
        steps = episode.steps.to_bytes(_STEPS, "little")
        body = steps + episode.rng.to_bytes() + self._numbers.pack(*episode.state)
        return seal(self._mark, body)

    def set_state(self, state: bytes) -> None:
        """Leave the present episode for the one in `state`.

        Raises UsageError, with nothing changed, for a damaged state or another
        environment's.
        """
        body = unseal(self._mark, state, f"a state of {self._model!r}")
        try:
            self._episode = self._read(body)
        except (struct.error, ValueError) as error:
            raise BadArgument(f"got a state that cannot be of {self._model!r}: {error}") from error

    def get_random_seed(self) -> bytes:
        """The state of the episode's generator, as from `Rng.to_bytes`."""
        return self._live().rng.to_bytes()

    def set_random_seed(self, seed: bytes) -> None:
        """Set the generator's state. Raises UsageError with nothing changed."""
        self._live().rng = Rng.from_bytes(seed)

    def close(self) -> None:
        """End the episode; `start` may still be called."""
        self._episode = None

    def _live(self) -> _Episode[State]:
        if self._episode is None:
            raise UsageError("no episode is running; call start first")
        return self._episode

    def _read_action(self, action: Arrays) -> int:
        number = np.asarray(action.get("action"))
        if number.shape != () or number.dtype.kind not in "iu" or not 0 <= number < self._actions:
            raise BadArgument(
                got=f"the action {number.tolist()}", wanted=f"0 to {self._actions - 1}"
            )
        return int(number)

    def _read(self, body: bytes) -> _Episode[State]:
        steps_bytes, rest = _split(body, _STEPS)
        rng, numbers = _split(rest, len(Rng(0).to_bytes()))
        steps = int.from_bytes(steps_bytes, "little")
        if self._horizon and steps >= self._horizon:
            raise ValueError(f"{steps} steps of {self._horizon} are taken")
        state = self._model.recall(*self._numbers.unpack(numbers))
        return _Episode(Rng.from_bytes(rng), state, steps)


_STEPS = 8  # bytes


def _split(data: bytes, size: int) -> tuple[bytes, bytes]:
    return data[:size], data[size:]
