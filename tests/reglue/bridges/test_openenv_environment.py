"""Servers of OpenEnv as environments."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from http import HTTPStatus
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import reglue
from env_adapters.suites import suite_name
from reglue.bridges.openenv.openenv_environment import OpenEnv
from reglue.errors import BadArgument, EnvironmentFault, EnvironmentFull, UsageError
from reglue.spec import Array, Discrete, TensorSpec
from reglue.texts import Text
from reglue_bench.benchmark.benchmark import make_plan
from reglue_bench.benchmark.declared import declared_repeatable
from reglue_bench.settings import read_settings
from tests.error_facts import raises
from tests.leftovers import nothing_left
from tests.reglue.bridges.begun_worlds import begun, start, step
from tests.reglue.bridges.bent_openenv_server import BAD_DATA, BAD_TEXTS, BentServer, bent

SAY = Text("say", 8)
GEARS, WORDS = ("low", "high"), ("", "ä", "hello €")


@pytest.fixture(scope="module")
def theirs() -> ModuleType:
    """Servers of OpenEnv's own package, which takes more than a second to load."""
    from tests.reglue.bridges import openenv_servers

    return openenv_servers


def play(seen: Mapping[str, Array]) -> dict[str, Array]:
    """A policy over batches."""
    at, ticks = seen["pose/at"], seen["ticks"]
    return {
        "push": np.tanh(at[:, :2]),
        "gear": ticks % 2,
        "level": np.sign(at[:, 2]).astype(np.int64),
        "say": np.stack([SAY.encode(WORDS[tick % 3]) for tick in ticks]),
        "is_fast": 1 - ticks % 2,
    }


def plain_episodes(url: str, seeds: Sequence[int]) -> list[Any]:
    """The same policy in a loop over their own client: (steps, return) of each episode."""
    from openenv.core.generic_client import GenericEnvClient

    played = []
    with GenericEnvClient(base_url=url) as client:
        for seed in seeds:
            result, steps, earned = client.reset(seed=seed, length=9), 0, 0.0
            while not result.done:
                seen = result.observation
                done = play(
                    {
                        "pose/at": np.array([seen["pose"]["at"]]),
                        "ticks": np.array([seen["ticks"]]),
                    }
                )
                action = {
                    "push": done["push"][0].tolist(),
                    "gear": GEARS[done["gear"][0]],
                    "level": int(done["level"][0]),
                    "say": SAY.decode(done["say"][0]),
                    "is_fast": bool(done["is_fast"][0]),
                }
                result = client.step(action)
                steps, earned = steps + 1, earned + result.reward
            played.append((steps, earned))
    return played


def evaluated(url: str, episodes: int, slots: int, **settings: Any) -> Any:
    return reglue.evaluate(
        f"evaluate:openenv:{url}",
        play,
        num_episodes=episodes,
        slots=slots,
        environment_args={"reset_settings": {"length": 9}},
        **settings,
    )


@pytest.mark.parametrize(("slots", "workers"), [(1, 0), (3, 0), (3, 2)])
def test_rows_are_those_of_a_loop_over_their_own_client(
    slots: int, workers: int, theirs: ModuleType
) -> None:
    with theirs.served(theirs.app_of(theirs.Game)) as url:
        result = evaluated(url, 7, slots, workers=workers)
        rows = [(row.steps, row.return_) for row in result.episodes]
        assert rows == plain_episodes(url, [row.seed for row in result.episodes])
    assert result.repeatable is True
    assert result.events == [], "null in a property that may be null is no mistake"
    assert len({earned for _, earned in rows}) == 7
    assert {steps for steps, _ in rows} == {9}


def test_a_seed_that_the_server_ignores_is_told(theirs: ModuleType) -> None:
    with theirs.served(theirs.app_of(theirs.Careless)) as url:
        result = evaluated(url, 3, 2)
    assert result.complete
    assert result.repeatable is False
    assert "the environment" in str(result.repeats[0])


def test_an_environment_that_ignores_seeds_is_declared_not_repeatable(theirs: ModuleType) -> None:
    with theirs.served(theirs.app_of(theirs.Careless)) as url:
        name = f"evaluate:openenv:{url}"
        result = reglue.evaluate(
            name, agent="random", num_episodes=2, slots=2, environment_args={"repeatable": False}
        )
        plan = make_plan(read_settings(benchmark=name, environment_args={"repeatable": False}))
    assert result.complete
    assert result.repeatable is False
    assert result.repeats[0].declared
    assert not declared_repeatable(plan)


