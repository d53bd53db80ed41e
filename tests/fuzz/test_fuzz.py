"""A short run of the fuzzers, the same each time; `make fuzz` is the long one."""

from __future__ import annotations

import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest

from glue_server.rpc import GlueServer
from reglue import connect
from reglue.grpc_settings import grpc
from tests.fuzz.fuzzing import corpus, fuzz
from tests.fuzz.mutations import mutated
from tests.fuzz.targets import TARGETS
from tests.glue_server.playing import Follower

INPUTS = 150
ROLES = ("agent", "environment", "experiment")
METHODS = ("LobbyService/Join", *(f"{role.title()}Service/Connect" for role in ROLES))


@pytest.mark.parametrize("name", TARGETS)
def test_a_strangers_bytes_bring_typed_errors_in_little_time_and_memory(name: str) -> None:
    fuzz(name, seed=1, inputs=INPUTS)


@pytest.mark.parametrize("method", METHODS)
def test_a_server_that_is_told_nonsense_lets_the_next_one_in(method: str) -> None:
    chance = random.Random(method)
    seeds = [*TARGETS["hello"].seeds, *corpus("hello"), *TARGETS["experiment_call"].seeds]
    with (
        GlueServer(places=dict.fromkeys(ROLES, 1)) as server,
        grpc.insecure_channel(server.address) as channel,
    ):
        for _ in range(40):
            with suppress(grpc.RpcError):
                _say(channel, f"/reglue.v1.{method}", iter([mutated(chance, seeds)]))
        with ThreadPoolExecutor(1) as threads:
            left = threads.submit(connect, Follower(), server.address, server.tokens["agent"])
            port = server.agent(30.0)
            assert port is not None
            port.close("welcome")
            assert left.result(30.0) == "welcome"


def _say(channel: Any, method: str, messages: Iterator[bytes]) -> None:
    """Raises RpcError; a stream is read to its end."""
    if method.endswith("Join"):
        channel.unary_unary(method)(next(messages), timeout=10.0)
    else:
        for _ in channel.stream_stream(method)(messages, timeout=10.0):
            pass
