"""The admission test: does an environment play what its cells say, to the bit?

RL-Glue 1.0's env_standardize_randomness asks for randomness that does not depend on earlier
episodes. Here every episode is a function of its cell and its actions, so the test plays the
same episodes after different histories; if the environment can save and restore its state or
its random generator, it does that in the middle of episodes too. Nothing may differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from env_adapters.suite_names import check_suite
from reglue.environments.world import Cell, Restorable, Seeded, Step, Suite, World
from reglue.errors import NotAdmitted, brief
from reglue.messages.agent import Phase
from reglue.rng import Rng
from reglue.spec import Arrays, TaskSpec

Frame: TypeAlias = Mapping[str, npt.NDArray[Any]]
"""The result of a start or a step, by field: copies."""


def admit(
    suite: Suite,
    *,
    cells: Sequence[Cell] = (),
    episodes: int = 4,
    steps: int = 40,
    seed: int = 0,
) -> None:
    """Play `cells`, with at most `steps` random actions each, in every way that must agree.

    Without cells `episodes` of them follow from `seed`, as actions do. All worlds of a suite must
    play a cell alike, as `Cell` promises and `standardizes` says of its randomness; worlds that
    are Restorable or Seeded must be that too. This is no proof: what was not played may still
    differ. Raises NotAdmitted with the first difference, and NotAnEnvironment for what is no
    suite; exceptions of the environment pass through.
    """
    check_suite(suite, f"got {brief(suite)}")
    rngs = [Rng(seed, episode) for episode in range(len(cells) or episodes)]
    if cells:
        plays = [_play(suite, cell, rng, steps) for cell, rng in zip(cells, rngs, strict=True)]
    else:
        plays = [_play(suite, _drawn(suite, rng), rng, steps) for rng in rngs]
    for play in plays:
        with closing(suite.world()) as world:
            play.wanted.extend(_frames(world, play))
    _in_one_world(suite, plays)
    for play, other in zip(plays, [*plays[1:], *plays[:1]], strict=True):
        _beside(suite, play, other)
        with closing(suite.world()) as world:
            restorable, seeded = isinstance(world, Restorable), isinstance(world, Seeded)
        if play.cell.seeds_reset:  # drawn by a generator of the environment's own: not saved
            continue
        if restorable:
            _restored(suite, play, other)
        if seeded:
            _seeded(suite, play, other)


@dataclass(frozen=True, slots=True)
class _Play:
    """A cell, the actions played in it, and their results in a fresh world."""

    cell: Cell
    actions: Sequence[Arrays]
    wanted: list[Frame] = field(default_factory=list)

    @property
    def middle(self) -> int:
        """Steps until the interruption; 0 for an episode of one step."""
        return (len(self.wanted) - 1) // 2


def _in_one_world(suite: Suite, plays: Sequence[_Play]) -> None:
    """Play all in one world, then start each, leave it in its middle and start it again."""
    with closing(suite.world()) as world:
        for play in plays:
            _compare("after other episodes", play, _frames(world, play))
        for play in reversed(plays):
            _walk(world, play)
            _compare("when begun twice", play, _frames(world, play))


def _beside(suite: Suite, play: _Play, other: _Play) -> None:
    """Play while another world of the suite plays `other`, step by step in turn."""
    with closing(suite.world()) as world, closing(suite.world()) as neighbour:
        turns = zip(_frames(world, play), _endless(_frames(neighbour, other)), strict=False)
        _compare("beside another world", play, (frame for frame, _ in turns))


def _restored(suite: Suite, play: _Play, other: _Play) -> None:
    """Save in the middle; go on in the same world, a fresh one, and one in another episode."""
    with _in_the_middle(suite, play) as world:
        assert isinstance(world, Restorable)
        state = world.get_state()
        _compare("after get_state", play, _rest(world, play), play.middle)
        world.set_state(state)
        _compare("after set_state in its own world", play, _rest(world, play), play.middle)
    with closing(suite.world()) as fresh:
        assert isinstance(fresh, Restorable)
        fresh.set_state(state)
        _compare("after set_state in a fresh world", play, _rest(fresh, play), play.middle)
    with _in_the_middle(suite, other) as world:
        assert isinstance(world, Restorable)
        world.set_state(state)
        _compare("after set_state in another episode", play, _rest(world, play), play.middle)


def _seeded(suite: Suite, play: _Play, other: _Play) -> None:
    """Set another episode's random generator and then the own one again; go on."""
    with _in_the_middle(suite, other) as world:
        assert isinstance(world, Seeded)
        foreign = world.get_random_seed()
    with _in_the_middle(suite, play) as world:
        assert isinstance(world, Seeded)
        own = world.get_random_seed()
        _compare("after get_random_seed", play, _rest(world, play), play.middle)
    with _in_the_middle(suite, play) as world:
        assert isinstance(world, Seeded)
        for seed in (foreign, own):
            world.set_random_seed(seed)
            got = {"get_random_seed after set_random_seed": np.array(world.get_random_seed())}
            wanted = {"get_random_seed after set_random_seed": np.array(seed)}
            _check(_told("given a seed", play.cell), play.middle, got, wanted)
        _compare("after set_random_seed", play, _rest(world, play), play.middle)


