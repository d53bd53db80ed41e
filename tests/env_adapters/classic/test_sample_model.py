"""The promise of all classic environments: the same bits again, or a refusal."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from env_adapters import Cell, Restorable, Suite
from env_adapters.classic.gridworld import GridWorld
from env_adapters.determinism import check_determinism
from env_adapters.suites import suite_name
from reglue.environments.world import Seeded
from reglue.errors import BadArgument, UnknownName, UsageError
from reglue.messages.agent_messages import Phase
from reglue.rng import Rng
from reglue.spec import Box, Discrete, MultiDiscrete
from tests.env_adapters.classic.classic_playing import SUITES, cell_of, play, random_actions, world
from tests.error_facts import raises
from tests.programs import run_python

every_environment = pytest.mark.parametrize("name", SUITES)


# Episodes


@every_environment
def test_an_episode_follows_from_its_cell_its_state_and_its_seed(name: str) -> None:
    check_determinism(SUITES[name].build(), steps=120)


@pytest.mark.parametrize("other", [{"seed": 5}, {"repeat": 5}])
@pytest.mark.parametrize("name", ["gridworld with more", "mountain-car", "access-control"])
def test_another_seed_or_repeat_gives_another_episode(name: str, other: dict[str, Any]) -> None:
    actions, player = random_actions(name, 30), world(name)
    player.start(cell_of(name))
    bits = play(player, actions)
    player.start(dataclasses.replace(cell_of(name), **other))
    assert play(player, actions) != bits


@every_environment
def test_observations_and_rewards_keep_to_the_spec(name: str) -> None:
    suite = SUITES[name].build()
    (tensor,), player = suite.spec.observations, suite.world()
    seen, rewards = [player.start(cell_of(name))["observation"]], []
    for action in random_actions(name, 150):
        step = player.step({"action": np.array(action)})
        seen.append(step.observation["observation"])
        rewards.append(step.reward)
        if step.terminated or step.truncated:
            player.start(cell_of(name))
    assert {each.shape for each in seen} == {tensor.shape}
    assert {each.dtype for each in seen} == {np.dtype(tensor.dtype)}
    low, high = _ends(tensor.domain)
    assert ((low <= np.array(seen)) & (np.array(seen) <= high)).all()
    assert suite.spec.reward_range[0] <= min(rewards) <= max(rewards) <= suite.spec.reward_range[1]


def _ends(domain: object) -> tuple[Any, Any]:
    match domain:
        case Box(low, high):
            return low, high
        case Discrete(n, start):
            return start, start + n - 1
        case MultiDiscrete(n):
            return 0, np.array(n) - 1
        case other:
            raise AssertionError(other)


@pytest.mark.parametrize("name", ["gridworld", "mountain-car", "access-control"])
def test_time_runs_out_at_the_horizon(name: str) -> None:
    suite = suite_name(name, {"horizon": 7}).build()
    player = suite.world()
    player.start(cell_of(name))
    flags = [player.step({"action": np.array(0)}) for _ in range(7)]
    assert suite.spec.horizon == 7
    assert [step.truncated for step in flags] == [False] * 6 + [True]
    assert not any(step.terminated for step in flags)


@every_environment
@pytest.mark.parametrize(
    "action",
    [np.array(-1), np.array(8), np.array(0.0), np.array([0]), np.array(True), None],
    ids=str,
)
def test_an_action_that_is_none_of_the_tasks_is_refused_and_changes_nothing(
    name: str, action: Any
) -> None:
    player, actions = world(name), random_actions(name, 20)
    player.start(cell_of(name))
    before = player.get_state()
    with raises(BadArgument, "action", "wanted 0 to"):
        player.step({} if action is None else {"action": action})
    assert player.get_state() == before
    play(player, actions)


@pytest.mark.parametrize(
    ("wrong", "kind", "named"),
    [
        ({"task": "gridwurld"}, UnknownName, ["'gridwurld'", "gridworld"]),
        ({"variant": 1}, BadArgument, ["gridworld", "variant 1", "0 to 0"]),
        ({"variant": -1}, BadArgument, ["gridworld", "variant -1"]),
        ({"seed": -1}, BadArgument, ["seed -1"]),
    ],
)
def test_a_cell_that_there_is_not_is_refused_and_the_episode_goes_on(
    wrong: dict[str, Any], kind: type[Exception], named: list[str]
) -> None:
    player = world("gridworld")
    player.start(cell_of("gridworld"))
    play(player, [0, 0])
    before = player.get_state()
    with raises(kind, *named):
        player.start(dataclasses.replace(cell_of("gridworld"), **wrong))
    assert player.get_state() == before


def _step(player: Any) -> None:
    player.step({"action": np.array(0)})


out_of_episode: dict[str, Callable[[Any], object]] = {
    "step": _step,
    "get_state": lambda player: player.get_state(),
    "get_random_seed": lambda player: player.get_random_seed(),
    "set_random_seed": lambda player: player.set_random_seed(Rng(1).to_bytes()),
}


@every_environment
@pytest.mark.parametrize("routine", out_of_episode)
def test_out_of_an_episode_there_is_nothing_to_step_or_keep(name: str, routine: str) -> None:
    never, closed = world(name), world(name)
    closed.start(cell_of(name))
    closed.close()
    for player in (never, closed):
        with raises(UsageError, "start"):
            out_of_episode[routine](player)


@pytest.mark.parametrize("routine", out_of_episode)
def test_past_its_end_an_episode_is_over(routine: str) -> None:
    player = GridWorld(horizon=2).world()
    player.start(cell_of("gridworld"))
    play(player, [0, 0])
    with raises(UsageError, "start"):
        out_of_episode[routine](player)


@every_environment
def test_a_suite_says_what_it_can(name: str) -> None:
    suite: Suite = SUITES[name].build()
    assert suite.standardizes
    assert list(suite.variants.values()) == [1]
    assert isinstance(suite.world(), Restorable)
    assert isinstance(suite.world(), Seeded)


# States


def test_every_state_goes_on_to_the_bit_in_another_process() -> None:
    jobs, expected = [], []
    for name, suite in SUITES.items():
        player, actions = world(name), random_actions(name, 200)
        player.start(cell_of(name))
        play(player, actions[:60])
        state = player.get_state()
        jobs.append(
            {
                "factory": suite.factory,
                "config": dict(suite.config),
                "state": state.hex(),
                "actions": actions[60:],
            }
        )
        expected.append(play(player, actions[60:]))
    program = "from tests.env_adapters.classic.classic_playing import main; main()"
    lines = run_python(program, given="\n".join(map(json.dumps, jobs))).stdout.splitlines()
    seen = [[tuple(step) for step in json.loads(line)] for line in lines]
    assert seen == expected
    assert min(map(len, seen)) >= 20


def test_a_state_remembers_how_many_steps_were_taken() -> None:
    player, other = GridWorld(horizon=5).world(), GridWorld(horizon=5).world()
    player.start(cell_of("gridworld"))
    play(player, [0, 0, 0])
    other.set_state(player.get_state())
    assert [step[3] for step in play(other, [0] * 9)] == [False, True]


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "cut": lambda state: state[:-1],
    "longer": lambda state: state + b"\0",
    "flipped": lambda state: state[:-9] + bytes([state[-9] ^ 1]) + state[-8:],
    "unmarked": lambda state: state[1:],
    "nothing": lambda state: b"",
}


@every_environment
@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_state_is_refused_and_changes_nothing(
    name: str, damage: Callable[[bytes], bytes]
) -> None:
    player = world(name)
    player.start(cell_of(name))
    play(player, random_actions(name, 5))
    before = player.get_state()
    with pytest.raises(BadArgument, match=r"damaged state|a state of"):
        player.set_state(damage(before))
    assert player.get_state() == before


@every_environment
def test_a_state_of_another_environment_is_refused(name: str) -> None:
    player = world(name)
    for other in SUITES.keys() - {name}:
        foreign = world(other)
        foreign.start(cell_of(other))
        with raises(BadArgument, wanted=f"a state of {player._model!r}"):
            player.set_state(foreign.get_state())


@pytest.mark.parametrize(
    ("name", "format_", "numbers"),
    [
        ("gridworld", "<qq", (3, 10)),
        ("gridworld", "<qq", (3, 7)),  # the goal: the episode would be over
        ("gridworld", "<d", (3.0,)),
        ("mountain-car", "<dd", (0.5, 0.0)),
        ("mountain-car", "<dd", (float("nan"), 0.0)),
        ("mountain-car", "<dd", (0.0, 0.08)),
        ("access-control", "<qq", (11, 0)),
        ("access-control", "<qq", (0, 4)),
    ],
)
def test_a_state_that_no_episode_can_be_in_is_refused(
    name: str, format_: str, numbers: tuple[float, ...]
) -> None:
    player = world(name)
    player.start(cell_of(name))
    with raises(BadArgument, type(player._model).__name__, "state"):
        player.set_state(_forged(player.get_state(), struct.pack(format_, *numbers)))


def test_a_state_past_the_horizon_is_refused() -> None:
    player = GridWorld(horizon=5).world()
    player.start(cell_of("gridworld"))
    state = player.get_state()
    with raises(BadArgument, "5 steps", "of 5"):
        player.set_state(_forged(state, struct.pack("<qq", 0, 0), steps=5))


def _forged(state: bytes, numbers: bytes, steps: int = 0) -> bytes:
    """`state` with other numbers and a checksum that fits."""
    mark = state[: state.index(b"\n") + 1]
    body = steps.to_bytes(8, "little") + Rng(1).to_bytes() + numbers
    return mark + hashlib.sha256(body).digest() + body


# Seeds


@pytest.mark.parametrize("name", ["gridworld with more", "access-control"])
def test_what_chance_decides_follows_from_the_seed(name: str) -> None:
    player, actions = world(name), random_actions(name, 60)
    player.start(cell_of(name))
    state = player.get_state()
    runs = [play(player, actions)]
    for _ in range(2):
        player.start(cell_of(name, seed=12))
        player.set_state(state)
        player.set_random_seed(Rng(77, 5, drawn=3).to_bytes())
        runs.append(play(player, actions))
    assert runs[0] != runs[1] == runs[2]


@every_environment
def test_the_chance_of_an_episode_is_its_cells(name: str) -> None:
    player = world(name)
    player.start(cell_of(name, seed=2**63 - 1, repeat=6))
    play(player, random_actions(name, 5))
    assert player.get_random_seed()[:16] == Rng(2**63 - 1, 6).to_bytes()[:16]


@every_environment
def test_bytes_that_are_no_seed_are_refused_and_change_nothing(name: str) -> None:
    player = world(name)
    player.start(cell_of(name))
    before = player.get_state()
    with raises(BadArgument, 24, got="4 bytes"):
        player.set_random_seed(b"seed")
    assert player.get_state() == before


def test_a_task_of_another_suite_is_refused() -> None:
    with raises(UnknownName, "mountain-car", got="gridworld"):
        world("mountain-car").start(Cell("gridworld", 0, 1, 0, Phase.TRAIN))