def test_a_server_has_a_name_wherever_an_environment_has_one(
    tmp_path: Path, theirs: ModuleType
) -> None:
    with theirs.served(theirs.app_of(theirs.Game)) as url:
        name = f"openenv:{url}/"
        with closing(reglue.make_vec(name, 2)) as batch:
            batch.reset()
            actions = batch.action_space.sample()
            actions["say"][:] = 0
            ends = [batch.step(actions)[2].any() for _ in range(5)]
            assert ends == [False] * 4 + [True]
        with suite_name(name).opened() as suite:
            assert "pose/at" in {each.name for each in suite.spec.observations}
        done = command(f"online:{name}", "--runs", "1", "--episodes", "2", out=tmp_path / "run")
    assert done.returncode == 0, done.stderr


def command(name: str, *settings: str, out: Path) -> Any:
    words = [sys.executable, "-m", "reglue", "bench", name, "--agent", "random", *settings]
    return subprocess.run(
        [*words, "--out", str(out)], capture_output=True, text=True, timeout=120, check=False
    )


# Specs.


def test_schemas_are_read(theirs: ModuleType) -> None:
    with theirs.served(theirs.app_of(theirs.Game)) as url, begun(OpenEnv(url), 1) as environment:
        spec = environment.spec
    assert spec.actions == (
        TensorSpec("push", "float64", (2,)),
        TensorSpec("gear", "int64", (), Discrete(2)),
        TensorSpec("level", "int64", (), Discrete(4, -1)),
        Text("say", 8).plain,
        TensorSpec("is_fast", "int64", (), Discrete(2)),
    )
    assert spec.observations == (
        TensorSpec("pose/at", "float64", (3,)),
        TensorSpec("pose/legs/0", "int64"),
        Text("pose/legs/1", 1000).plain,
        TensorSpec("ticks", "int64"),
        TensorSpec("grid", "int64", (2, 2)),
        TensorSpec("mood", "int64", (), Discrete(3)),
        Text("heard", 1000).plain,
        TensorSpec("last", "float64"),
        TensorSpec("odd", "int64", (), Discrete(2)),
    )


def test_values_are_read_and_sent(theirs: ModuleType) -> None:
    with theirs.served(theirs.app_of(theirs.Game)) as url, begun(OpenEnv(url), 2) as environment:
        first = start(environment, [0, 1]).observations
        assert np.isnan(first["last"]).all()
        said = np.stack([SAY.encode(""), SAY.encode("äß")])
        seen = step(environment, 0, 1, say=said).observations
    assert seen["grid"].tolist() == [[[1, 1], [-1, 0]]] * 2
    assert seen["mood"].tolist() == [1, 1]
    assert seen["odd"].tolist() == [1, 1]
    assert Text("heard", 1000).decode(seen["heard"][1]) == "äß"
    assert Text("legs", 1000).decode(seen["pose/legs/1"][0]) == "é"


def test_a_server_of_tools_alone_is_refused(theirs: ModuleType) -> None:
    with (
        nothing_left(),
        theirs.served(theirs.app_of(theirs.Tools)) as url,
        raises(UsageError, url, "MCP", "typed actions"),
    ):
        OpenEnv(url).env_init(1)


@pytest.mark.slow
def test_their_own_example_is_played(tmp_path: Path, theirs: ModuleType) -> None:
    """The server that `openenv init` writes echoes texts, and has one environment at once."""
    from openenv.core.generic_client import GenericEnvClient

    with theirs.example(tmp_path) as url:
        with GenericEnvClient(base_url=url) as client:
            client.reset()
            wanted = [client.step({"message": each}).reward for each in WORDS]
        with closing(reglue.make(f"openenv:{url}")) as env:
            env.reset()
            message = Text("message", 1000)
            earned = [env.step(message.encode(each))[1] for each in WORDS]
        assert earned == wanted
        done = command(f"evaluate:openenv:{url}", "--slots", "2", out=tmp_path / "run")
        assert done.returncode != 0
        assert "1 environments at once" in done.stderr.replace("\n", " ")
        assert "max_concurrent_envs" in done.stderr


# Servers that fail.


@pytest.mark.parametrize("how", [*BAD_DATA, *BAD_TEXTS, "leaves", "huge", "bytes"])
def test_a_failure_is_that_of_its_slot_and_names_the_server(how: str) -> None:
    """The other slot goes on, and the slot begins anew."""
    server = BentServer(fails=how, failing=(2,))
    with nothing_left(), bent(server) as url, begun(OpenEnv(url), 2) as environment:
        assert step(environment, 0, 1).faults == {}
        failed = step(environment, 0, 1)
        ((slot, words),) = failed.faults.items()
        assert failed.illegal == set()
        if how != "integer out of bounds":  # which the SDK finds
            assert f"{url}, slot {slot}: " in words
        assert words.isprintable()
        assert len(words) < 1000
        assert failed.rewards[1 - slot] == 0.5
        assert not failed.observations["count"][slot].any() or how == "integer out of bounds"
        assert start(environment, [slot]).faults == {}
        again = [step(environment, slot).faults for _ in range(3)]
        assert again == [{}, {}, {}] or how == "integer out of bounds"
        assert step(environment, 1 - slot).faults == {}


