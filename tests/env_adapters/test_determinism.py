"""Whoever keeps the promise of its cells is admitted; whoever breaks it is told where."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from env_adapters import Cell, Step, SuiteName
from env_adapters.determinism import check_determinism
from env_adapters.gymnasium import Gymnasium, suite_of
from env_adapters.suites import EXAMPLES
from reglue import Box, TaskSpec, TensorSpec
from reglue.errors import NotAnEnvironment, NotDeterministic
from reglue.rng import Rng
from reglue.spec import Arrays
from tests.error_facts import raises
from tests.masked_doors import Doors
from tests.reglue.test_texts import Quiz

GOALS = {  # as Meta-World draws them
    "push-v3": [[0.0, 0.607, 0.02, 0.0, 0.868, 0.018], [0.086, 0.602, 0.02, 0.09, 0.823, 0.015]],
    "bin-picking-v3": [[-0.12, 0.657, 0.02, 0.12, 0.7, 0.001]],
}
OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "MountainCar-v0": {},
    "MountainCarContinuous-v0": {},
    "Pendulum-v1": {"max_episode_steps": 12},
    "FrozenLake-v1": {},
    "Taxi-v4": {"is_rainy": True, "fickle_passenger": True},
    "Ant-v5": {},
    "Humanoid-v5": {},
    "InvertedDoublePendulum-v5": {},
    "Pusher-v5": {},
    "Reacher-v4": {},
}
SUITES: Mapping[str, SuiteName] = {
    **EXAMPLES,
    **{
        name: SuiteName("env_adapters.gymnasium:Gymnasium", {"id": name, **options})
        for name, options in OPTIONS.items()
    },
    "Meta-World": SuiteName(
        "env_adapters.metaworld:MetaWorld",
        {"goals": GOALS, "goal_visible": True, "recurrent_info": True, "horizon": 20},
    ),
}


@pytest.mark.parametrize("suite", SUITES.values(), ids=SUITES.keys())
def test_what_we_bring_is_admitted(suite: SuiteName) -> None:
    check_determinism(suite.build(), episodes=3, steps=25)


def test_a_lake_whose_map_is_drawn_when_it_is_made_is_not_admitted() -> None:
    """Each world has another map, drawn from the system's own chance."""
    with pytest.raises(NotDeterministic):
        check_determinism(Gymnasium("FrozenLake-v1", map_name=None), episodes=8)


def test_actions_of_text_are_texts() -> None:
    """Its worlds raise IllegalAction for bytes that are none of its answers."""
    check_determinism(Quiz(), steps=3)


class Drift:
    """A suite of walks that are pushed by chance; `world` makes each, so that they can be bad."""

    variants: Mapping[str, int] = {"drift": 2}
    standardizes = True
    spec = TaskSpec(
        observations=(TensorSpec("observation", "float64", (2,)),),
        actions=(TensorSpec("action", "float64", (1,), Box((-1.0,), (1.0,))),),
        horizon=9,
    )

    def __init__(self, make: Callable[[], Any]) -> None:
        self.world = make


class Walk:
    """Keeps every promise: Restorable and Seeded, a function of its cell."""

    def start(self, cell: Cell) -> Arrays:
        self.chance = Rng(cell.seed, cell.repeat)
        self.steps, self.place = 0, float(cell.variant)
        return self.observation()

    def step(self, action: Arrays) -> Step:
        self.steps += 1
        self.place += float(action["action"][0]) + self.chance.uniform(-1.0, 1.0)
        return Step(self.place, self.observation(), abs(self.place) > 4, self.steps == 9, False)

    def observation(self) -> Arrays:
        return {"observation": np.array([self.steps, self.place])}

    def get_state(self) -> bytes:
        return np.array([self.steps, self.place]).tobytes() + self.chance.to_bytes()

    def set_state(self, state: bytes) -> None:
        steps, self.place = np.frombuffer(state[:16]).tolist()
        self.steps, self.chance = int(steps), Rng.from_bytes(state[16:])

    def get_random_seed(self) -> bytes:
        return self.chance.to_bytes()

    def set_random_seed(self, seed: bytes) -> None:
        self.chance = Rng.from_bytes(seed)

    def close(self) -> None:
        pass


class Remembers(Walk):
    """Begins where its last episode ended."""

    place = 0.0

    def start(self, cell: Cell) -> Arrays:
        before = self.place
        super().start(cell)
        self.place += before
        return self.observation()


class Weary(Walk):
    """Its reward is a last bit less in every episode after the first."""

    episodes = 0

    def start(self, cell: Cell) -> Arrays:
        self.episodes += 1
        return super().start(cell)

    def step(self, action: Arrays) -> Step:
        step = super().step(action)
        less = float(np.nextafter(step.reward, -np.inf)) if self.episodes > 1 else step.reward
        return Step(less, step.observation, step.terminated, step.truncated, step.success)


class Unseeded(Walk):
    """Draws from the system's chance."""

    def step(self, action: Arrays) -> Step:
        self.place += float(np.random.default_rng().uniform())
        return super().step(action)


class Unfinished(Walk):
    """Clears its steps when an episode ends, not when one begins."""

    steps = 0

    def start(self, cell: Cell) -> Arrays:
        steps = self.steps % 9
        first = super().start(cell)
        self.steps = steps
        return first

    def step(self, action: Arrays) -> Step:
        step = super().step(action)
        if step.terminated or step.truncated:
            self.steps = 0
        return step


