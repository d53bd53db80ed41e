"""Servers of either protocol that leave, come back, hang, or answer several worlds together."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import pytest

from reglue.bridges.dm_env_rpc.rpc_environment import DmEnvRpc
from reglue.bridges.openenv.openenv_environment import OpenEnv
from reglue.bridges.server_worlds import ServerWorlds
from reglue.errors import EnvironmentLost
from tests.error_facts import raises
from tests.leftovers import nothing_left
from tests.reglue.bridges.begun_worlds import begun, start, step
from tests.reglue.bridges.bent_openenv_server import BentServer, bent
from tests.reglue.bridges.dm_servers import GameServer, served


@dataclass(frozen=True, slots=True)
class Bridge:
    """An environment of a server's worlds, and such a server."""

    environment: Callable[..., ServerWorlds]  # of an address, and arguments
    serving: Callable[..., AbstractContextManager[str]]  # of a port, `at`, and settings
    hangs: tuple[dict[str, Any], dict[str, Any]]  # of `serving` and `environment`: world 2 hangs
    lost: Sequence[str]  # what is said of a server that stays away
    late: str  # what is said of one that hangs


def _dm_env_rpc(at: int = 0, **settings: Any) -> AbstractContextManager[str]:
    return served(GameServer(**settings), at=at)


def _openenv(at: int = 0, **settings: Any) -> AbstractContextManager[str]:
    return bent(BentServer(**settings), at=at)


BRIDGES = [
    pytest.param(
        Bridge(
            DmEnvRpc,
            _dm_env_rpc,
            hangs=({"failing": {2}}, {"fails": "hangs"}),
            lost=["no answer within 1 s on a new connection"],
            late="no answer within 0.5 s",
        ),
        id="dm-env-rpc",
    ),
    pytest.param(
        Bridge(
            OpenEnv,
            _openenv,
            hangs=({"failing": (2,), "fails": "hangs"}, {}),
            lost=["no connection", "for 1 s"],
            late="no answer to step within 0.5 s",
        ),
        id="openenv",
    ),
]


def port_of(address: str) -> int:
    """The port of HOST:PORT, or of a URL."""
    return urlsplit(address if "//" in address else f"//{address}").port or 0


@pytest.mark.parametrize("bridge", BRIDGES)
def test_a_server_that_stays_away_is_lost(bridge: Bridge) -> None:
    with nothing_left():
        with bridge.serving() as address:
            made = begun(bridge.environment(address, answer_timeout_s=1), 2)
            environment = made.__enter__()
        assert step(environment, 0, 1).faults.keys() == {0, 1}
        with raises(EnvironmentLost, address, "slot 0", *bridge.lost):
            start(environment, [0, 1])
        made.__exit__(None, None, None)


@pytest.mark.parametrize("bridge", BRIDGES)
def test_a_server_that_comes_back_in_time_plays_on(bridge: Bridge) -> None:
    with nothing_left():
        with bridge.serving() as address:
            made = begun(bridge.environment(address, answer_timeout_s=30), 2)
            environment = made.__enter__()
        assert step(environment, 0, 1).faults.keys() == {0, 1}
        is_over = threading.Event()

        def come_back() -> None:
            with bridge.serving(at=port_of(address)):
                is_over.wait(60)

        later = threading.Timer(0.3, come_back)
        later.start()
        assert start(environment, [0, 1]).faults == {}
        assert step(environment, 0, 1).faults == {}
        made.__exit__(None, None, None)
        is_over.set()
        later.join()


@pytest.mark.parametrize("bridge", BRIDGES)
def test_a_server_that_hangs_is_left_after_the_deadline(bridge: Bridge) -> None:
    of_server, of_environment = bridge.hangs
    with nothing_left(), bridge.serving(**of_server) as address:
        worlds = bridge.environment(address, answer_timeout_s=0.5, **of_environment)
        with begun(worlds, 2) as environment:
            step(environment, 0, 1)
            failed = step(environment, 0, 1)
            ((slot, words),) = failed.faults.items()
            assert bridge.late in words
            assert start(environment, [slot]).faults == {}


@pytest.mark.parametrize("bridge", BRIDGES)
def test_all_requests_are_sent_before_the_first_answer_is_awaited(bridge: Bridge) -> None:
    """A server that answers steps when four have come would never answer one."""
    with (
        bridge.serving(together=threading.Barrier(4)) as address,
        begun(bridge.environment(address), 4) as environment,
    ):
        assert step(environment, 0, 1, 2, 3).faults == {}