def test_an_environment_that_raises_fails_its_episode_alone(theirs: ModuleType) -> None:
    with (
        nothing_left(),
        theirs.served(theirs.app_of(theirs.Game, 2)) as url,
        begun(OpenEnv(url), 2) as environment,
    ):
        failed = step(environment, 0, 1, say=np.stack([SAY.encode(""), SAY.encode("crash")]))
        assert failed.faults.keys() == {1}
        assert "the point is lost" in failed.faults[1]
        assert start(environment, [1]).faults == {}, "its place was free at once"
        assert step(environment, 0, 1).faults == {}


def test_an_action_that_the_server_refuses_or_that_is_no_text_is_the_agents_error(
    theirs: ModuleType,
) -> None:
    with (
        theirs.served(theirs.app_of(theirs.Game)) as url,
        begun(OpenEnv(url, action={"level": {"maximum": 5}}), 2) as played,
    ):
        said = np.stack([SAY.encode(""), np.full(SAY.size, 255, np.uint8)])
        failed = step(played, 0, 1, level=np.array([5, 0]), say=said)
        assert failed.illegal == failed.faults.keys() == {0, 1}
        assert "level" in failed.faults[0]
        assert "UTF-8" in failed.faults[1]
        assert step(played, 0, 1).faults == {}, "nothing changed"


def test_environments_are_closed() -> None:
    server = BentServer()
    with bent(server) as url:
        with begun(OpenEnv(url), 3):
            pass
        assert server.closed == server.count == 3


def test_more_slots_than_places_are_told_before_the_run(theirs: ModuleType) -> None:
    with (
        nothing_left(),
        theirs.served(theirs.app_of(theirs.Game, 2)) as url,
        raises(EnvironmentFull, url, "slot 2", "2 environments", "max_concurrent_envs"),
    ):
        OpenEnv(url).env_init(3)


@pytest.mark.parametrize(
    ("server", "words"),
    [
        (BentServer(schemas="<!DOCTYPE html>"), "DOCTYPE"),
        (BentServer(schemas="{", status=HTTPStatus.NOT_FOUND), "status 404"),
        (BentServer(schemas="[1]"), "[1]"),
        (BentServer(schemas=" " * (17 * 2**20)), "JSON"),
        (BentServer(schemas="{}"), "action"),
        (BentServer(schemas='{"action": 3, "observation": "x"}'), "action"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_schemas_that_are_none_are_told_before_the_run(server: BentServer, words: str) -> None:
    with nothing_left(), bent(server) as url, pytest.raises(reglue.ReglueError) as refused:
        OpenEnv(url, answer_timeout_s=20).env_init(1)
    assert url in str(refused.value)
    assert words in str(refused.value)


def test_no_server_and_one_that_says_nothing_are_told_before_the_run() -> None:

    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        with nothing_left(), raises(EnvironmentFault, f"http://127.0.0.1:{port}", "/schema"):
            OpenEnv(f"http://127.0.0.1:{port}", answer_timeout_s=0.3).env_init(1)
    with raises(EnvironmentFault, f"http://127.0.0.1:{port}", "/schema"):
        OpenEnv(f"http://127.0.0.1:{port}").env_init(1)


@pytest.mark.parametrize(
    "arguments",
    [
        {"url": "127.0.0.1:8000"},
        {"url": "ftp://host"},
        {"url": "http://"},
        {"url": "http://host:port"},
        {"url": 3},
        {"answer_timeout_s": 0},
        {"answer_timeout_s": "long"},
        {"action": [1]},
        {"observation": 3},
        {"reset_settings": {"seed": 3}},
        {"repeatable": "false"},
    ],
)
def test_wrong_arguments_are_refused_before_a_connection(arguments: Any) -> None:
    with pytest.raises(BadArgument):
        OpenEnv(**{"url": "http://127.0.0.1:1", **arguments})


def test_without_its_package_the_extra_is_named() -> None:
    code = (
        "import sys; sys.modules['websockets'] = None; "
        "from reglue.bridges.openenv import openenv_environment"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )
    assert "reglue[openenv]" in done.stderr.splitlines()[-1]