class Shared(Walk):
    """All worlds draw from one generator, which each start seeds anew."""

    common: Rng

    def start(self, cell: Cell) -> Arrays:
        first = super().start(cell)
        Shared.common = self.chance
        return first

    def step(self, action: Arrays) -> Step:
        self.chance = Shared.common
        return super().step(action)


class Hasty(Walk):
    """Ends every episode after its first a step early, with nothing else to be seen."""

    horizon = 10

    def start(self, cell: Cell) -> Arrays:
        self.horizon = max(self.horizon - 1, 8)
        return super().start(cell)

    def step(self, action: Arrays) -> Step:
        step = super().step(action)
        return Step(step.reward, step.observation, False, self.steps == self.horizon, False)


class Restless(Walk):
    """Keeping its state draws a number."""

    def get_state(self) -> bytes:
        state = super().get_state()
        self.chance.word()
        return state


class Forgetful(Walk):
    """Its state lacks the chance, which goes on from where it is."""

    chance = Rng(0)

    def set_state(self, state: bytes) -> None:
        chance = self.chance
        super().set_state(state)
        self.chance = chance


class Hoarding(Forgetful):
    """It keeps the chance itself, where no other world finds it."""

    def get_state(self) -> bytes:
        self.kept = self.chance.to_bytes()
        return super().get_state()

    def set_state(self, state: bytes) -> None:
        super().set_state(state)
        self.chance = Rng.from_bytes(getattr(self, "kept", self.chance.to_bytes()))


class Clinging(Walk):
    """The place stays the same if an episode is left in its middle."""

    live = False

    def step(self, action: Arrays) -> Step:
        step = super().step(action)
        self.live = not (step.terminated or step.truncated)
        return step

    def set_state(self, state: bytes) -> None:
        place = self.place if self.live else None
        super().set_state(state)
        self.place = self.place if place is None else place


class Stubborn(Walk):
    """Keeps its own chance, whatever seed is set."""

    def set_random_seed(self, seed: bytes) -> None:
        pass


class Meddling(Walk):
    """Setting its seed moves it."""

    def set_random_seed(self, seed: bytes) -> None:
        super().set_random_seed(seed)
        self.place += 1e-9


class Curious(Walk):
    """Telling its seed draws a number."""

    def get_random_seed(self) -> bytes:
        seed = super().get_random_seed()
        self.chance.word()
        return seed


OBSERVATION, RANDOM_SEED = "observation 'observation'", "get_random_seed"


def test_a_suite_that_keeps_its_promises_is_admitted() -> None:
    check_determinism(Drift(Walk))


@pytest.mark.parametrize(
    ("make", "facts"),
    [
        (Remembers, {"history": "after other episodes"}),
        (Weary, {"history": "after other episodes", "field": "reward", "step": 1}),
        (Unseeded, {"history": "after other episodes", "field": OBSERVATION, "step": 1}),
        (Unfinished, {"history": "when it is begun twice", "step": 1}),
        (Shared, {"history": "beside another world"}),
        (Hasty, {"field": "truncated", "step": 8, "got": "True", "wanted": "False"}),
        (Restless, {"history": "after get_state"}),
        (Forgetful, {"history": "after set_state in its own world"}),
        (Hoarding, {"history": "after set_state in a fresh world"}),
        (Clinging, {"history": "after set_state in another episode"}),
        (Stubborn, {"history": "after set_random_seed", "field": RANDOM_SEED}),
        (Meddling, {"history": "after set_random_seed", "field": OBSERVATION}),
        (Curious, {"history": "after get_random_seed"}),
    ],
)
def test_a_suite_that_breaks_a_promise_is_refused_with_what_differs(
    make: Callable[[], Any], facts: dict[str, Any]
) -> None:
    with pytest.raises(NotDeterministic) as refused:
        check_determinism(Drift(make))
    assert {name: getattr(refused.value, name) for name in facts} == facts


def test_what_a_world_does_not_claim_is_not_asked_for() -> None:
    class Plain:
        def __init__(self) -> None:
            walk = Walk()
            self.start, self.step, self.close = walk.start, walk.step, walk.close

    check_determinism(Drift(Plain))


def test_a_refusal_says_where_and_what() -> None:
    with pytest.raises(NotDeterministic) as refused:
        check_determinism(Drift(Weary))
    error = refused.value
    assert (error.step, error.field) == (1, "reward")
    assert float(error.got) == np.nextafter(float(error.wanted), -np.inf)
    differs = "after other episodes differs from a fresh world: reward of step 1: got"
    assert f"{differs} {error.got}, wanted {error.wanted}" in str(error)


def test_the_seed_decides_what_is_played() -> None:
    played: list[Cell] = []

    class Noted(Walk):
        def start(self, cell: Cell) -> Arrays:
            played.append(cell)
            return super().start(cell)

    check_determinism(Drift(Noted), seed=1)
    first, played = played, []
    check_determinism(Drift(Noted), seed=1)
    assert played == first
    played = []
    check_determinism(Drift(Noted), seed=2)
    assert played != first


def test_what_is_no_suite_is_not_an_environment() -> None:
    with raises(NotAnEnvironment, 3, "spec, variants, standardizes, world"):
        check_determinism(3)  # type: ignore[arg-type]


def test_it_plays_the_actions_that_masks_allow() -> None:
    """Doors fails at any other."""
    suite = suite_of(Doors)
    assert suite is not None
    check_determinism(suite)
