"""Tests whether each episode of an environment is a function of its cell and actions, to the bit.

RL-Glue 1.0's env_standardize_randomness asks for randomness that does not depend on earlier
episodes. The test plays the same episodes after different histories. If the environment can save
and restore its state or its random generator, the test does that in the middle of episodes too.
No observation, reward or flag may differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from env_adapters.slot_checks import check_slots
from env_adapters.suite_names import check_suite
from reglue.action_masks import sample_action
from reglue.environments.environment import Environment
from reglue.environments.world import Restorable, Seeded, Step, Suite, World
from reglue.error_message import brief
from reglue.errors import NotDeterministic
from reglue.messages.agent_messages import Phase
from reglue.messages.environment_messages import Cell
from reglue.rng import Rng
from reglue.spec import Arrays

Frame: TypeAlias = Mapping[str, npt.NDArray[Any]]
"""Copies of the results of a start or step, by field."""


def check_determinism(
    suite: Suite | Environment,
    *,
    cells: Sequence[Cell] = (),
    episodes: int = 4,
    steps: int = 40,
    seed: int = 0,
    is_alone: bool = False,
) -> None:
    """Play the same episodes after different histories, and compare them.

    All worlds of a suite must play equal episodes for equal cells. Worlds that are Restorable or
    Seeded must restore states and random seeds exactly. This is no proof: episodes that were not
    played may still differ.

    Args:
        suite: Makes the worlds. Of a `reglue.Environment` it tests only whether slots leave
            each other alone, as it says (see `whole_turns`).
        cells: The episodes to play; by default `episodes` random cells.
        episodes: The number of random cells.
        steps: The most actions in an episode; all are random.
        seed: Determines the random cells and actions.
        is_alone: Play in one world at a time, and compare no episodes beside another world.

    Raises:
        NotDeterministic: The first difference.
        NotAnEnvironment: `suite` is no suite, or its slots change each other. Other exceptions are
            the environment's, such as EnvironmentFull if it cannot play in two worlds at once.
    """
    if isinstance(suite, Environment):
        check_slots(suite)
        return
    check_suite(suite, f"got {brief(suite)}")
    rngs = [Rng(seed, episode) for episode in range(len(cells) or episodes)]
    if cells:
        plays = [_play(suite, cell, rng, steps) for cell, rng in zip(cells, rngs, strict=True)]
    else:
        plays = [_play(suite, _random_cell(suite, rng), rng, steps) for rng in rngs]
    _check_one_world(suite, plays)
    for play, other in zip(plays, [*plays[1:], *plays[:1]], strict=True):
        if not is_alone:
            _check_beside_another_world(suite, play, other)
        with closing(suite.world()) as world:
            restorable, seeded = isinstance(world, Restorable), isinstance(world, Seeded)
        if play.cell.seeds_reset:  # it draws from a generator of its own, which is not saved
            continue
        if restorable:
            _check_restoring(suite, play, other)
        if seeded:
            _check_random_seeds(suite, play, other)


@dataclass(frozen=True, slots=True)
class _Play:
    """A cell, the actions played in it, and their results in a fresh world."""

    cell: Cell
    actions: list[Arrays] = field(default_factory=list)
    wanted: list[Frame] = field(default_factory=list)

    @property
    def middle(self) -> int:
        """Steps until the interruption; 0 for an episode of one step."""
        return (len(self.wanted) - 1) // 2


def _check_one_world(suite: Suite, plays: Sequence[_Play]) -> None:
    """Play all in one world, then start each, leave it in its middle and start it again."""
    with closing(suite.world()) as world:
        for play in plays:
            _compare("after other episodes", play, _frames(world, play))
        for play in reversed(plays):
            _play_to_middle(world, play)
            _compare("when it is begun twice", play, _frames(world, play))


def _check_beside_another_world(suite: Suite, play: _Play, other: _Play) -> None:
    """Play while another world of the suite plays `other`, step by step in turn."""
    with closing(suite.world()) as world, closing(suite.world()) as neighbour:
        turns = zip(_frames(world, play), _then_none(_frames(neighbour, other)), strict=False)
        _compare("beside another world", play, (frame for frame, _ in turns))


def _check_restoring(suite: Suite, play: _Play, other: _Play) -> None:
    """Save in the middle; go on in the same world, a fresh one, and one in another episode."""
    with _world_in_mid_episode(suite, play) as world:
        assert isinstance(world, Restorable)
        state = world.get_state()
        _compare("after get_state", play, _play_rest(world, play), play.middle)
        world.set_state(state)
        _compare("after set_state in its own world", play, _play_rest(world, play), play.middle)
    with closing(suite.world()) as fresh:
        assert isinstance(fresh, Restorable)
        fresh.set_state(state)
        _compare("after set_state in a fresh world", play, _play_rest(fresh, play), play.middle)
    with _world_in_mid_episode(suite, other) as world:
        assert isinstance(world, Restorable)
        world.set_state(state)
        _compare("after set_state in another episode", play, _play_rest(world, play), play.middle)


def _check_random_seeds(suite: Suite, play: _Play, other: _Play) -> None:
    """Set the random generator of another episode, then this episode's again, and go on."""
    with _world_in_mid_episode(suite, other) as world:
        assert isinstance(world, Seeded)
        other_seed = world.get_random_seed()
    with _world_in_mid_episode(suite, play) as world:
        assert isinstance(world, Seeded)
        seed_before = world.get_random_seed()
        _compare("after get_random_seed", play, _play_rest(world, play), play.middle)
    with _world_in_mid_episode(suite, play) as world:
        assert isinstance(world, Seeded)
        for seed in (other_seed, seed_before):
            world.set_random_seed(seed)
            got = {"get_random_seed": np.array(world.get_random_seed())}
            wanted = {"get_random_seed": np.array(seed)}
            _check("after set_random_seed", play.cell, play.middle, got, wanted)
        _compare("after set_random_seed", play, _play_rest(world, play), play.middle)


