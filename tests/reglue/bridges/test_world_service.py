"""Our benchmarks for dm_env_rpc's clients."""

from __future__ import annotations

import signal
import subprocess
import sys
import unittest
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from types import MappingProxyType
from typing import Any

import gymnasium
import numpy as np
import pytest
from dm_env import specs  # type: ignore[import-untyped]
from dm_env_rpc.v1 import connection, dm_env_adaptor, tensor_utils
from dm_env_rpc.v1 import dm_env_rpc_pb2 as pb
from dm_env_rpc.v1.compliance import (
    create_destroy_world,
    join_leave_world,
    reset,
    reset_world,
    step,
)
from dm_env_rpc.v1.error import DmEnvRpcError
from gymnasium import spaces

import reglue
from reglue.bridges.dm_env_rpc.rpc_environment import DmEnvRpc
from reglue.bridges.dm_env_rpc.world_service import WorldService, serving
from reglue.errors import SpecError, UsageError
from reglue.spec import TaskSpec, TensorSpec
from reglue.texts import action_texts
from tests.leftovers import nothing_left
from tests.reglue.bridges import begun_worlds

POLE = "cart-pole"


@contextmanager
def world_server(benchmark: Any = POLE, most: int = 4) -> Iterator[str]:
    """The address of a server in this process."""

    def make() -> Any:
        return reglue.make(benchmark, raise_faults=False)

    with closing(make()) as first:
        spec = first.task_spec
    with serving(WorldService(make, spec, most), "127.0.0.1:0", most) as address:
        yield address


def connected(address: str) -> connection.Connection:
    return connection.create_secure_channel_and_connect(address, timeout=30)


SETTINGS = {"seed": tensor_utils.pack_tensor(5)}


@pytest.fixture
def client() -> Iterator[connection.Connection]:
    """A connection to cart-pole."""
    with world_server() as address, connected(address) as channel:
        yield channel


class _Created:
    """The base of dm_env_rpc's cases: a connection to the server of `address`, and a world."""

    address: str

    def setUp(self) -> None:
        self.connection = connected(self.address)
        created = self.connection.send(pb.CreateWorldRequest(settings=SETTINGS))
        self.world_name = created.world_name

    def tearDown(self) -> None:
        self.connection.send(pb.LeaveWorldRequest())
        self.connection.close()


class _Joining(_Created):
    def join_world(self) -> Any:
        return self.connection.send(pb.JoinWorldRequest(world_name=self.world_name)).specs


class _Joined(_Joining):
    def setUp(self) -> None:
        super().setUp()
        self.specs = self.join_world()


class _Settings(_Created):
    required_world_settings: Mapping[str, Any] = MappingProxyType({})
    invalid_world_settings: Mapping[str, Any] = MappingProxyType({"depth": SETTINGS["seed"]})
    has_multiple_world_support = True

    def setUp(self) -> None:
        self.connection = connected(self.address)


def _case(suite: Any, base: type) -> Any:
    """The suite's cases, whose abstract properties are attributes that `base` sets."""
    abstract = dict.fromkeys(suite.__abstractmethods__ - {*dir(base)})
    return type(suite.__name__, (base, suite), abstract)


CASES = [
    _case(create_destroy_world.CreateDestroyWorld, _Settings),
    _case(join_leave_world.JoinLeaveWorld, _Created),
    _case(reset.Reset, _Joining),
    _case(reset_world.ResetWorld, _Created),
    _case(step.Step, _Joined),
]


@pytest.mark.parametrize("benchmark", [POLE, "MT1:reach-v3", "gridworld"])
def test_the_compliance_suite_of_dm_env_rpc_passes_whole(benchmark: str) -> None:
    ran = 0
    with world_server(benchmark) as address:
        _Created.address = address
        for case in CASES:
            result = unittest.TestResult()
            unittest.defaultTestLoader.loadTestsFromTestCase(case).run(result)
            assert not result.failures + result.errors, result.failures + result.errors
            assert not result.skipped
            ran += result.testsRun
    assert ran == 40


