"""Spaces as tensors, names that are wrong, packages that are missing."""

from __future__ import annotations

import json
import re
import sys
from contextlib import closing
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from env_adapters import Restorable
from env_adapters.gymnasium import Gymnasium
from env_adapters.gymnasium.space_tensors import Tensors
from env_adapters.gymnasium_library import make
from env_adapters.suites import suite_name
from reglue.environments.world import Seeded
from reglue.errors import (
    BadArgument,
    CannotLoad,
    IllegalAction,
    MissingExtra,
    UnknownName,
)
from reglue.messages.agent_messages import Phase
from reglue.messages.environment_messages import Cell
from reglue.spaces import space_of
from reglue.spec import Box, Discrete, MultiBinary, MultiDiscrete, TensorSpec
from tests.env_adapters.gymnasium.gymnasium_playing import KNOWN
from tests.error_facts import raises
from tests.programs import run_python

INF = np.inf


@pytest.mark.parametrize(
    ("space", "wanted"),
    [
        (spaces.Discrete(3), TensorSpec("x", "int64", (), Discrete(3))),
        (spaces.Discrete(3, start=-1), TensorSpec("x", "int64", (), Discrete(3, -1))),
        (spaces.Box(-INF, INF, (2, 3), np.float64), TensorSpec("x", "float64", (2, 3))),
        (spaces.Box(0, 255, (2, 2), np.uint8), TensorSpec("x", "uint8", (2, 2), Box((0,), (255,)))),
        (
            spaces.Box(np.array([-1, -INF]), np.array([1, 2.5]), dtype=np.float64),
            TensorSpec("x", "float64", (2,), Box((-1, -INF), (1, 2.5))),
        ),
        (spaces.Box(-INF, 1, (2,), np.float32), TensorSpec("x", "float32", (2,), Box((), (1,)))),
        (spaces.Box(0, 1, (0,), np.float32), TensorSpec("x", "float32", (0,))),
        (
            spaces.MultiDiscrete(np.array([[2, 3], [4, 5]])),
            TensorSpec("x", "int64", (2, 2), MultiDiscrete((2, 3, 4, 5))),
        ),
        (
            spaces.MultiDiscrete([2, 3], start=[0, -1]),
            TensorSpec("x", "int64", (2,), MultiDiscrete((2, 3))),
        ),
        (
            spaces.MultiDiscrete([3, 3], start=[5, 5]),
            TensorSpec("x", "int64", (2,), Discrete(3, 5)),
        ),
        (spaces.MultiBinary(4), TensorSpec("x", "int8", (4,), MultiBinary())),
        (spaces.MultiBinary((2, 3)), TensorSpec("x", "int8", (2, 3), MultiBinary())),
    ],
    ids=str,
)
def test_a_space_becomes_a_tensor(space: Any, wanted: TensorSpec) -> None:
    assert Tensors("x", space).specs == (wanted,)


@pytest.mark.parametrize(
    ("space", "why"),
    [
        (spaces.Sequence(spaces.Discrete(2)), "length"),
        (spaces.Graph(spaces.Discrete(2), None), "size"),
        (spaces.OneOf((spaces.Discrete(2),)), "kind"),
    ],
    ids=str,
)
def test_a_space_that_has_no_tensor_is_named(space: Any, why: str) -> None:
    with raises(BadArgument, f"a/0 space {space}", why, "Box"):
        Tensors("action", spaces.Dict(a=spaces.Tuple((space,))))


@pytest.mark.parametrize(
    ("space", "named"),
    [
        (spaces.Dict({}), []),
        (
            spaces.Dict({"a/b": spaces.Discrete(2), "a": spaces.Dict(b=spaces.Discrete(2))}),
            ["a/b", "a/b"],
        ),
        (spaces.Text(3, charset="ab\0"), "NUL"),
    ],
)
def test_entries_without_a_name_of_their_own_are_refused(space: Any, named: Any) -> None:
    with raises(BadArgument, "observation space", named):
        Tensors("observation", space)


