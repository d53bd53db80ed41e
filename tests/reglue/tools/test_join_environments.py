"""`reglue join` with an environment: where environments join, and where they do not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from glue_server.rpc import GlueServer
from reglue import Cell, Phase
from reglue.messages.environment_messages import EnvironmentInit, EnvironmentReady, Play, Played
from tests.reglue.join_processes import PATIENCE_S, Join, left

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("tidy")]


@pytest.fixture
def hall() -> Iterator[GlueServer]:
    """A server that environments join, and nobody else."""
    with GlueServer(places={"environment": 1}) as hall:
        yield hall


def stepped(hall: GlueServer, actions: Sequence[int]) -> list[float]:
    """The rewards of one episode with these actions."""
    port = hall.next("environment", PATIENCE_S)
    assert port is not None
    port.send(EnvironmentInit(1))
    assert isinstance(port.receive(PATIENCE_S), EnvironmentReady)
    none = np.zeros(0, np.uint32)
    port.send(Play(none, {}, {0: Cell("count", 0, 0, 0, Phase.TRAIN)}))
    port.receive(PATIENCE_S)
    rewards: list[float] = []
    for action in actions:
        port.send(Play(np.zeros(1, np.uint32), {"action": np.array([action])}, {}))
        played = port.receive(PATIENCE_S)
        assert isinstance(played, Played)
        rewards += played.rewards.tolist()
    port.close("that was all")
    return rewards


@pytest.mark.parametrize(
    ("arguments", "rewards"),
    [
        (["environments.py:Count"], [1.0, 3.0, 6.0]),
        (["environments.py:Count", "--arg", "by=10"], [10.0, 30.0, 60.0]),
        (["environments.py:Count", "--agent-arg", "by=10"], [10.0, 30.0, 60.0]),
        (["environments.py:Counts"], [1.0, 3.0, 6.0]),
    ],
    ids=str,
)
def test_an_environment_is_played_like_an_agent(
    hall: GlueServer, join: Join, arguments: list[str], rewards: list[float]
) -> None:
    process = join(*arguments, REGLUE_ADDRESS=hall.address, REGLUE_TOKEN=hall.token)
    assert stepped(hall, [1, 2, 3]) == rewards
    assert left(process) == (0, "reglue join: that was all\n")


def test_an_environment_is_called_by_its_class(hall: GlueServer, join: Join) -> None:
    join("environments.py:Counts", REGLUE_ADDRESS=hall.address, REGLUE_TOKEN=hall.token)
    port = hall.next("environment", PATIENCE_S)
    assert port is not None
    assert port.hello.environment == "Counts"


@pytest.mark.parametrize(
    ("name", "task"),
    [("gridworld", "gridworld"), ("arcade:pong", "env_adapters.arcade:Reglue/Arcade-v0")],
)
def test_an_environment_goes_by_its_name(
    hall: GlueServer, join: Join, name: str, task: str
) -> None:
    process = join(name, REGLUE_ADDRESS=hall.address, REGLUE_TOKEN=hall.token)
    port = hall.next("environment", PATIENCE_S)
    assert port is not None
    assert port.hello.environment == name
    port.send(EnvironmentInit(1))
    ready = port.receive(PATIENCE_S)
    assert isinstance(ready, EnvironmentReady)
    assert ready.variants == {task: 1}
    port.close("that was all")
    assert left(process) == (0, "reglue join: that was all\n")


def test_an_agent_where_environments_join_is_exit_code_2(hall: GlueServer, join: Join) -> None:
    process = join("agents.py:Still", REGLUE_ADDRESS=hall.address, REGLUE_TOKEN=hall.token)
    assert left(process) == (2, "reglue join: got an agent, wanted an environment\n")


def test_an_environment_where_agents_join_is_exit_code_2(join: Join) -> None:
    process = join("environments.py:Counts")
    assert left(process) == (2, "reglue join: got an environment, wanted an agent\n")