def test_rows_are_those_of_reglue_make() -> None:
    """To the digit, over an end of an episode and a reset in the midst of one."""
    actions = [0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]
    with world_server() as address, connected(address) as channel:
        env, _ = dm_env_adaptor.create_and_join_world(channel, {"seed": 3}, {})
        rows = [env.reset()]
        for action in actions:
            rows.append(env.reset() if rows[-1].last() else env.step({"action": action}))
        rows += [env.reset(), env.step({"action": 0})]
        env.close()
    with closing(reglue.make(POLE)) as ours:
        seen, _ = ours.reset(seed=3)
        wanted: list[Any] = [(seen, None, None)]
        for choice in [*actions, None, 0]:
            if choice is None or wanted[-1][2] == 0.0:
                wanted.append((ours.reset()[0], None, None))
                continue
            seen, reward, terminated, truncated, _ = ours.step(choice)
            assert not truncated
            wanted.append((seen, reward, 0.0 if terminated else 1.0))
    assert 0.0 in [row[2] for row in wanted], "an episode ended"
    for got, (seen, reward, discount) in zip(rows, wanted, strict=True):
        assert np.array_equal(got.observation["observation"], seen)
        assert got.reward == reward
        assert got.discount == (1.0 if discount is None else discount)


class Echo(gymnasium.Env[Any, Any]):
    """Says the last action again."""

    observation_space = spaces.Dict(heard=spaces.Text(4, charset="aé€"), at=spaces.Discrete(9))
    action_space = spaces.Text(4, min_length=2, charset="aé€")

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        self.at = 0
        return {"heard": "é", "at": 0}, {}

    def step(self, action: Any) -> Any:
        self.at += 1
        return {"heard": action, "at": self.at}, float(len(action)), False, False, {}


def test_texts_are_strings() -> None:
    with world_server(Echo) as address, connected(address) as channel:
        env, _ = dm_env_adaptor.create_and_join_world(channel, {}, {})
        assert isinstance(env.action_spec()["action"], specs.StringArray)
        assert isinstance(env.observation_spec()["heard"], specs.StringArray)
        rows = [env.reset(), env.step({"action": "€éa"}), env.step({})]
        assert [row.observation["heard"] for row in rows] == ["é", "€éa", "aa"]
        assert [row.observation["at"] for row in rows] == [0, 1, 2]
        for wrong in ("a", "bb", 3):
            with pytest.raises(DmEnvRpcError, match="action"):
                channel.send(pb.StepRequest(actions={1: tensor_utils.pack_tensor(wrong)}))
        env.close()


def test_our_own_bridge_plays_texts_that_we_serve() -> None:
    with world_server(Echo) as address, begun_worlds.begun(DmEnvRpc(address), 1) as environment:
        text = action_texts(environment.spec)["action"]
        played = begun_worlds.step(environment, 0, action=text.encode("€€")[None])
        assert text.decode(played.observations["heard"][0]) == "€€"


def test_several_worlds_play_different_episodes(client: connection.Connection) -> None:
    names = [client.send(pb.CreateWorldRequest()).world_name for _ in range(3)]
    firsts = []
    for name in names:
        client.send(pb.JoinWorldRequest(world_name=name))
        begun = client.send(pb.StepRequest(requested_observations=[1]))
        firsts.append(tensor_utils.unpack_tensor(begun.observations[1]).tobytes())
        client.send(pb.LeaveWorldRequest())
    assert len(set(firsts)) == 3


def test_worlds_end_at_the_limit_and_with_their_connection() -> None:
    with world_server(most=2) as address:
        with connected(address) as first:
            for _ in range(2):
                first.send(pb.CreateWorldRequest())
            with pytest.raises(DmEnvRpcError, match="at most 2"):
                first.send(pb.CreateWorldRequest())
            first.send(pb.LeaveWorldRequest())
        with connected(address) as second:
            world = _created_at_last(second)
            second.send(pb.JoinWorldRequest(world_name=world))