NESTED = spaces.Dict(
    camera=spaces.Dict(left=spaces.Box(0, 255, (2, 2), np.uint8)),
    joints=spaces.Tuple((spaces.Box(-1, 1, (3,), np.float32), spaces.Discrete(4, start=1))),
    said=spaces.Text(4, charset="aé€"),
    keys=spaces.MultiBinary(3),
)


def test_entries_are_tensors_named_by_their_way_in() -> None:
    specs = {spec.name: spec for spec in Tensors("observation", NESTED).specs}
    assert list(specs) == ["camera/left", "joints/0", "joints/1", "said", "keys"]
    assert specs["joints/1"] == TensorSpec("joints/1", "int64", (), Discrete(4, 1))
    assert specs["said"].plain == TensorSpec("said", "uint8", (12,), Box((0,), (255,)))


@pytest.mark.parametrize(
    "space",
    [
        NESTED,
        spaces.Discrete(3),
        spaces.Box(-1, 1, (2,)),
        spaces.MultiDiscrete([2, 3], start=[7, -1]),
        spaces.MultiDiscrete(np.array([[3, 4]], np.int8), np.int8, start=np.array([[0, -2]])),
        spaces.MultiDiscrete([3, 3], start=[5, 5]),
    ],
    ids=str,
)
def test_values_are_the_same_there_and_back(space: Any) -> None:
    tensors = Tensors("x", space)
    space.seed(3)
    for _ in range(20):
        value = space.sample()
        there = tensors.arrays(value)
        for spec in tensors.specs:
            array = there[spec.name]
            assert (array.shape, str(array.dtype)) == (spec.shape, spec.dtype)
            if spec.limits is not None:
                assert ((array >= spec.limits[0]) & (array <= spec.limits[1])).all()
        assert space.contains(tensors.value(there))
        assert str(tensors.value(there)) == str(value)


def test_text_that_the_space_does_not_hold_is_refused() -> None:
    tensors = Tensors("said", spaces.Text(3, charset="ab"))
    with raises(IllegalAction, "said", "abz"):
        tensors.value({"said": np.frombuffer(b"abz", np.uint8)})


@pytest.mark.parametrize(
    "space",
    [
        spaces.Box(np.array([-1, -INF]), np.array([1, 2.5]), dtype=np.float64),
        spaces.Box(0, 255, (2, 2), np.uint8),
        spaces.Discrete(3, start=-1),
        spaces.MultiDiscrete(np.array([[2, 3], [4, 5]])),
        spaces.MultiDiscrete([3, 3], start=[5, 5]),
        spaces.MultiBinary((2, 3)),
    ],
    ids=str,
)
def test_a_tensor_becomes_its_space_again(space: Any) -> None:
    assert space_of(Tensors("x", space).specs) == space
    both = spaces.Dict(a=space, b=spaces.Discrete(2))
    assert space_of(Tensors("x", both).specs) == both


def test_an_environment_with_a_tuple_is_played() -> None:
    with closing(Gymnasium("Blackjack-v1").world()) as world:
        first = world.start(Cell("Blackjack-v1", 0, 1, 0, Phase.TRAIN))
    assert sorted(first) == ["0", "1", "2"]


def test_the_spec_is_that_of_the_environment() -> None:
    suite = Gymnasium("CartPole-v1")
    angle, place = 24 * np.pi / 180, 4.8
    high = tuple(np.array([place, INF, angle, INF], np.float32).tolist())
    low = tuple(-each for each in high)
    assert suite.spec.observations == (TensorSpec("observation", "float32", (4,), Box(low, high)),)
    assert suite.spec.actions == (TensorSpec("action", "int64", (), Discrete(2)),)
    assert suite.spec.horizon == 500
    assert suite.variants == {"CartPole-v1": 1}


@pytest.mark.parametrize(("limit", "horizon"), [(7, 7), (-1, 0)])
def test_the_time_limit_can_be_chosen(limit: int, horizon: int) -> None:
    assert Gymnasium("CartPole-v1", max_episode_steps=limit).spec.horizon == horizon


@pytest.mark.parametrize(("name", "options"), KNOWN)
def test_what_is_known_inside_claims_all(name: str, options: dict[str, Any]) -> None:
    suite = Gymnasium(name, **options)
    world = suite.world()
    claims = (suite.standardizes, isinstance(world, Restorable), isinstance(world, Seeded))
    assert claims == (True, True, True)


