"""Spaces as tensors, names that are wrong, packages that are missing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

from env_adapters import Restorable
from env_adapters.gymnasium import Gymnasium
from env_adapters.gymnasium.spaces import tensor
from env_adapters.suites import suite_name
from reglue.errors import CannotLoad, MissingExtra, UnknownName, UsageError
from reglue.spec import Box, Discrete, MultiBinary, MultiDiscrete, TensorSpec
from reglue.worlds import Seeded
from tests.env_adapters.gymnasium.playing import KNOWN

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
        (spaces.MultiBinary(4), TensorSpec("x", "int8", (4,), MultiBinary())),
        (spaces.MultiBinary((2, 3)), TensorSpec("x", "int8", (2, 3), MultiBinary())),
    ],
    ids=str,
)
def test_a_space_becomes_a_tensor(space: Any, wanted: TensorSpec) -> None:
    assert tensor("x", space) == wanted


@pytest.mark.parametrize(
    "space",
    [
        spaces.Dict(a=spaces.Discrete(2)),
        spaces.Tuple((spaces.Discrete(2),)),
        spaces.Text(3),
        spaces.MultiDiscrete([2, 3], start=[0, 1]),
    ],
    ids=str,
)
def test_a_space_that_has_no_tensor_is_named(space: Any) -> None:
    with pytest.raises(UsageError, match=r"the action space .* is not supported yet; wanted Box"):
        tensor("action", space)


def test_an_environment_of_such_a_space_is_refused() -> None:
    with pytest.raises(UsageError, match="the observation space Tuple"):
        Gymnasium("Blackjack-v1")


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
    with pytest.raises(UnknownName, match=r"did you mean .*CartPole-v1"):
        Gymnasium(name)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("CartPole-v1", {"wheels": 3}),
        ("Ant-v2", {}),  # moved to another package
        ("HalfCheetah-v5", {"xml_file": "no_such_file.xml"}),
        ("no_such_module:Env-v0", {}),
    ],
)
def test_what_gymnasium_cannot_make_is_told_with_its_reason(
    name: str, options: dict[str, Any]
) -> None:
    with pytest.raises(CannotLoad, match=rf"{name} could not be made with .*Error: "):
        Gymnasium(name, **options)


def test_without_gymnasium_its_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    with pytest.raises(MissingExtra, match=r"the package gymnasium: .*'reglue\[gymnasium\]'"):
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
    done = python(program)
    wanted = f"Ant-v5 needs the package {missing}: pip install 'reglue[gymnasium]'"
    assert json.loads(done) == ["MissingExtra", wanted]


def test_importing_the_adapter_does_not_load_gymnasium() -> None:
    program = """
import sys, env_adapters.gymnasium
print({'gymnasium', 'mujoco'} & set(sys.modules))
"""
    assert python(program) == "set()\n"


def python(program: str) -> str:
    """What a fresh interpreter prints."""
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
