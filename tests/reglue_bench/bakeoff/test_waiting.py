"""Agents that dial in to a bake-off by themselves, at one address, each with its token."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

import reglue
from reglue.net.grpc_settings import grpc
from reglue_bench.results.result import read_result
from tests.reglue_bench.agents import Seeded
from tests.reglue_bench.bakeoffs import (
    TIMEOUT_S,
    agent,
    command,
    gated,
    surroundings,
    wait_for_rows,
    write,
)
from tests.reglue_bench.remote import address_in
from tests.reglue_bench.toys import AGENTS

pytestmark = pytest.mark.slow

TOKENS = {"TOKEN_NEAR": "near-by-1", "TOKEN_FAR": "far-away-2"}


def waiting(name: str, more: str = "") -> str:
    return f"[agents.{name}]\nwait = true\n{more}\n"


@contextmanager
def baking(path: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        command(path, *arguments),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=surroundings(**TOKENS),
    ) as process:
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def dialling(address: str, *tokens: str) -> Iterator[list[subprocess.Popen[str]]]:
    """An agent for each token, as if in containers of their own."""
    words = [sys.executable, "-m", "reglue", "join", f"{AGENTS}:Seeded", "--address", address]
    agents = [
        subprocess.Popen(
            words, stderr=subprocess.PIPE, text=True, env=surroundings(REGLUE_TOKEN=token)
        )
        for token in tokens
    ]
    try:
        yield agents
    finally:
        for each in agents:
            each.kill()
            each.communicate()


def told(lines: IO[str] | None, names: int) -> list[str]:
    """The words of a bake-off to each of the agents that it waits for."""
    assert lines is not None
    return [lines.readline() + lines.readline() for _ in range(names)]


@pytest.mark.parametrize("transport", ["grpc", "auto"])
def test_agents_come_early_to_one_address_and_wait_for_their_turn(
    tmp_path: Path, transport: str
) -> None:
    (tmp_path / "far.token").write_text(f"{TOKENS['TOKEN_FAR']}\n")
    gate = tmp_path / "gate"
    path = write(
        tmp_path,
        gated("started", gate, after=2),
        waiting("near", 'token_env = "TOKEN_NEAR"'),
        waiting("far", 'token_file = "far.token"'),
    )
    out = tmp_path / "out"
    with baking(path, "--transport", transport) as process:
        near, far = told(process.stdout, 2)
        assert near.startswith("near may come, its token, $TOKEN_NEAR, in REGLUE_TOKEN")
        address = address_in(far)
        assert is_serving(address)
        with dialling(address, TOKENS["TOKEN_FAR"], TOKENS["TOKEN_NEAR"]) as agents:
            wait_for_rows(out / "started", 1)
            assert is_serving(address)
            while not all(is_taken(address, token) for token in TOKENS.values()):
                pass
            gate.touch()
            assert process.stdout is not None
            said = process.stdout.read()
            assert process.wait(TIMEOUT_S) == 0, said
            assert [each.wait(TIMEOUT_S) for each in agents] == [0, 0]
    assert all(read_result(out / name).complete for name in ("started", "near", "far"))
    for token in TOKENS.values():
        assert token not in near + far + said
        assert not any(token.encode() in file.read_bytes() for file in files(out))


def test_a_token_that_was_made_is_shown_and_an_agent_that_stays_away_is_partial(
    tmp_path: Path,
) -> None:
    benchmark = write(tmp_path, agent("seeded")).read_text().partition("[agents")[0]
    benchmark += "connect_timeout = 300\n"
    path = write(tmp_path, waiting("here"), waiting("away"), benchmark=benchmark)
    with baking(path, "--connect-timeout", "3", "--processes", "2") as process:
        here, away = map(address_in, told(process.stdout, 2))
        assert reglue.connect(Seeded(), here) == "the run is over, thank you"
        assert process.stdout is not None
        said = process.stdout.read()
        assert process.wait(TIMEOUT_S) == 1, said
    assert away != here
    assert "no agent joined within 3 s" in said
    assert "waiting up to 3 s for an agent" in said
    assert "away plays without --processes 2, which would copy it" in said
    assert "--address" not in said  # it was told at the beginning
    assert read_result(tmp_path / "out" / "here").complete


def test_agents_that_dial_in_play_at_the_same_time(tmp_path: Path) -> None:
    benchmark = write(tmp_path, agent("x")).read_text().partition("[agents")[0]
    path = write(
        tmp_path,
        waiting("near", 'token_env = "TOKEN_NEAR"'),
        waiting("far", 'token_env = "TOKEN_FAR"'),
        benchmark=benchmark.replace("workers = 0", ""),
    )
    with baking(path, "--at-once", "2") as process:
        near, _ = told(process.stdout, 2)
        with dialling(address_in(near), *TOKENS.values()):
            assert process.stdout is not None
            said = process.stdout.read()
            assert process.wait(TIMEOUT_S) == 0, said
    assert all(read_result(tmp_path / "out" / name).complete for name in ("near", "far"))


def is_serving(address: str) -> bool:
    with grpc.insecure_channel(address) as channel:
        stub: Any = health_pb2_grpc.HealthStub(channel)
        answer = stub.Check(health_pb2.HealthCheckRequest(), timeout=TIMEOUT_S)
    return bool(answer.status == health_pb2.HealthCheckResponse.SERVING)


def is_taken(address: str, token: str) -> bool:
    """Whether the agent of that token has come: another one is turned away."""
    from tests.glue_server.rpc.peers import ask

    with grpc.insecure_channel(address) as channel:
        try:
            ask(channel, token=token)
        except grpc.RpcError as error:
            return error.code() is grpc.StatusCode.ALREADY_EXISTS
    return False


def files(folder: Path) -> list[Path]:
    return [file for file in folder.rglob("*") if file.is_file()]