@pytest.mark.parametrize(
    ("name", "known"), [("cart-pole", "CartPole-v1"), ("gymnasium:Ant-v5", "Ant-v5")]
)
def test_it_is_built_by_name(name: str, known: str) -> None:
    assert list(suite_name(name).build().variants) == [known]


@pytest.mark.parametrize("name", ["CartPol-v1", "CartPole-v9", "cartpole"])
def test_an_unknown_id_lists_the_near_ones(name: str) -> None:
    with raises(UnknownName, "CartPole-v1", f"gymnasium:my_module:{name}", got=name):
        Gymnasium(name)


def test_a_module_that_is_named_is_not_asked_for() -> None:
    with pytest.raises(UnknownName) as refused:
        Gymnasium("gymnasium.envs:CartPol-v1")
    assert "my_module" not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "options", "reasons"),
    [
        ("CartPole-v1", {"wheels": 3}, {"TypeError"}),
        # Moved to another package, which another test of this process may have loaded.
        ("Ant-v2", {}, {"ImportError", "DependencyNotInstalled"}),
        ("HalfCheetah-v5", {"xml_file": "no_such_file.xml"}, {"OSError"}),
        ("no_such_module:Env-v0", {}, {"ModuleNotFoundError"}),
    ],
)
def test_what_gymnasium_cannot_make_is_told_with_its_reason(
    name: str, options: dict[str, Any], reasons: set[str]
) -> None:
    with raises(CannotLoad, name, options) as refused:
        Gymnasium(name, **options)
    (reason,) = re.findall(r"could not be made with .*?: (\w+): ", str(refused.value))
    assert reason in reasons


class Untold(gymnasium.Env[Any, Any]):
    """Says that it never tells of success."""

    observation_space = action_space = spaces.Discrete(2)
    tells_success = False


class Unsaid(gymnasium.Env[Any, Any]):
    """Says nothing of it."""

    observation_space = action_space = spaces.Discrete(2)


@pytest.mark.parametrize("made", [Untold, Unsaid])
def test_an_environment_may_say_that_it_never_tells_of_success(
    monkeypatch: pytest.MonkeyPatch, made: Any
) -> None:
    monkeypatch.setattr(gymnasium.envs.registration, "registry", dict(gymnasium.registry))
    gymnasium.register("Ours-v0", made)
    assert Gymnasium("Ours-v0").tells_success == (made is Unsaid)


def test_without_gymnasium_its_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    with raises(MissingExtra, "'reglue[gymnasium]'", name="the package gymnasium"):
        Gymnasium("CartPole-v1")


@pytest.mark.parametrize("missing", ["mujoco", "imageio"])
def test_without_what_mujoco_needs_the_extra_is_named(missing: str) -> None:
    program = f"""
import json, sys
sys.modules[{missing!r}] = None
from env_adapters.gymnasium import Gymnasium
Gymnasium("CartPole-v1").world()
try:
    Gymnasium("Ant-v5")
except Exception as error:
    print(json.dumps([type(error).__name__, str(error)]))
"""
    done = run_python(program, PYTHONWARNINGS="error").stdout
    wanted = f"Ant-v5 needs the package {missing}: pip install 'reglue[gymnasium]'"
    assert json.loads(done) == ["MissingExtra", wanted]


def test_importing_the_adapter_does_not_load_gymnasium() -> None:
    program = """
import sys, env_adapters.gymnasium
print({'gymnasium', 'mujoco'} & set(sys.modules))
"""
    assert run_python(program, PYTHONWARNINGS="error").stdout == "set()\n"


def test_a_view_of_a_benchmark_is_no_environment_of_one() -> None:
    with raises(BadArgument, "reglue/MT10", "benchmark MT10"):
        make("reglue/MT10", {})
    with pytest.raises(UnknownName) as refused:
        make("xyzzy", {})
    _, known = str(refused.value).split("(known: ")
    first, *others = known.split(" and ")[0].split(", ")
    assert others
    assert first in gymnasium.registry
    assert "reglue/" not in known
