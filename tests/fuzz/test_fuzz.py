"""A short run of the fuzzers, the same each time; `make fuzz` is the long one."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from glue_server.rpc import GlueServer
from reglue import connect
from reglue.errors import BadArgument
from reglue.net.grpc_settings import grpc
from reglue.net.lobby import hello_proof
from reglue.v1 import lobby_pb2
from reglue.wire.roles import ROLES
from tests.fuzz import fuzzing
from tests.fuzz.fuzzing import corpus, explore, fuzz, keep, outcome
from tests.fuzz.mutations import mutated
from tests.fuzz.targets import TARGETS, Target
from tests.glue_server.playing import Follower
from tests.glue_server.rpc.peers import ask

INPUTS = 150
TRIES = 40
READ = {"agent": "agent_reply", "environment": "environment_reply", "experiment": "experiment_call"}
"""The target that reads a role's messages."""


@pytest.mark.parametrize("name", TARGETS)
def test_a_strangers_bytes_bring_typed_errors_in_little_time_and_memory(name: str) -> None:
    fuzz(name, seed=1, inputs=INPUTS)


@pytest.mark.parametrize("name", TARGETS)
def test_what_is_mutated_is_taken_as_it_is(name: str) -> None:
    """Or mutations would be refused for another reason than their mistakes."""
    assert {outcome(TARGETS[name], seed) for seed in TARGETS[name].seeds} == {"taken"}


@contextmanager
def a_server_that_lets_an_agent_in_afterwards() -> Iterator[tuple[GlueServer, grpc.Channel]]:
    with (
        GlueServer(places=dict.fromkeys(READ, 2 * TRIES), reconnect_window_s=0.0) as server,
        grpc.insecure_channel(server.address) as channel,
        ThreadPoolExecutor(1) as threads,
    ):
        yield server, channel
        left = threads.submit(connect, Follower(), server.address, server.tokens["agent"])
        while not left.done():
            if port := server.next("agent", 1.0):  # who said a good hello may still be there, too
                port.close("welcome")
        assert left.result() == "welcome"


def test_nonsense_for_the_lobby_keeps_nobody_out() -> None:
    chance = random.Random("lobby")
    request = lobby_pb2.JoinRequest(major=1, role=lobby_pb2.ROLE_AGENT, token="t", name="n")
    with a_server_that_lets_an_agent_in_afterwards() as (_, channel):
        join: Any = channel.unary_unary("/reglue.v1.LobbyService/Join")
        for _ in range(TRIES):
            with suppress(grpc.RpcError):
                join(mutated(chance, [request.SerializeToString()]), timeout=10.0)


@pytest.mark.parametrize("role", READ)
def test_nonsense_on_a_stream_is_read_and_keeps_nobody_out(
    role: str, caplog: pytest.LogCaptureFixture
) -> None:
    """With a ticket; every other try in place of a hello, the others after a good one."""
    chance, of = random.Random(role), ROLES[role]
    calls = [*TARGETS[READ[role]].seeds, *corpus(READ[role])]
    with a_server_that_lets_an_agent_in_afterwards() as (server, channel):
        stream: Any = channel.stream_stream(of.method)
        for number in range(TRIES):
            ticket = ask(channel, token=server.tokens[role], role=of.number)
            proof = hello_proof(ticket.secret, ticket.session, 0)
            good = {"major": 1, "session": ticket.session, "proof": proof}
            hello = of.from_peer(hello=good).SerializeToString()
            said = [mutated(chance, [hello])]
            if number % 2:
                said = [hello, chance.choice(calls), mutated(chance, calls)]
            ticketed = [("reglue-session", ticket.session)]
            with suppress(grpc.RpcError):
                list(stream(iter(said), metadata=ticketed, timeout=10.0))
    assert "could not be read" in caplog.text
    assert "our own failure" not in caplog.text


def test_a_target_is_fuzzed_for_all_of_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many inputs bring something new."""
    clock = itertools.count()
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))

    def read(data: bytes) -> None:
        raise BadArgument(data.hex().translate(str.maketrans("0123456789", "ghijklmnop")))

    monkeypatch.setattr(fuzzing, "TARGETS", {"all new": Target(read, (bytes(64),))})
    found = explore("all new", seed=1, until=200)
    assert len(found) > 100


def test_a_corpus_stays_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzzing, "CORPUS", tmp_path)
    keep("spec", [bytes([each]) for each in range(100)])
    assert len(corpus("spec")) == 20
