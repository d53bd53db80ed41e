"""Environments that `make` and `make_vec` make by a name, an id or an address; and refusals."""

from __future__ import annotations

import copy
from contextlib import closing
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import reglue
from reglue.errors import (
    BadArgument,
    EnvironmentFault,
    NotAnEnvironment,
    UnknownName,
    Unreachable,
    UsageError,
)
from reglue.gymnasium import GlueEnv, make, make_vec
from reglue_bench import local_training
from tests.error_facts import raises
from tests.reglue.gymnasium.walks import WALK, glue, training

pytestmark = pytest.mark.usefixtures("tidy")


def test_gymnasium_makes_them_by_their_ids() -> None:
    with closing(gymnasium.make("reglue/cart-pole")) as env:
        assert isinstance(env.unwrapped, GlueEnv)
        env.reset()
        env.step(env.action_space.sample())
    made: Any = gymnasium.make_vec("reglue/mountain-car", num_envs=3, autoreset_mode="SameStep")
    with closing(made) as envs:
        envs.reset()
        assert envs.step(np.zeros(3, np.int64))[1].tolist() == [-1.0, -1.0, -1.0]
    assert all(":" not in name for name in gymnasium.registry if name.startswith("reglue/"))
    assert gymnasium.spec("reglue/MT1-reach-v3").kwargs == {"benchmark": "MT1:reach-v3"}


@pytest.mark.parametrize("given", ["reglue/MT1:reach-v3", "reglue/MT1-reach-v3"])
def test_an_id_of_gymnasiums_is_no_name(given: str) -> None:
    with raises(BadArgument, "'MT1:reach-v3'", "'reglue/MT1-reach-v3'"):
        make(given)


def test_the_number_stands_second_as_gymnasium_has_it() -> None:
    with closing(make_vec("mountain-car", 4)) as envs:
        assert envs.num_envs == 4
        with closing(copy.deepcopy(envs)) as copied:
            assert copied.num_envs == 4
    with raises(BadArgument, got="num_envs 0"):
        make_vec("mountain-car", 0)


def test_the_root_package_has_both_names() -> None:
    assert reglue.make is make
    assert reglue.make_vec is make_vec


def test_a_benchmark_has_a_slot_for_each_task_by_default() -> None:
    with closing(make_vec("mountain-car")) as envs:
        assert envs.num_envs == 1


def test_a_space_that_is_refused_is_all_that_is_said(tmp_path: Path) -> None:
    (tmp_path / "growing.py").write_text(
        "import gymnasium\n"
        "class Growing(gymnasium.Env):\n"
        "    observation_space = gymnasium.spaces.Sequence(gymnasium.spaces.Discrete(2))\n"
        "    action_space = gymnasium.spaces.Discrete(2)\n"
    )
    with raises(BadArgument, "observation space Sequence", "MultiDiscrete") as refused:
        make(f"{tmp_path}/growing.py:Growing")
    assert refused.value.__context__ is None


@pytest.mark.parametrize("name", ["gymnasium:CartPole-v1", "mountain-car"])
def test_a_keyword_of_the_environments_own_has_its_place_named(name: str) -> None:
    with raises(UnknownName, "environment_args", got="max_episode_steps"):
        make(name, max_episode_steps=20)


def test_what_makes_no_environment_is_refused() -> None:
    for wrong in (
        lambda: make(lambda: "CartPole-v1"),
        lambda: make_vec(dict, 4),
        lambda: make_vec(benchmark=[]),
    ):
        with raises(NotAnEnvironment, "gymnasium:CartPole-v1", "class"):
            wrong()


def test_a_name_or_an_address_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REGLUE_ADDRESS", raising=False)
    with raises(UsageError, "REGLUE_ADDRESS"):
        make()
    with raises(UnknownName, "MT10", got="MT11"):
        make("MT11")
    with raises(UsageError, "online:wait"):
        make("online:wait")
    for count in (0, "3"):
        with raises(BadArgument, 1, got=f"num_envs {count!r}"):
            make_vec(WALK, num_envs=count)  # type: ignore[arg-type]
    with raises(NotAnEnvironment, got=3):
        make(3)
    with raises(UnknownName, "session", "token", got="tokem"):
        make("127.0.0.1:9", tokem="x")
    with raises(UnknownName, "setting", "seed", got="sed"):
        make("mountain-car", sed=1)
    with raises(BadArgument, "'same'", "'NextStep', 'SameStep', 'Disabled'"):
        make_vec(WALK, autoreset_mode="same")  # type: ignore[arg-type]
    with raises(Unreachable, "connect_timeout_s"):
        make("127.0.0.1:9", connect_timeout_s=0.1)


def test_a_session_of_another_benchmark_is_refused() -> None:
    with glue(training) as played:
        server = played.server
        with raises(UsageError, "observations", "mountain-car", "float32"):
            make(server.address, "mountain-car", token=server.token)
    assert "the program has left" in str(played.error)


def test_the_address_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    with glue(training) as played:
        monkeypatch.setenv("REGLUE_ADDRESS", played.server.address)
        monkeypatch.setenv("REGLUE_TOKEN", played.server.token)
        with closing(make(benchmark=WALK)) as env:
            env.reset()
            assert env.spec is not None
            assert played.server.token not in repr(env.spec)
    assert played.error is not None


def test_an_endless_episode_is_not_kept_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_training, "MOST_CALLS", 100)
    (tmp_path / "endless.py").write_text(
        "import gymnasium\n"
        "class Endless(gymnasium.Env):\n"
        "    observation_space = action_space = gymnasium.spaces.Discrete(2)\n"
        "    def reset(self, *, seed=None, options=None):\n"
        "        self.left = 200\n"
        "        return 0, {}\n"
        "    def step(self, action):\n"
        "        self.left -= 1\n"
        "        return 0, 1 / self.left, False, False, {}\n"
    )
    with closing(make(f"{tmp_path}/endless.py:Endless")) as env:
        env.reset(seed=1)
        for _ in range(199):
            env.step(0)
        with pytest.raises(EnvironmentFault, match="division by zero") as failed:
            env.step(0)
    assert "not replayable: got more than 100 steps" in failed.value.__notes__[0]
