"""Servers of dm_env_rpc as environments."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dm_env_rpc.v1 import connection, dm_env_adaptor, tensor_utils
from dm_env_rpc.v1 import dm_env_rpc_pb2 as pb

import reglue
from env_adapters.suites import suite_name
from reglue.bridges.dm_env_rpc.rpc_environment import DmEnvRpc
from reglue.errors import BadArgument, EnvironmentFault, UsageError
from reglue.messages.agent_messages import Phase
from reglue.messages.environment_messages import Cell, Play, Played
from reglue.spec import Array, Box, Discrete, TensorSpec
from tests.error_facts import raises
from tests.leftovers import nothing_left
from tests.reglue.bridges.dm_servers import FAILURES, SPECS, GameServer, served

NOBODY = np.zeros(0, np.uint32)


def play(seen: Mapping[str, Array]) -> dict[str, Array]:
    """A policy over batches."""
    place = seen["place"]
    gear = np.sign(place[:, 0]).astype(np.int8)
    return {"push": np.tanh(place[:, :2]).astype(np.float32), "gear": gear}


def plain_episodes(address: str, count: int, seeds: list[int] | None = None) -> list[Any]:
    """The same policy in a loop over their own client: (steps, return) of each episode."""
    with connection.create_secure_channel_and_connect(address) as channel:
        env, _ = dm_env_adaptor.create_and_join_world(channel, {"length": 9}, {})
        played = []
        for number in range(count):
            if seeds is None:
                step = env.reset()
            else:
                seed = tensor_utils.pack_tensor(seeds[number])
                channel.send(pb.ResetRequest(settings={"seed": seed}))
                env._last_state = pb.EnvironmentStateType.INTERRUPTED  # as its reset says
                step = env.step({})
            steps, earned = 0, 0.0
            while not step.last():
                action = play({"place": step.observation["place"][None]})
                step = env.step({name: rows[0] for name, rows in action.items()})
                steps, earned = steps + 1, earned + step.reward
            played.append((steps, earned))
        env.close()
        return played


def evaluated(address: str, episodes: int, slots: int, **arguments: Any) -> Any:
    return reglue.evaluate(
        f"evaluate:dm-env-rpc:{address}",
        play,
        num_episodes=episodes,
        slots=slots,
        environment_args={"length": 9, **arguments},
    )


def test_unseeded_rows_are_those_of_a_plain_loop_and_not_repeatable() -> None:
    with served(GameServer()) as address:
        result = evaluated(address, 5, 1)
        rows = [(row.steps, row.return_) for row in result.episodes]  # played in another order
        assert sorted(rows) == sorted(plain_episodes(address, 5))
    assert result.repeatable is False


@pytest.mark.parametrize("slots", [1, 3])
@pytest.mark.parametrize("seed_at", ["reset", "create"])
def test_seeded_rows_are_those_of_a_plain_loop_in_any_number_of_slots(
    slots: int, seed_at: str
) -> None:
    server = GameServer()
    with served(server) as address:
        result = evaluated(address, 7, slots, seed_setting="seed", seed_at=seed_at)
        seeds = [row.seed for row in result.episodes]
        rows = [(row.steps, row.return_) for row in result.episodes]
        assert rows == plain_episodes(address, 7, seeds)
    assert result.repeatable is True
    assert len({ret for _, ret in rows}) == 7
    assert seed_at in {kind.removesuffix("_world") for kind, said in server.settings if said}


def test_a_server_has_a_name_wherever_an_environment_has_one() -> None:
    with served(GameServer()) as address:
        name = f"dm-env-rpc:{address}"
        with closing(reglue.make_vec(name, 2, environment_args={"length": 3})) as batch:
            batch.reset()
            truncations = [batch.step(batch.action_space.sample())[3].any() for _ in range(3)]
            assert truncations == [False, False, True], "a game of 3 steps is interrupted"
        with suite_name(name).opened() as suite:
            assert [each.name for each in suite.spec.observations] == ["place", "ticks", "odd"]


def test_its_settings_are_arguments_of_the_command(tmp_path: Path) -> None:
    server = GameServer()
    with served(server) as address:
        done = subprocess.run(
            [
                *(sys.executable, "-m", "reglue", "bench", f"online:dm-env-rpc:{address}"),
                *("--agent", "random", "--runs", "1", "--episodes", "2"),
                *("--environment-arg", "length=4", "--environment-arg", "seed_setting=seed"),
                *("--out", str(tmp_path / "run")),
            ],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    assert ("create_world", {"length": 4}) in server.settings
    assert not server.worlds, "they are destroyed"


# Specs.


def test_specs_are_read() -> None:
    with served(GameServer()) as address, begun(address, 1) as environment:
        spec = environment.spec
        assert spec.actions == (
            TensorSpec("push", "float32", (2,), Box((-1.0,), (1.0, 2.0))),
            TensorSpec("gear", "int8", (), Discrete(3, -1)),
        )
        assert spec.observations == (
            TensorSpec("place", "float64", (3,)),
            TensorSpec("ticks", "uint8", (2, 2)),
            TensorSpec("odd", "bool"),
        )


@pytest.mark.parametrize(
    ("tensor", "got"),
    [
        (pb.TensorSpec(name="words", dtype=pb.DataType.STRING), "STRING"),
        (pb.TensorSpec(name="words", dtype=pb.DataType.PROTO), "PROTO"),
        (pb.TensorSpec(name="words", dtype=99), "data type 99"),
        (pb.TensorSpec(name="words", dtype=pb.DataType.FLOAT, shape=[-1, 2]), "shape [-1, 2]"),
        (
            pb.TensorSpec(name="words", dtype=pb.DataType.FLOAT, shape=[2**31 - 1] * 60),
            "shape [2147483647",
        ),
        (
            pb.TensorSpec(
                name="words",
                dtype=pb.DataType.FLOAT,
                shape=[3],
                min={"floats": {"array": [1.0, 2.0]}},
            ),
            "a bound of 2 floats",
        ),
        (
            pb.TensorSpec(name="words", dtype=pb.DataType.FLOAT, min={"int32s": {"array": [1]}}),
            "a bound of 1 int32s",
        ),
        (pb.TensorSpec(name="reward", dtype=pb.DataType.FLOAT, shape=[2]), "shape [2]"),
    ],
)
def test_tensors_that_no_spec_can_say_are_refused_by_name(tensor: Any, got: str) -> None:
    specs = pb.ActionObservationSpecs(actions=SPECS.actions, observations={1: tensor})
    with (
        nothing_left(),
        served(GameServer(specs=specs)) as address,
        pytest.raises(UsageError, match=tensor.name) as refused,
    ):
        DmEnvRpc(address).env_init(2)
    assert got in refused.value.got


@pytest.mark.parametrize("lacks", ["actions", "observations"])
def test_a_server_without_actions_or_observations_is_refused(lacks: str) -> None:
    specs = pb.ActionObservationSpecs(actions=SPECS.actions, observations=SPECS.observations)
    specs.ClearField(lacks)
    with served(GameServer(specs=specs)) as address, pytest.raises(UsageError, match=lacks):
        DmEnvRpc(address).env_init(1)


@pytest.mark.parametrize(
    "arguments",
    [
        {"seed_at": "join"},
        {"answer_timeout_s": 0},
        {"answer_timeout_s": "long"},
        {"length": {"a": 1}},
        {"join_settings": {"team": None}},
        {"reset_settings": [1]},
    ],
)
def test_wrong_arguments_are_refused_before_a_connection(arguments: Any) -> None:
    with pytest.raises(BadArgument, match=next(iter(arguments))):
        DmEnvRpc("127.0.0.1:1", **arguments)


# Servers that fail.


class begun:  # noqa: N801 - reads as a context
    """An environment of some slots, of which each has begun an episode."""

    def __init__(self, address: str, slots: int, **arguments: Any) -> None:
        self.environment = DmEnvRpc(address, **arguments)
        self.environment.spec = self.environment.env_init(slots).with_slots(slots)

    def __enter__(self) -> DmEnvRpc:
        start(self.environment, range(self.environment.spec.slots))
        return self.environment

    def __exit__(self, *_: object) -> None:
        self.environment.env_cleanup()


def start(environment: DmEnvRpc, slots: Any) -> Played:
    cells = {slot: Cell("dm_env_rpc", 0, slot, 0, Phase.EVALUATE) for slot in slots}
    return environment.play(Play(NOBODY, {}, cells))


def step(environment: DmEnvRpc, *slots: int) -> Played:
    numbers = np.array(slots, np.uint32)
    actions = {each.name: each.empty(len(slots)) for each in environment.spec.actions}
    return environment.play(Play(numbers, actions, {}))


@pytest.mark.parametrize("how", sorted(FAILURES.keys() - {"specs", "hangs"}))
def test_a_failure_is_that_of_its_slot_and_names_the_server(how: str) -> None:
    """The other slot goes on, and the slot begins anew."""
    server = GameServer(failing={2})
    with (
        nothing_left(),
        served(server) as address,
        begun(address, 2, fails=how, seed_setting="seed") as environment,
    ):
        assert step(environment, 0, 1).faults == {}
        failed = step(environment, 0, 1)
        ((slot, words),) = failed.faults.items()
        assert f"{address}, slot {slot}" in words
        assert failed.rewards[slot] == 0
        assert not failed.observations["ticks"][slot].any()
        assert failed.rewards[1 - slot] != 0
        assert start(environment, [slot]).faults == {}
        again = [step(environment, slot).faults for _ in range(3)]
        assert again == [{}, {}, {}]
        assert step(environment, 1 - slot).faults == {}


def test_a_server_that_hangs_is_left_after_the_deadline() -> None:
    server = GameServer(failing={2})
    with (
        nothing_left(),
        served(server) as address,
        begun(address, 2, fails="hangs", answer_timeout_s=0.5) as environment,
    ):
        step(environment, 0, 1)
        failed = step(environment, 0, 1)
        ((slot, words),) = failed.faults.items()
        assert "no answer within 0.5 s" in words
        assert start(environment, [slot]).faults == {}


def test_a_server_that_changes_its_specs_fails_the_start() -> None:
    with (
        served(GameServer()) as address,
        begun(address, 1, fails="specs", length=1) as environment,
    ):
        assert step(environment, 0).terminated.all()
        assert "specs" in start(environment, [0]).faults[0]
        assert start(environment, [0]).faults == {}, "in a new world"


def test_a_server_that_stays_away_fails_every_start_at_once() -> None:
    with nothing_left():
        with served(GameServer()) as address:
            made = begun(address, 2)
            environment = made.__enter__()
        assert step(environment, 0, 1).faults.keys() == {0, 1}
        assert start(environment, [0, 1]).faults.keys() == {0, 1}
        with served(GameServer()):
            environment.env_cleanup()


def test_an_episode_that_no_server_plays_is_environment_error_and_the_others_count() -> None:
    server = GameServer(failing={3})
    with served(server) as address:
        result = reglue.evaluate(
            f"evaluate:dm-env-rpc:{address}",
            play,
            num_episodes=6,
            slots=2,
            environment_args={"length": 4, "fails": "refuses"},
            raise_faults=False,
        )
    lost = [row for row in result.episodes if row.status != "ok"]
    assert [row.status for row in lost] == ["environment_error"]
    assert "the point is lost" in lost[0].detail
    assert len([*result.episodes]) == 6


def test_no_server_and_a_refused_setting_are_told_before_the_run() -> None:
    with (
        served(GameServer()) as address,
        raises(EnvironmentFault, address, "refused create_world", "depth"),
    ):
        DmEnvRpc(address, depth=3).env_init(1)
    with raises(EnvironmentFault, address, "UNAVAILABLE"):
        DmEnvRpc(address).env_init(1)


def test_a_server_of_fewer_connections_than_slots_is_told() -> None:
    with (
        nothing_left(),
        served(GameServer(), threads=2) as address,
        raises(EnvironmentFault, "slot 2", "fewer connections"),
    ):
        DmEnvRpc(address, answer_timeout_s=0.5).env_init(3)


def test_all_requests_are_sent_before_the_first_answer_is_awaited() -> None:
    """A server that answers steps when four have come would never answer one."""
    server = GameServer(together=threading.Barrier(4))
    with served(server) as address, begun(address, 4) as environment:
        assert step(environment, 0, 1, 2, 3).faults == {}


def test_worlds_are_left_and_destroyed() -> None:
    server = GameServer()
    with served(server) as address:
        with begun(address, 3):
            assert len(server.worlds) == 3
        assert not server.worlds


def test_without_its_package_the_extra_is_named() -> None:
    code = (
        "import sys; sys.modules['dm_env_rpc'] = None; "
        "from reglue.bridges.dm_env_rpc import rpc_environment"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )
    assert "reglue[dm-env-rpc]" in done.stderr.splitlines()[-1]
