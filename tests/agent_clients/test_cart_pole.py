"""The C++ client's cart-pole, a program of its own: is it Gymnasium's, and played by agents?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
import pytest

from reglue import Cell, Phase
from reglue.messages.agent_messages import Refusal, RoutineDone
from reglue.messages.environment_messages import (
    GetRandomSeed,
    GetState,
    Play,
    Played,
    SetRandomSeed,
    SetState,
    Snapshot,
    StandardizeRandomness,
)
from reglue.rng import Rng
from reglue_bench.results.scores import PerformanceScore
from tests.agent_clients.client_programs import built, environment_calls, online, playing

PATIENCE_S = 30.0
ANGLE, ANGULAR_VELOCITY = 2, 3
FLOAT32 = 2.0**-22  # relative: the last bits of what float32 shows

Policy = Callable[[npt.NDArray[Any]], int]

pytestmark = pytest.mark.timeout(600)  # the first test compiles the client


@pytest.fixture(scope="module")
def program() -> Path:
    return built("cpp", "cart_pole", "examples/cart_pole/cart_pole")


@dataclass(frozen=True)
class Cart:
    """The program, one call at a time."""

    ask: Callable[[Any], Any]

    def start(self, seed: int = 0, repeat: int = 0, slot: int = 0) -> npt.NDArray[Any]:
        """The first observation."""
        cell = Cell("cart-pole", 0, seed, repeat, Phase.TRAIN)
        played = self.ask(Play(np.zeros(0, np.uint32), {}, {slot: cell}))
        assert isinstance(played, Played)
        first: npt.NDArray[Any] = played.observations["observation"][0]
        return first

    def step(self, action: int, slot: int = 0) -> Played:
        played = self.ask(Play(np.array([slot], np.uint32), {"action": np.array([action])}, {}))
        assert isinstance(played, Played)
        return played


@pytest.fixture
def cart(program: Path) -> Iterator[Cart]:
    with environment_calls(program) as ask:
        yield Cart(ask)


def first_motion(chance: Rng) -> npt.NDArray[np.float64]:
    return np.array([chance.uniform(-0.05, 0.05) for _ in range(4)])


def balance(motion: npt.NDArray[Any]) -> int:
    """Push to where the pole falls."""
    return int(motion[ANGLE] + 0.3 * motion[ANGULAR_VELOCITY] > 0)


def at_random() -> Policy:
    chance = Rng(1)
    return lambda _: chance.below(2)


@pytest.mark.parametrize(("policy", "seed"), [(balance, 3), (at_random(), 5), (at_random(), 6)])
def test_an_episode_is_gymnasiums_step_for_step(cart: Cart, policy: Policy, seed: int) -> None:
    """From the state that Python's chance draws, too; one balances for all 500 steps."""
    theirs = gymnasium.make("CartPole-v1")
    theirs.reset()
    state = first_motion(Rng(seed, 2))
    theirs.unwrapped.state = state  # type: ignore[attr-defined]
    np.testing.assert_array_equal(cart.start(seed, 2), state.astype(np.float32))
    is_over, steps = False, 0
    while not is_over:
        action = policy(theirs.unwrapped.state)  # type: ignore[attr-defined]
        seen, reward, terminated, truncated, _ = theirs.step(action)
        ours = cart.step(action)
        np.testing.assert_allclose(
            ours.observations["observation"][0], seen, rtol=FLOAT32, atol=FLOAT32
        )
        assert ours.rewards.tolist() == [reward]
        assert (ours.terminated[0], ours.truncated[0]) == (terminated, truncated)
        assert ours.success[0] == truncated
        is_over, steps = terminated or truncated, steps + 1
    assert (steps == 500) == (policy is balance)


def test_a_state_goes_on_to_the_bit_in_another_slot(cart: Cart) -> None:
    cart.start(seed=7)
    cart.step(1)
    kept = cart.ask(GetState(0))
    assert isinstance(kept, Snapshot)
    first = [cart.step(action) for action in (0, 1, 0)]
    assert cart.ask(SetState(1, kept.snapshot)) == RoutineDone()
    again = [cart.step(action, slot=1) for action in (0, 1, 0)]
    for one, other in zip(first, again, strict=True):
        np.testing.assert_array_equal(
            one.observations["observation"], other.observations["observation"]
        )


def test_standardized_starts_are_numbered(cart: Cart) -> None:
    cart.start(seed=1)
    assert cart.ask(StandardizeRandomness(9)) == RoutineDone()
    for n in range(3):
        wanted = first_motion(Rng(9, n)).astype(np.float32)
        np.testing.assert_array_equal(cart.start(seed=n, slot=n % 2), wanted)


@pytest.mark.parametrize(
    "damaged",
    [
        lambda state: state[:-1],
        lambda state: b"x" + state[1:],
        lambda state: state[:-32] + np.float64(np.nan).tobytes() + state[-24:],
        lambda state: state[:-16] + np.float64(np.nan).tobytes() + state[-8:],
        lambda state: state[:-8] + np.float64(np.nan).tobytes(),
        lambda state: state[:-32] + np.float64(2.5).tobytes() + state[-24:],
    ],
    ids=["short", "another mark", "no position", "no angle", "no spin", "off the track"],
)
def test_a_state_that_it_did_not_keep_is_refused(
    cart: Cart, damaged: Callable[[bytes], bytes]
) -> None:
    cart.start()
    kept = cart.ask(GetState(0)).snapshot
    refused = cart.ask(SetState(0, damaged(kept)))
    assert isinstance(refused, Refusal)
    assert refused.code == "UNKNOWN_KEY"
    assert cart.ask(GetState(0)).snapshot == kept


def test_chance_can_be_kept(cart: Cart) -> None:
    cart.start(seed=4, repeat=2)
    kept = cart.ask(GetRandomSeed(0)).snapshot
    assert kept == Rng(4, 2, drawn=4).to_bytes()
    assert cart.ask(SetRandomSeed(0, kept)) == RoutineDone()
    assert cart.ask(SetRandomSeed(0, b"something else")).code == "UNKNOWN_KEY"


def test_an_action_that_there_is_not_is_its_slots_fault(cart: Cart) -> None:
    cart.start()
    assert cart.step(2).faults == {0: "got action 2, wanted 0 or 1"}
    assert not cart.step(1).faults


def test_an_agent_in_python_plays_it(program: Path) -> None:
    result = online(lambda where: playing(program, where), agent="random", episodes=3)
    assert result.parameters["environment"] == "cart-pole"
    [run] = result.score_as(PerformanceScore).runs
    assert run.line == run.episode_steps
    assert len(run.line) == 3
