"""All rows of a turn are checked and written together, and say what each says by itself."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode

import reglue
from env_adapters import Cell
from env_adapters.gymnasium import Gymnasium
from env_adapters.gymnasium.gymnasium_suite import OneEnvironment, suite_of
from reglue.environments.slot_worlds import RowWorld, Worlds
from reglue.environments.world import Step, Suite, World
from reglue.messages.agent_messages import Phase
from reglue.messages.environment_messages import Play, Played
from reglue.spec import Arrays, TaskSpec
from tests.env_adapters.gymnasium.gymnasium_playing import CLASSIC_CONTROL, TOY_TEXT, actions

HERE = str(Path(__file__).parents[3])
OURS = tuple(f"{HERE}/{part}/" for part in ("agent_clients", "env_adapters", "glue_server"))
UNIT = spaces.Box(0, 10, (2,), np.float32)
NOBODY = np.zeros(0, np.uint32)


class _Alone:
    """A world that steps row by row, as anybody's."""

    def __init__(self, world: World) -> None:
        self._world = world

    def start(self, cell: Cell) -> Arrays:
        return self._world.start(cell)

    def step(self, action: Arrays) -> Step:
        return self._world.step(action)

    def close(self) -> None:
        self._world.close()


class _RowByRow:
    """A suite of such worlds."""

    def __init__(self, suite: OneEnvironment) -> None:
        self.spec, self.variants = suite.spec, suite.variants
        self.standardizes, self.raw_actions = suite.standardizes, True
        self._suite = suite

    def world(self) -> World:
        return _Alone(self._suite.world())


class Saying(gymnasium.Env[Any, Any]):
    """The environment of the last slot says in its second step what it was made with."""

    observation_space = UNIT
    made = 0

    def __init__(self, answer: Mapping[str, Any], space: Any = None) -> None:
        self.action_space = space or spaces.Discrete(2)
        self._answer = answer
        type(self).made += 1
        self._is_last = type(self).made == 2
        self._seen = np.ones(2, np.float32)
        self._steps = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        self._steps = 0
        return self._seen, {}

    def step(self, action: Any) -> Any:
        self._steps += 1
        self._seen += 1  # the array that it returned before
        said = self._answer if self._is_last and self._steps == 2 else {}
        if "raises" in said:
            raise said["raises"]
        flags = (said.get("terminated", False), said.get("truncated", False))
        parts = (
            said.get("seen", self._seen),
            said.get("reward", 1.0),
            *flags,
            said.get("info", {}),
        )
        return said.get("step", parts)


def played(suite: Suite, chosen: Arrays, *, turns: int = 3) -> list[Played]:
    """The starts of three slots, and the same actions in each turn."""
    worlds = Worlds(suite)
    worlds.spec = worlds.env_init(3)
    task = next(iter(suite.variants))
    cells = {slot: Cell(task, 0, 7, slot, Phase.TRAIN) for slot in range(3)}
    slots = np.arange(3, dtype=np.uint32)
    plays = [Play(NOBODY, {}, cells), *(Play(slots, chosen, {}) for _ in range(turns))]
    answers = [worlds.play(play) for play in plays]
    worlds.env_cleanup()
    return answers


def said(answers: list[Played]) -> list[Any]:
    """All of the answers, without the frames of a traceback."""
    faults = [
        {slot: text.strip().splitlines()[-1] for slot, text in each.faults.items()}
        for each in answers
    ]
    return [
        (
            each.rewards.tobytes(),
            {name: (rows.dtype, rows.tobytes()) for name, rows in each.observations.items()},
            each.terminated.tolist(),
            each.truncated.tolist(),
            each.success.tolist(),
            fault,
            each.illegal,
            each.outside,
        )
        for each, fault in zip(answers, faults, strict=True)
    ]