def _created_at_last(channel: connection.Connection) -> str:
    """Ask until the server has heard that the other connection ended."""
    for _ in range(200):
        try:
            return str(channel.send(pb.CreateWorldRequest()).world_name)
        except DmEnvRpcError:
            pass
    raise AssertionError("the worlds of a connection that ended are there")


@pytest.mark.parametrize(
    "request_",
    [
        pb.CreateWorldRequest(settings={"seed": tensor_utils.pack_tensor("x")}),
        pb.CreateWorldRequest(settings={"seed": tensor_utils.pack_tensor(-1)}),
        pb.CreateWorldRequest(settings={"seed": tensor_utils.pack_tensor([1, 2])}),
        pb.CreateWorldRequest(settings={"seed": pb.Tensor()}),
        pb.JoinWorldRequest(world_name="world-0"),
        pb.StepRequest(),
        pb.StepRequest(actions={1: pb.Tensor()}),
        pb.StepRequest(actions={1: pb.Tensor(shape=[2**31 - 1] * 9, int64s={"array": [1]})}),
        pb.StepRequest(actions={1: pb.Tensor(int64s={"array": []})}),
        pb.StepRequest(actions={1: pb.Tensor(doubles={"array": [float("nan")]})}),
        pb.StepRequest(actions={77: tensor_utils.pack_tensor(1)}),
        pb.StepRequest(requested_observations=[2**63]),
        pb.ResetRequest(settings=SETTINGS),
        pb.DestroyWorldRequest(world_name="world-0"),
        pb.DestroyWorldRequest(world_name="\0" * 1000),
    ],
    ids=lambda request: str(request)[:40],
)
def test_wrong_requests_are_refused_and_the_connection_goes_on(
    client: connection.Connection, request_: Any
) -> None:
    name = client.send(pb.CreateWorldRequest()).world_name
    client.send(pb.JoinWorldRequest(world_name=name))
    client.send(pb.StepRequest())
    if request_ != pb.StepRequest():
        with pytest.raises(DmEnvRpcError):
            client.send(request_)
    answer = client.send(pb.StepRequest(requested_observations=[1]))
    assert answer.state == pb.EnvironmentStateType.RUNNING


def test_an_observation_called_reward_is_refused() -> None:
    spec = TaskSpec((TensorSpec("reward", "float64"),), (TensorSpec("action", "float32"),))
    with pytest.raises(SpecError, match="reward"):
        WorldService(lambda: reglue.make(POLE), spec, 1)


@pytest.mark.parametrize("listen", ["9911", "127.0.0.1:", "127.0.0.1:http", "127.0.0.1:99999"])
def test_a_wrong_address_is_refused(listen: str) -> None:
    spec = TaskSpec((TensorSpec("seen", "float64"),), (TensorSpec("action", "float32"),))
    with nothing_left(), pytest.raises(UsageError, match="HOST:PORT"):
        serving(WorldService(lambda: reglue.make(POLE), spec, 1), listen, 1).__enter__()


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_the_command_serves_until_it_is_interrupted(stop: signal.Signals) -> None:
    command = [sys.executable, "-u", "-m", "reglue", "bridge", "dm-env-rpc", POLE]
    with subprocess.Popen(
        [*command, "--listen", "127.0.0.1:0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        address = process.stdout.readline().split()[2]
        with connected(address) as channel:
            name = channel.send(pb.CreateWorldRequest()).world_name
            channel.send(pb.JoinWorldRequest(world_name=name))
            channel.send(pb.StepRequest())
            process.send_signal(stop)
            _, told = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "Traceback" not in told


def test_our_own_bridge_plays_what_we_serve() -> None:
    def still(seen: Any) -> Any:
        return (seen[:, 2] > 0).astype(np.int64)

    with world_server() as address:
        result = reglue.evaluate(f"evaluate:dm-env-rpc:{address}", still, num_episodes=4, slots=2)
        assert result.complete
        assert all(row.steps == row.return_ for row in result.episodes)
