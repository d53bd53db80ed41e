"""Five wrong uses of the C client: one clear message each, and the exit code of its README."""

from __future__ import annotations

import os
import subprocess

import numpy as np
import pytest

from glue_server.rpc import GlueServer
from reglue import Phase, TaskSpec, TensorSpec
from reglue.errors import AgentFault
from reglue.messages.agent import NO_ENDS, NO_STEPS, AgentInit, Starts, Turn
from reglue.net.join_string import Transport
from tests.agent_clients.programs import built
from tests.glue_server.rpc.proxies import TRANSPORTS, proxy_to
from tests.leftovers import nothing_left

PATIENCE_S = 30.0

SPEC = TaskSpec((TensorSpec("seen", "float64"),), (TensorSpec("done", "float32", (2,)),))

pytestmark = pytest.mark.timeout(600)  # the first test compiles the client


def started(address: str, token: str, how: str = "") -> subprocess.Popen[str]:
    program = built("c", "wrong_use", "tests/wrong_use")
    where = {"REGLUE_ADDRESS": address, "REGLUE_TOKEN": token}
    command = [str(program), how] if how else [str(program)]
    return subprocess.Popen(command, env=os.environ | where, stderr=subprocess.PIPE, text=True)


def left(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Its exit code, and what it said."""
    try:
        _, said = process.communicate(timeout=PATIENCE_S)
    finally:
        process.kill()
    return process.returncode, said


def first_turn() -> Turn:
    starts = Starts(np.array([0], np.uint32), np.array([1], np.uint64))
    return Turn(Phase.TRAIN, NO_ENDS, NO_STEPS, starts, np.zeros(0), {"seen": np.array([0.5])})


@pytest.mark.parametrize(
    ("address", "code", "said"),
    [
        ("nowhere", 2, "got address 'nowhere', wanted"),
        ("127.0.0.1:1", 1, "no glue answered at 127.0.0.1:1 within 1 s; is it running"),
    ],
)
def test_a_wrong_address(address: str, code: int, said: str) -> None:
    exit_code, words = left(started(address, "T"))
    assert (exit_code, words.count("\n")) == (code, 1)
    assert said in words


def test_a_wrong_token() -> None:
    with nothing_left(), GlueServer(places={"agent": 1}) as hall:
        code, words = left(started(hall.address, "not the token"))
    assert (code, words.count("\n")) == (2, 1)
    assert "token" in words


@pytest.mark.parametrize(
    ("how", "said", "reported"),
    [
        ("fails", "the model has no such layer", "the model has no such layer"),
        ("size", "got slot 7 to abandon, wanted one that steps or starts", "it cannot act"),
    ],
)
def test_an_agent_that_fails_or_answers_in_a_wrong_size(how: str, said: str, reported: str) -> None:
    with nothing_left(), GlueServer(places={"agent": 1}) as hall:
        process = started(hall.address, hall.token, how)
        port = hall.next("agent", PATIENCE_S)
        assert port is not None
        port.send(AgentInit(SPEC))
        port.receive(PATIENCE_S)
        port.send(first_turn())
        with pytest.raises(AgentFault, match=reported):
            port.receive(PATIENCE_S)
        port.close("the agent failed")
        code, words = left(process)
    assert (code, words.count("\n")) == (1, 1)
    assert said in words


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_glue_that_goes_away(transport: Transport) -> None:
    with (
        nothing_left(),
        GlueServer(places={"agent": 1}, transport=transport) as hall,
        proxy_to(hall) as road,
    ):
        process = started(road.address if transport == "grpc" else hall.address, hall.token)
        port = hall.next("agent", PATIENCE_S)
        assert port is not None
        port.send(AgentInit(SPEC))
        port.receive(PATIENCE_S)
        road.cut()
        code, words = left(process)
    assert (code, words.count("\n")) == (1, 1)
    assert "the glue went away" in words
