"""Suites made of others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from env_adapters.composed import STATE, Composed, ComposedWorld, RestorableComposedWorld
from env_adapters.determinism import check_determinism
from env_adapters.environment_configs.values import ConfigError
from env_adapters.states import seal
from env_adapters.suites import suite_name
from reglue import Phase
from reglue.environments.slot_worlds import Worlds
from reglue.environments.world import Messaged, Restorable
from reglue.errors import BadArgument, UnknownName, UsageError
from reglue.messages.environment_messages import Cell
from tests.error_facts import raises
from tests.worlds import Corridor, Walk

GOALS = {"reach-v3": [[0.0, 0.6, 0.02, 0.1 * k, 0.85, 0.2] for k in range(3)]}


_CAR, _FAST = (
    suite_name("gymnasium:MountainCar-v0", config) for config in ({}, {"goal_velocity": 0.05})
)
_CARDS = suite_name("gymnasium:Blackjack-v1")

SUITES: Sequence[Mapping[str, Any]] = [
    {
        "factory": "env_adapters.metaworld:MetaWorld",
        "config": {"goals": GOALS, "goal_visible": True},
    },
    *({"factory": named.factory, "config": named.config} for named in (_CAR, _FAST, _CARDS)),
]


def meta_world(task: str = "reach-v3", variants: Any = (2, 0)) -> Mapping[str, Any]:
    return {"suite": 0, "task": task, "variants": list(variants)}


def car(suite: int = 1) -> Mapping[str, Any]:
    return {"suite": suite, "task": "MountainCar-v0", "variants": [0]}


def cell(task: str, variant: int = 0) -> Cell:
    return Cell(task, variant, 5, 0, Phase.TRAIN)


def test_variants_are_those_that_were_chosen_in_their_order() -> None:
    suite = Composed(SUITES, {"near": meta_world(), "all": meta_world(variants=range(3))})
    assert suite.variants == {"near": 2, "all": 3}
    with closing(suite.world()) as world:
        goals = [world.start(cell("near", k))["observation"][36] for k in (0, 1)]
        assert goals == pytest.approx([0.2, 0.0])
        assert world.start(cell("all", 1))["observation"][36] == pytest.approx(0.1)


def test_tasks_of_two_suites_are_played_in_one_world() -> None:
    suite = Composed(SUITES[:3], {"slow": car(), "fast": car(2)}, horizon=7)
    assert suite.spec.horizon == 7
    assert suite.standardizes
    for task in ("slow", "fast", "slow"):
        with closing(suite.world()) as world:
            world.start(cell(task))
            ends = [world.step({"action": np.array(1)}).truncated for _ in range(7)]
            assert ends == [False] * 6 + [True]
            with raises(UsageError, "start"):
                world.step({"action": np.array(1)})
    check_determinism(suite)


class Talkers(Corridor):
    """A corridor whose world answers messages, unless its `answer` is None."""

    def __init__(self, *, answer: str | None, **corridor: Any) -> None:
        super().__init__(**corridor)
        self._answer = answer

    def world(self) -> Walk:
        return Walk(self) if self._answer is None else Talker(self, self._answer)


class Talker(Walk):
    def __init__(self, suite: Corridor, answer: str) -> None:
        super().__init__(suite)
        self._answer, self.heard = answer, list[str]()

    def message(self, text: str) -> str:
        self.heard.append(text)
        return self._answer


def talking(*answers: str | None) -> Composed:
    """A suite with a part, and a task t0, t1, …, for each answer."""
    parts = list(enumerate(answers))
    suites = [
        {"factory": f"{__name__}:Talkers", "config": {"answer": answer, "solved": {"walk": [1]}}}
        for _, answer in parts
    ]
    tasks = {f"t{place}": {"suite": place, "task": "walk", "variants": [0]} for place, _ in parts}
    return Composed(suites, tasks)


@pytest.mark.parametrize(
    ("answers", "wanted"),
    [(["a"], "a"), ([None, "a"], "a"), (["", "b", "c"], "b"), ([None, None], ""), (["", None], "")],
)
def test_a_message_is_answered_by_the_first_part_that_has_an_answer(
    answers: Sequence[str | None], wanted: str
) -> None:
    worlds = Worlds(talking(*answers))
    assert worlds.env_message("before env_init") == wanted


def test_a_message_reaches_every_part_of_a_slot() -> None:
    """Also without an episode, and the parts whose tasks are not played."""
    with closing(talking("a", None, "c").world()) as world:
        assert isinstance(world, ComposedWorld)
        assert isinstance(world, Messaged)
        world.message("first")
        world.start(cell("t2"))
        world.message("second")
        heard = [each.heard for each in world._worlds.values() if isinstance(each, Talker)]
        assert heard == [["first", "second"]] * 2


SAYS = """
import gymnasium
import numpy as np


class Says(gymnasium.Env):
    observation_space = gymnasium.spaces.Discrete(2)

    def __init__(self, charset):
        self.action_space = gymnasium.spaces.Text(2, charset=charset)
