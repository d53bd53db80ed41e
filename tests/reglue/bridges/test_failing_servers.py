"""Servers of dm_env_rpc that fail, hang, leave or speak another protocol."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress

import pytest

import reglue
from reglue.bridges.dm_env_rpc.rpc_environment import DmEnvRpc
from reglue.errors import EnvironmentFault
from tests.error_facts import raises
from tests.leftovers import nothing_left
from tests.reglue.bridges.begun_worlds import begun, start, step
from tests.reglue.bridges.dm_servers import FAILURES, GameServer, served
from tests.reglue.bridges.test_rpc_environment import play

SAID = {
    "leaves": ("ended the connection",),
    "breaks": ("INTERNAL", "out of luck"),
    "refuses": ("refused step", "the point is lost"),
    "shape": ("'place'", "got 'place' of shape [4]", "wanted shape [3]"),
    "short": ("'place'", "with 2 numbers", "wanted shape [3]"),
    "huge": ("'place'", "of shape [2147483647", "wanted shape [3]"),
    "dtype": ("'place'", "got 'place' as floats", "wanted doubles"),
    "uid": ("got observations with the uids [8, 10, 11, 77]", "wanted [7, 8, 10, 11]"),
    "lacks": ("got observations with the uids [7, 8, 11]", "wanted [7, 8, 10, 11]"),
    "nan": ("reward: got nan", "wanted a finite number"),
    "state": ("got the state INVALID_ENVIRONMENT_STATE", "wanted RUNNING, TERMINATED or INTER"),
    "kind": ("got leave_world as the answer", "wanted step"),
    "empty": ("got None as the answer", "wanted step"),
}
"""Parts of the error of each failure, after the server and the slot."""


def test_what_is_said_of_each_failure_is_tested() -> None:
    assert SAID.keys() == FAILURES.keys() - {"specs", "hangs"}


@pytest.mark.parametrize("how", SAID)
def test_a_failure_is_that_of_its_slot_and_names_the_server(how: str) -> None:
    """The other slot goes on, and the slot begins anew."""
    server = GameServer(failing={2})
    with (
        nothing_left(),
        served(server) as address,
        begun(DmEnvRpc(address, fails=how, seed_setting="seed"), 2) as environment,
    ):
        assert step(environment, 0, 1).faults == {}
        failed = step(environment, 0, 1)
        ((slot, words),) = failed.faults.items()
        assert words.startswith(f"the dm_env_rpc server at {address}, slot {slot}: ")
        assert [part for part in SAID[how] if part not in words] == []
        assert failed.rewards[slot] == 0
        assert not failed.observations["ticks"][slot].any()
        assert failed.rewards[1 - slot] != 0
        assert start(environment, [slot]).faults == {}
        again = [step(environment, slot).faults for _ in range(3)]
        assert again == [{}, {}, {}]
        assert step(environment, 1 - slot).faults == {}


def test_a_server_that_changes_its_specs_fails_the_start() -> None:
    with (
        served(GameServer()) as address,
        begun(DmEnvRpc(address, fails="specs", length=1), 1) as environment,
    ):
        assert step(environment, 0).terminated.all()
        words = start(environment, [0]).faults[0]
        assert words.startswith(f"the dm_env_rpc server at {address}, slot 0: ")
        assert "got other specs than before: no observation 'place'" in words
        assert start(environment, [0]).faults == {}, "in a new world"


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


@pytest.mark.parametrize("words", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n<p/>"])
def test_a_socket_that_does_not_speak_the_protocol_is_told(words: bytes) -> None:
    """One that says nothing, and one of another protocol."""
    with nothing_left(), socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

        def answer() -> None:
            with suppress(OSError):
                while True:
                    ends.append(listener.accept()[0])
                    ends[-1].sendall(words)

        ends: list[socket.socket] = []
        thread = threading.Thread(target=answer)
        thread.start()
        try:
            with raises(EnvironmentFault, f"127.0.0.1:{port}"):
                DmEnvRpc(f"127.0.0.1:{port}", answer_timeout_s=1).env_init(1)
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()
            for end in ends:
                end.close()


def test_a_server_of_fewer_connections_than_slots_is_told() -> None:
    with (
        nothing_left(),
        served(GameServer(), threads=2) as address,
        pytest.raises(EnvironmentFault, match=r"slot [0-2]: no answer .* fewer connections"),
    ):
        # Whose stream the server does not take up is not known: it is told of all at once.
        DmEnvRpc(address, answer_timeout_s=2).env_init(3)


def test_worlds_are_left_and_destroyed() -> None:
    server = GameServer()
    with served(server) as address:
        with begun(DmEnvRpc(address), 3):
            assert len(server.worlds) == 3
        assert not server.worlds