def both_ways(make: Callable[[], OneEnvironment], chosen: Arrays) -> tuple[list[Any], list[Any]]:
    """The results of worlds that write their rows, and of worlds that step row by row."""
    answers = []
    for form in (lambda suite: suite, _RowByRow):
        Saying.made = -1  # the suite makes one first, for its spaces, which plays in slot 0
        answers.append(said(played(form(make()), chosen)))
    return answers[0], answers[1]


MISTAKES: dict[str, Mapping[str, Any]] = {
    "shape": {"seen": np.ones(3, np.float32)},
    "one_for_all": {"seen": np.ones(1, np.float32)},
    "float64": {"seen": np.ones(2) / 3},
    "lost_integer": {"seen": np.array(["a", "b"])},
    "list": {"seen": [1.0, 2.0]},
    "ragged": {"seen": [[1.0], [1.0, 2.0]]},
    "none": {"seen": None},
    "nan": {"seen": np.array([np.nan, 1], np.float32)},
    "outside": {"seen": np.array([11, 1], np.float32)},
    "masked": {"seen": np.ma.masked_array(np.ones(2, np.float32), [True, False])},
    "infinite_reward": {"reward": float("inf")},
    "reward_of_two": {"reward": np.ones(2)},
    "reward_of_numpy": {"reward": np.float32(0.1)},
    "flag": {"terminated": 2},
    "flag_of_numpy": {"truncated": np.bool_(True)},
    "success": {"info": {"is_success": True}},
    "two_successes": {"info": {"is_success": True, "success": False}},
    "no_dict": {"info": 3},
    "four_parts": {"step": (np.ones(2, np.float32), 1.0, False, {})},
    "raises": {"raises": ValueError("broken")},
}


@pytest.mark.parametrize("answer", MISTAKES.values(), ids=MISTAKES)
def test_a_bad_row_is_found_and_said_as_alone(answer: Mapping[str, Any]) -> None:
    def make() -> OneEnvironment:
        suite = suite_of(Saying, {"answer": answer})
        assert suite is not None
        return suite

    together, alone = both_ways(make, {"action": np.array([0, 1, 1])})
    assert together == alone


def test_a_bad_row_is_named_with_its_slot_and_what_was_wanted() -> None:
    Saying.made = -1
    suite = suite_of(Saying, {"answer": MISTAKES["shape"]})
    assert suite is not None
    answers = played(suite, {"action": np.array([0, 1, 1])})
    assert answers[2].faults == {2: "observation 'observation': got shape (3,), wanted (2,)"}
    assert answers[2].observations["observation"].tolist() == [[3, 3], [3, 3], [0, 0]]


ACTIONS: dict[str, tuple[Any, Any]] = {
    "discrete": (spaces.Discrete(3, start=-1), [[-1, 1, 0], [0, 2, 0]]),
    "multi_discrete": (spaces.MultiDiscrete([2, 3], start=[1, -1]), [[[0, 2]] * 3, [[2, 0]] * 3]),
    "multi_binary": (spaces.MultiBinary(2), [[[0, 1]] * 3, [[0, 1], [0, 2], [0, 0]]]),
    "box": (spaces.Box(-1, 1, (2,)), [[[0.5, 3]] * 3, [[0, np.nan], [0, 1], [1, 1]]]),
    "number": (spaces.Box(-1, 1, ()), [[0.5, 3, -9], [np.inf, 0, 0]]),
    "integers": (spaces.Box(0, 9, (1,), np.int64), [[[3], [12], [-4]]]),
    "tuple": (spaces.Tuple([spaces.Discrete(2)]), [[0, 1, 0]]),
}


@pytest.mark.parametrize(("space", "rows"), ACTIONS.values(), ids=ACTIONS)
def test_actions_are_clipped_and_refused_as_alone(space: Any, rows: Any) -> None:
    class Told(Saying):
        def step(self, action: Any) -> Any:
            given = action[0] if isinstance(action, tuple) else action
            number = float(np.sum(given))
            kind = float(isinstance(given, np.ndarray)) + float(given.dtype.itemsize)
            return np.array([number, kind], np.float32), 1.0, False, False, {}

    def make() -> OneEnvironment:
        suite = suite_of(Told, {"answer": {}, "space": space})
        assert suite is not None
        return suite

    tensor = make().spec.actions[0]
    for some in rows:
        together, alone = both_ways(make, {tensor.name: np.array(some, tensor.numpy_dtype)})
        assert together == alone


