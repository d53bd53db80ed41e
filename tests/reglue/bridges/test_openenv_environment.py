"""Servers of OpenEnv as environments."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest
from openenv.core.generic_client import GenericEnvClient

import reglue
from env_adapters.suites import suite_name
from reglue.bridges.openenv.openenv_environment import OpenEnv
from reglue.errors import BadArgument, EnvironmentFault, EnvironmentLost, UsageError
from reglue.messages.agent_messages import Phase
from reglue.messages.environment_messages import Cell, Play, Played
from reglue.spec import Array, Discrete, TensorSpec
from reglue.texts import Text
from tests.error_facts import raises
from tests.leftovers import nothing_left
from tests.reglue.bridges.openenv_servers import (
    BAD_DATA,
    BAD_TEXTS,
    BentServer,
    Careless,
    Game,
    Tools,
    app_of,
    bent,
    example,
    served,
)

NOBODY = np.zeros(0, np.uint32)
SAY = Text("say", 8)
GEARS, WORDS = ("low", "high"), ("", "ä", "hello €")


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
def test_rows_are_those_of_a_loop_over_their_own_client(slots: int, workers: int) -> None:
    with served(app_of(Game)) as url:
        result = evaluated(url, 7, slots, workers=workers)
        rows = [(row.steps, row.return_) for row in result.episodes]
        assert rows == plain_episodes(url, [row.seed for row in result.episodes])
    assert result.repeatable is True
    assert len({earned for _, earned in rows}) == 7
    assert {steps for steps, _ in rows} == {9}


def test_a_seed_that_the_server_ignores_is_told() -> None:
    with served(app_of(Careless)) as url:
        result = evaluated(url, 3, 2)
    assert result.complete
    assert result.repeatable is False
    assert "the environment" in str(result.repeats[0])


def test_a_server_has_a_name_wherever_an_environment_has_one(tmp_path: Path) -> None:
    with served(app_of(Game)) as url:
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


def test_schemas_are_read() -> None:
    with served(app_of(Game)) as url, begun(url, 1) as environment:
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


def test_values_are_read_and_sent() -> None:
    with served(app_of(Game)) as url, begun(url, 2) as environment:
        first = start(environment, [0, 1]).observations
        assert np.isnan(first["last"]).all()
        actions = {each.name: each.empty(2) for each in environment.spec.actions}
        actions["say"][1] = environment_text(environment, "äß")
        seen = environment.play(Play(np.array([0, 1], np.uint32), actions, {})).observations
    assert seen["grid"].tolist() == [[[1, 1], [-1, 0]]] * 2
    assert seen["mood"].tolist() == [1, 1]
    assert seen["odd"].tolist() == [1, 1]
    assert Text("heard", 1000).decode(seen["heard"][1]) == "äß"
    assert Text("legs", 1000).decode(seen["pose/legs/1"][0]) == "é"


def environment_text(environment: OpenEnv, text: str) -> Array:
    (say,) = (each for each in environment.spec.actions if each.name == "say")
    return SAY.encode(text)[: say.size]


def test_a_server_of_tools_alone_is_refused() -> None:
    with (
        nothing_left(),
        served(app_of(Tools)) as url,
        raises(UsageError, url, "MCP", "typed actions"),
    ):
        OpenEnv(url).env_init(1)


def test_their_own_example_is_played(tmp_path: Path) -> None:
    """What `openenv init` writes: it echoes texts, and has one environment at once."""
    with example(tmp_path) as url:
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


@contextmanager
def begun(url: str, slots: int, **arguments: Any) -> Iterator[OpenEnv]:
    """An environment of some slots, of which each has begun an episode."""
    environment = OpenEnv(url, **arguments)
    environment.spec = environment.env_init(slots).with_slots(slots)
    try:
        start(environment, range(slots))
        yield environment
    finally:
        environment.env_cleanup()


def start(environment: OpenEnv, slots: Any) -> Played:
    cells = {slot: Cell("openenv", 0, slot, 0, Phase.EVALUATE) for slot in slots}
    return environment.play(Play(NOBODY, {}, cells))


def step(environment: OpenEnv, *slots: int) -> Played:
    numbers = np.array(slots, np.uint32)
    actions = {each.name: each.empty(len(slots)) for each in environment.spec.actions}
    return environment.play(Play(numbers, actions, {}))


@pytest.mark.parametrize("how", [*BAD_DATA, *BAD_TEXTS, "leaves", "huge", "bytes"])
def test_a_failure_is_that_of_its_slot_and_names_the_server(how: str) -> None:
    """The other slot goes on, and the slot begins anew."""
    server = BentServer(fails=how, failing=(2,))
    with nothing_left(), bent(server) as url, begun(url, 2) as environment:
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


def test_a_server_that_hangs_is_left_after_the_deadline() -> None:
    server = BentServer(fails="hangs", failing=(2,))
    with nothing_left(), bent(server) as url, begun(url, 2, answer_timeout_s=0.5) as environment:
        step(environment, 0, 1)
        failed = step(environment, 0, 1)
        ((slot, words),) = failed.faults.items()
        assert "no answer to step within 0.5 s" in words
        assert start(environment, [slot]).faults == {}


def test_an_environment_that_raises_fails_its_episode_alone() -> None:
    with nothing_left(), served(app_of(Game, 2)) as url, begun(url, 2) as environment:
        actions = {each.name: each.empty(2) for each in environment.spec.actions}
        actions["say"][1] = SAY.encode("crash")
        failed = environment.play(Play(np.array([0, 1], np.uint32), actions, {}))
        assert failed.faults.keys() == {1}
        assert "the point is lost" in failed.faults[1]
        assert start(environment, [1]).faults == {}, "its place was free at once"
        assert step(environment, 0, 1).faults == {}


def test_an_action_that_the_server_refuses_or_that_is_no_text_is_the_agents_error() -> None:
    with served(app_of(Game)) as url, begun(url, 2, action={"level": {"maximum": 5}}) as played:
        actions = {each.name: each.empty(2) for each in played.spec.actions}
        actions["level"][0] = 5
        actions["say"][1] = 255
        failed = played.play(Play(np.array([0, 1], np.uint32), actions, {}))
        assert failed.illegal == failed.faults.keys() == {0, 1}
        assert "level" in failed.faults[0]
        assert "UTF-8" in failed.faults[1]
        assert step(played, 0, 1).faults == {}, "nothing changed"


def test_a_server_that_stays_away_is_lost() -> None:
    with nothing_left():
        with bent(BentServer()) as url:
            environment = OpenEnv(url, answer_timeout_s=1)
            environment.spec = environment.env_init(2).with_slots(2)
            start(environment, [0, 1])
        assert step(environment, 0, 1).faults.keys() == {0, 1}
        with raises(EnvironmentLost, url, "slot 0", "no connection", "for 1 s"):
            start(environment, [0, 1])
        environment.env_cleanup()


def test_a_server_that_comes_back_in_time_plays_on() -> None:
    with nothing_left():
        with bent(BentServer()) as url:
            environment = OpenEnv(url, answer_timeout_s=30)
            environment.spec = environment.env_init(2).with_slots(2)
            start(environment, [0, 1])
        assert step(environment, 0, 1).faults.keys() == {0, 1}
        is_over = threading.Event()

        def come_back() -> None:
            with bent(BentServer(), at=urlsplit(url).port or 0):
                is_over.wait(60)

        later = threading.Timer(0.3, come_back)
        later.start()
        assert start(environment, [0, 1]).faults == {}
        environment.env_cleanup()
        is_over.set()
        later.join()


def test_all_requests_are_sent_before_the_first_answer_is_awaited() -> None:
    """A server that answers steps when four have come would never answer one."""
    with (
        bent(BentServer(together=threading.Barrier(4))) as url,
        begun(url, 4) as environment,
    ):
        assert step(environment, 0, 1, 2, 3).faults == {}


def test_environments_are_closed() -> None:
    server = BentServer()
    with bent(server) as url:
        with begun(url, 3):
            pass
        assert server.closed == server.count == 3


def test_more_slots_than_places_are_told_before_the_run() -> None:
    with (
        nothing_left(),
        served(app_of(Game, 2)) as url,
        raises(EnvironmentFault, url, "slot 2", "2 environments", "max_concurrent_envs"),
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
