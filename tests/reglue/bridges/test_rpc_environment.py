"""Servers of dm_env_rpc as environments."""

from __future__ import annotations

import subprocess
import sys
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
from reglue.bridges.dm_env_rpc.tensor_messages import WireText
from reglue.errors import BadArgument, BadReply, UsageError
from reglue.spec import Array, Box, Discrete, TensorSpec
from reglue.texts import Text, action_texts, observation_texts
from tests.leftovers import nothing_left
from tests.reglue.bridges.begun_worlds import begun, step
from tests.reglue.bridges.dm_servers import SPECS, WORD_SPECS, GameServer, served


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
    with served(GameServer()) as address:
        environment = DmEnvRpc(address)
        spec = environment.env_init(1)
        environment.env_cleanup()
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
        (pb.TensorSpec(name="words", dtype=pb.DataType.STRING, shape=[2]), "shape [2]"),
        (pb.TensorSpec(name="reward", dtype=pb.DataType.STRING), "STRING"),
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
        (
            pb.TensorSpec(
                name="words", dtype=pb.DataType.FLOAT, min={"floats": {"array": [np.nan]}}
            ),
            "a bound of nan",
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


def test_strings_are_texts() -> None:
    """Both ways; one that is too long fails its episode, and bytes that are none are illegal."""
    server = GameServer(specs=WORD_SPECS)
    with served(server) as address, begun(DmEnvRpc(address, most_characters=9), 2) as played:
        say, heard = Text("say", 9), Text("heard", 9)
        assert played.spec.actions[-1] == say.plain
        assert played.spec.observations[-1] == heard.plain
        assert action_texts(played.spec)["say"] == say
        assert observation_texts(played.spec)["heard"] == heard
        first = step(played, 0, 1, say=np.stack([say.encode("ä€"), say.encode("")]))
        assert [heard.decode(row) for row in first.observations["heard"]] == ["ä€ä€ä€", ""]
        no_text = np.full(say.size, 255, np.uint8)
        failed = step(played, 0, 1, say=np.stack([say.encode("long"), no_text]))
    assert failed.faults.keys() == {0, 1}
    assert failed.illegal == {1}
    assert "'heard' of 12 characters" in failed.faults[0]
    assert "say" in failed.faults[1]


@pytest.mark.parametrize(
    ("message", "code"),
    [
        (pb.Tensor(), "WRONG_KIND"),
        (pb.Tensor(doubles={"array": [1.0]}), "WRONG_KIND"),
        (pb.Tensor(strings={}), "WRONG_SIZE"),
        (tensor_utils.pack_tensor(["a", "b"]), "WRONG_SIZE"),
        (tensor_utils.pack_tensor("a" * 10), "OUT_OF_DOMAIN"),
        (tensor_utils.pack_tensor("a\0b"), "OUT_OF_DOMAIN"),
    ],
)
def test_tensors_that_are_not_the_string_are_refused_by_name(message: Any, code: str) -> None:
    with pytest.raises(BadReply, match="'heard'") as refused:
        WireText(1, Text("heard", 9)).read(message)
    assert refused.value.code == code


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
        {"most_characters": 0},
        {"most_characters": True},
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


def test_without_its_package_the_extra_is_named() -> None:
    code = (
        "import sys; sys.modules['dm_env_rpc'] = None; "
        "from reglue.bridges.dm_env_rpc import rpc_environment"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )
    assert "reglue[dm-env-rpc]" in done.stderr.splitlines()[-1]