@contextmanager
def _world_in_mid_episode(suite: Suite, play: _Play) -> Iterator[World]:
    with closing(suite.world()) as world:
        _play_to_middle(world, play)
        yield world


def _play_to_middle(world: World, play: _Play) -> None:
    """Start and play to the middle."""
    for _ in zip(range(play.middle + 1), _frames(world, play), strict=False):
        pass


def _frames(world: World, play: _Play) -> Iterator[Frame]:
    """Start the cell and play its actions, until they or the episode end."""
    yield _observation_frame(world.start(play.cell))
    yield from _play_actions(world, play.actions)


def _play_rest(world: World, play: _Play) -> Iterator[Frame]:
    """Play on from the middle."""
    return _play_actions(world, play.actions[play.middle :])


def _play_actions(world: World, actions: Iterable[Arrays]) -> Iterator[Frame]:
    for action in actions:
        step = world.step({name: values.copy() for name, values in action.items()})
        yield _step_frame(step)
        if step.terminated or step.truncated:
            return


def _then_none(frames: Iterator[Frame]) -> Iterator[Frame | None]:
    yield from frames
    while True:
        yield None


def _compare(history: str, play: _Play, frames: Iterable[Frame], after: int = -1) -> None:
    """Compare `frames` with what was played first, from the step after `after`."""
    step = after
    for step, frame in enumerate(frames, after + 1):
        wanted = play.wanted[step] if step < len(play.wanted) else {}
        _check(history, play.cell, step, frame, wanted)
    if step + 1 < len(play.wanted):
        _check(history, play.cell, step + 1, {}, play.wanted[step + 1])


def _check(history: str, cell: Cell, step: int, got: Frame, wanted: Frame) -> None:
    for name in {**wanted, **got}:
        one, other = got.get(name), wanted.get(name)
        if _bits(one) != _bits(other):
            raise NotDeterministic(
                cell,
                history,
                step=step,
                field=name,
                got=_full_precision(one),
                wanted=_full_precision(other),
            )


def _play(suite: Suite, cell: Cell, rng: Rng, steps: int) -> _Play:
    """Play the cell in a fresh world, with at most `steps` random legal actions."""
    play, generator = _Play(cell), np.random.Generator(rng.bits)
    spec = suite.spec  # first: a suite may make a world to know it
    with closing(suite.world()) as world:
        seen = world.start(cell)
        play.wanted.append(_observation_frame(seen))
        for _ in range(steps):
            action = sample_action(spec, seen, generator)
            play.actions.append(action)
            step = world.step({name: values.copy() for name, values in action.items()})
            play.wanted.append(_step_frame(step))
            if step.terminated or step.truncated:
                break
            seen = step.observation
    return play


def _random_cell(suite: Suite, rng: Rng) -> Cell:
    """A cell with a random task, variant, seed, repeat and phase."""
    task, variants = list(suite.variants.items())[rng.below(len(suite.variants))]
    phases = list(Phase)
    return Cell(
        task=task,
        variant=rng.below(variants),
        seed=rng.below(2**63),
        repeat=rng.below(2**32),
        phase=phases[rng.below(len(phases))],
    )


def _observation_frame(observation: Arrays) -> Frame:
    return {f"observation {name!r}": np.array(value) for name, value in observation.items()}


def _step_frame(step: Step) -> Frame:
    flags = {name: np.array(getattr(step, name)) for name in ("terminated", "truncated", "success")}
    return {
        **_observation_frame(step.observation),
        "reward": np.array(step.reward, np.float64),
        **flags,
    }


def _bits(array: npt.NDArray[Any] | None) -> tuple[object, ...]:
    return () if array is None else (array.dtype.str, array.shape, array.tobytes())


def _full_precision(array: npt.NDArray[Any] | None) -> str:
    """The numbers at full precision; "nothing" without an array."""
    return "nothing" if array is None else str(array.tolist())