@pytest.mark.parametrize("name", [*CLASSIC_CONTROL, *TOY_TEXT])
def test_environments_of_gymnasium_play_as_alone(name: str) -> None:
    suite = Gymnasium(name)
    together, alone = both_ways(lambda: Gymnasium(name), {"action": np.array(actions(suite, 3))})
    assert together == alone


def test_a_world_of_another_spec_is_stepped_row_by_row() -> None:
    class Renamed(Gymnasium):
        """Shows float64, where its worlds make float32."""

        @property
        def spec(self) -> TaskSpec:
            own = super().spec
            seen = reglue.TensorSpec("observation", "float64", (4,))
            return TaskSpec((seen,), own.actions)

    answers = played(Renamed("CartPole-v1"), {"action": np.array([0, 1, 1])})
    plain = played(Gymnasium("CartPole-v1"), {"action": np.array([0, 1, 1])})
    for one, other in zip(answers, plain, strict=True):
        assert not one.faults
        assert one.observations["observation"].dtype == np.float64
        assert (one.observations["observation"] == other.observations["observation"]).all()


def test_an_environment_that_keeps_its_action_is_not_told_another() -> None:
    """The actions of a turn are an array of its own."""
    kept: list[Any] = []

    class Keeping(Saying):
        def step(self, action: Any) -> Any:
            kept.append(action)
            action += 1
            return super().step(action)

    suite = suite_of(Keeping, {"answer": {}, "space": spaces.Box(-9, 9, (1,))})
    assert suite is not None
    chosen = {"action": np.array([[1], [2], [3]], np.float32)}
    played(suite, chosen)
    assert chosen["action"].ravel().tolist() == [1, 2, 3]
    assert [float(each[0]) for each in kept] == [2, 3, 4] * 3


def test_only_the_environment_asks_its_space_about_an_action(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = Counter[str]()
    contains = spaces.Discrete.contains

    def counted(self: Any, x: Any) -> bool:
        asked["contains"] += 1
        return contains(self, x)

    monkeypatch.setattr(spaces.Discrete, "contains", counted)
    played(Gymnasium("CartPole-v1"), {"action": np.array([0, 1, 1])}, turns=4)
    assert asked["contains"] == 3 * 4


@contextmanager
def counted_calls() -> Iterator[Counter[str]]:
    """Of our functions, by name."""
    calls = Counter[str]()

    def see(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(OURS):
            calls[frame.f_code.co_name] += 1

    before = sys.getprofile()
    sys.setprofile(see)
    try:
        yield calls
    finally:
        sys.setprofile(before)


def calls_of_a_step(num_envs: int) -> Counter[str]:
    """Our calls in ten steps in which no episode ends."""
    mode = AutoresetMode.DISABLED
    env = reglue.make_vec("gymnasium:Pendulum-v1", num_envs=num_envs, autoreset_mode=mode)
    env.reset(seed=1)
    chosen = np.zeros((num_envs, 1), np.float32)
    env.step(chosen)
    with counted_calls() as calls:
        for _ in range(10):
            env.step(chosen)
    env.close()
    return calls


def test_a_row_more_is_few_calls_more() -> None:
    """Of our functions: in a turn all else is done once, for all rows."""
    few, many = calls_of_a_step(2), calls_of_a_step(12)
    rows = 10 * (12 - 2)
    grown = {name: many[name] - few[name] for name in many if many[name] > few[name]}
    assert grown.keys() <= {"step_into", "_take", "put", "conforming_reward"}
    assert set(grown.values()) == {rows}


def test_worlds_of_gymnasium_write_their_rows() -> None:
    assert isinstance(Gymnasium("CartPole-v1").world(), RowWorld)