@contextmanager
def _in_the_middle(suite: Suite, play: _Play) -> Iterator[World]:
    with closing(suite.world()) as world:
        _walk(world, play)
        yield world


def _walk(world: World, play: _Play) -> None:
    """Start and play to the middle."""
    for _ in zip(range(play.middle + 1), _frames(world, play), strict=False):
        pass


def _frames(world: World, play: _Play) -> Iterator[Frame]:
    """Start the cell and play its actions, until they or the episode end."""
    yield _seen(world.start(play.cell))
    yield from _stepped(world, play.actions)


def _rest(world: World, play: _Play) -> Iterator[Frame]:
    """Play on from the middle."""
    return _stepped(world, play.actions[play.middle :])


def _stepped(world: World, actions: Iterable[Arrays]) -> Iterator[Frame]:
    for action in actions:
        step = world.step({name: values.copy() for name, values in action.items()})
        yield _earned(step)
        if step.terminated or step.truncated:
            return


def _endless(frames: Iterator[Frame]) -> Iterator[Frame | None]:
    yield from frames
    while True:
        yield None


def _compare(history: str, play: _Play, frames: Iterable[Frame], after: int = -1) -> None:
    """Compare `frames` with what was played first, from the step after `after`."""
    told, step = _told(history, play.cell), after
    for step, frame in enumerate(frames, after + 1):
        _check(told, step, frame, play.wanted[step] if step < len(play.wanted) else {})
    if step + 1 < len(play.wanted):
        _check(told, step + 1, {}, play.wanted[step + 1])


def _check(told: str, step: int, got: Frame, wanted: Frame) -> None:
    for name in {**wanted, **got}:
        one, other = got.get(name), wanted.get(name)
        if _bits(one) != _bits(other):
            raise NotAdmitted(told, step=step, field=name, got=_text(one), wanted=_text(other))


def _told(history: str, cell: Cell) -> str:
    return f"{cell} {history} is not what it was in a fresh world"


def _play(suite: Suite, cell: Cell, rng: Rng, steps: int) -> _Play:
    """A cell, with legal actions."""
    generator = np.random.Generator(rng.bits)
    return _Play(cell, [_action(suite.spec, generator) for _ in range(steps)])


def _drawn(suite: Suite, rng: Rng) -> Cell:
    """A random task, variant, seed and phase."""
    task, variants = list(suite.variants.items())[rng.below(len(suite.variants))]
    phases = list(Phase)
    return Cell(
        task=task,
        variant=rng.below(variants),
        seed=rng.below(2**63),
        repeat=rng.below(2**32),
        phase=phases[rng.below(len(phases))],
    )


def _action(spec: TaskSpec, generator: np.random.Generator) -> Arrays:
    return {tensor.name: tensor.sample(generator) for tensor in spec.actions}


def _seen(observation: Arrays) -> Frame:
    return {f"observation {name!r}": np.array(value) for name, value in observation.items()}


def _earned(step: Step) -> Frame:
    flags = {name: np.array(getattr(step, name)) for name in ("terminated", "truncated", "success")}
    return {**_seen(step.observation), "reward": np.array(step.reward, np.float64), **flags}


def _bits(array: npt.NDArray[Any] | None) -> tuple[object, ...]:
    return () if array is None else (array.dtype.str, array.shape, array.tobytes())


def _text(array: npt.NDArray[Any] | None) -> str:
    """At full precision."""
    return "nothing" if array is None else str(array.tolist())