"""


def test_what_else_a_spec_says_is_kept_where_all_tasks_say_the_same(tmp_path: Path) -> None:
    (tmp_path / "says.py").write_text(SAYS, encoding="utf-8")
    named = [suite_name(f"{tmp_path / 'says.py'}:Says", {"charset": c}) for c in ("ab", "cd")]
    suites = [{"factory": each.factory, "config": each.config} for each in named]
    [task] = named[0].build().variants
    one, other = ({"suite": place, "task": task, "variants": [0]} for place in (0, 1))
    assert Composed(suites, {"one": one, "same": one}).spec.extra == named[0].build().spec.extra
    assert Composed(suites, {"one": one, "other": other}).spec.extra == ""


def test_agents_see_what_is_named() -> None:
    table = {"suite": 3, "task": "Blackjack-v1", "variants": [0]}
    suite = Composed(SUITES, {"cards": table}, sees=["2", "0"])
    assert [tensor.name for tensor in suite.spec.observations] == ["2", "0"]
    with closing(suite.world()) as world:
        assert list(world.start(cell("cards"))) == ["2", "0"]


@pytest.mark.parametrize(
    ("tasks", "options", "kind", "named"),
    [
        ({}, {}, BadArgument, ["no tasks"]),
        ({"a": meta_world(variants=())}, {}, BadArgument, ["a:", "no variants", "0 to 2"]),
        ({"a": meta_world(variants=[3])}, {}, BadArgument, ["a:", "variant 3", "0 to 2"]),
        ({"a": meta_world("rech-v3")}, {}, UnknownName, ["task for a", "'rech-v3'", "reach-v3"]),
        ({"a": car()}, {"sees": ["obs"]}, UnknownName, ["tensor of a", "'obs'", "observation"]),
        (
            {"a": car(), "b": meta_world()},
            {},
            BadArgument,
            ["b:", "observation float64 (39,)", "observation float32 (2,)"],
        ),
    ],
)
def test_what_does_not_fit_is_refused(
    tasks: Any, options: Any, kind: type[UsageError], named: list[str]
) -> None:
    with raises(kind, *named):
        Composed(SUITES, tasks, **options)


def test_cells_that_there_are_not_are_refused() -> None:
    with closing(Composed(SUITES, {"a": car()}).world()) as world:
        with raises(UnknownName, "task", got="b"):
            world.start(cell("b"))
        with raises(BadArgument, "a:", got="variant 1", wanted="0 to 0"):
            world.start(cell("a", 1))


def test_an_episode_goes_on_in_another_world() -> None:
    suite = Composed(SUITES, {"slow": car(), "fast": car(2)}, horizon=7)
    check_determinism(suite)
    with closing(suite.world()) as world, closing(suite.world()) as other:
        assert isinstance(world, RestorableComposedWorld)
        assert isinstance(other, RestorableComposedWorld)
        world.start(cell("fast"))
        for _ in range(5):
            world.step({"action": np.array(1)})
        other.start(cell("slow"))
        other.set_state(world.get_state())
        for late in (False, True):
            here, there = (each.step({"action": np.array(2)}) for each in (world, other))
            assert here.observation["observation"].tolist() == (
                there.observation["observation"].tolist()
            )
            assert here.truncated is there.truncated is late
        with raises(UsageError, "start"):
            other.get_state()


def test_it_is_restorable_if_the_suites_of_its_tasks_are() -> None:
    assert isinstance(
        Composed(SUITES, {"near": meta_world(), "all": meta_world()}).world(),
        RestorableComposedWorld,
    )
    table = {"suite": 3, "task": "Blackjack-v1", "variants": [0]}
    assert not isinstance(Composed(SUITES, {"cards": table}).world(), Restorable)


def test_what_is_no_state_of_this_suite_is_refused_and_nothing_changes() -> None:
    tasks = {"near": meta_world(), "all": meta_world(variants=range(3))}
    longer, shorter = (Composed(SUITES, tasks, horizon=steps).world() for steps in (9, 8))
    with closing(longer) as world, closing(shorter) as foreign:
        assert isinstance(world, RestorableComposedWorld)
        assert isinstance(foreign, RestorableComposedWorld)
        foreign.start(cell("near"))
        world.start(cell("all", 1))
        state = world.get_state()
        for wrong, named in (
            (foreign.get_state(), ["suites", "tasks", "horizon", "tensors"]),
            (state[:-1], ["damaged", f"{len(state) - 1} bytes"]),
            (b"", [b""]),
            (seal(STATE, b"no JSON"), ["JSONDecodeError"]),
            (seal(STATE, b'{"mark": 1}'), ["KeyError('task')"]),
        ):
            with raises(BadArgument, *named):
                world.set_state(wrong)
            assert world.get_state() == state


_CART, _SWING = suite_name("gymnasium:CartPole-v1"), suite_name("gymnasium:Pendulum-v1")
DIFFERENT: Sequence[Mapping[str, Any]] = [
    {"factory": named.factory, "config": named.config} for named in (_CART, _CAR, _SWING, _CARDS)
]
THREE = {
    name: {"suite": place, "task": task, "variants": [0]}
    for place, (name, task) in enumerate(
        [("cart", "CartPole-v1"), ("car", "MountainCar-v0"), ("swing", "Pendulum-v1")]
    )
}
TWO = {name: THREE[name] for name in ("cart", "car")}


def described(suite: Composed) -> tuple[dict[str, Any], dict[str, Any]]:
    return (
        {each.name: (each.dtype, each.shape) for each in suite.spec.observations},
        {each.name: (each.dtype, each.shape) for each in suite.spec.actions},
    )


def test_superset_has_tensors_for_each_environment_and_says_which_are_filled() -> None:
    suite = Composed(DIFFERENT, THREE, fit="superset")
    assert described(suite) == (
        {
            "observation/0": ("float32", (4,)),
            "observation/1": ("float32", (2,)),
            "observation/2": ("float32", (3,)),
            "kind": ("int64", ()),
        },
        {"action/0": ("int64", ()), "action/1": ("float32", (1,))},
    )
    with closing(suite.world()) as world:
        for place, name in enumerate(THREE):
            seen = world.start(cell(name))
            assert seen["kind"] == place
            filled = [bool(np.any(seen[f"observation/{k}"])) for k in range(3)]
            assert filled == [k == place for k in range(3)]
    check_determinism(suite)


def test_an_environment_takes_its_own_action_of_a_superset() -> None:
    suite = Composed(DIFFERENT, THREE, fit="superset")
    alone = _SWING.build()
    action = {"action/0": np.array(2), "action/1": np.array([1.5], np.float32)}
    with closing(suite.world()) as world, closing(alone.world()) as other:
        world.start(cell("swing"))
        other.start(Cell("Pendulum-v1", 0, 5, 0, Phase.TRAIN))
        for _ in range(3):
            got, wanted = world.step(action), other.step({"action": action["action/1"]})
            assert got.reward == wanted.reward
            seen = got.observation["observation/2"]
            np.testing.assert_array_equal(seen, wanted.observation["observation"])


def test_pad_fills_with_zeros_behind_and_takes_the_widest_actions() -> None:
    suite = Composed(DIFFERENT, TWO, fit="pad")
    assert described(suite) == ({"observation": ("float32", (4,))}, {"action": ("int64", ())})
    with closing(suite.world()) as world:
        seen = world.start(cell("car"))["observation"]
        assert seen[0] != 0
        assert seen[1:].tolist() == [0, 0, 0]
        world.start(cell("cart"))
        two = world.step({"action": np.array(2)}).observation["observation"]
        world.start(cell("cart"))
        none = world.step({"action": np.array(0)}).observation["observation"]
        np.testing.assert_array_equal(two, none)  # CartPole has 0 and 1: what is above is 0
    check_determinism(suite)


def test_a_fitted_state_continues_in_another_world() -> None:
    suite = Composed(DIFFERENT, THREE, fit="superset")
    action = {"action/0": np.array(1), "action/1": np.zeros(1, np.float32)}
    with closing(suite.world()) as world, closing(suite.world()) as other:
        assert isinstance(world, RestorableComposedWorld)
        assert isinstance(other, RestorableComposedWorld)
        world.start(cell("car"))
        other.set_state(world.get_state())
        got, wanted = other.step(action).observation, world.step(action).observation
        np.testing.assert_array_equal(got["observation/1"], wanted["observation/1"])


@pytest.mark.parametrize(
    ("fit", "kind", "named"),
    [
        ("equal", BadArgument, ["car:", "observations", 'fit = "pad"', '"superset"']),
        ("pad", ConfigError, ["swing:", "actions", "Box(-2.0, 2.0, (1,), float32)"]),
        ("padd", UnknownName, ["fit", "'padd'", "pad"]),
    ],
)
def test_spaces_that_cannot_be_fitted_name_the_task_and_the_way_out(
    fit: Any, kind: type[UsageError], named: list[str]
) -> None:
    with raises(kind, *named):
        Composed(DIFFERENT, THREE, fit=fit)


@pytest.mark.parametrize(
    ("factory", "tells"), [("tests.worlds:Corridor", True), (f"{__name__}:Silent", False)]
)
def test_successes_are_told_unless_every_suite_says_that_it_has_none(
    factory: str, tells: bool
) -> None:
    silent = {"factory": f"{__name__}:Silent", "config": {"solved": {"walk": [1]}}}
    other = {"factory": factory, "config": {"solved": {"walk": [1]}}}
    walk = {"suite": 1, "task": "walk", "variants": [0]}
    assert Composed([silent, other], {"walk": walk}).tells_success == tells


class Silent(Corridor):
    """A suite without successes."""

    tells_success = False
