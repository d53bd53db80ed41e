"""Ctrl-C and SIGTERM, in every language: the glue hears of it, and the exit code says so."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from glue_server.rpc import GlueServer
from reglue.errors import AgentFault, EnvironmentFault
from reglue.messages.agent_messages import AgentInit, Freeze
from reglue.messages.environment_messages import EnvironmentInit, Play
from reglue.net.join_string import Transport
from tests.agent_clients.client_programs import LANGUAGES, started
from tests.agent_clients.julia import NUMBERS
from tests.leftovers import nothing_left
from tests.signals.interruptions import (
    CODES,
    FOREVER_S,
    PATIENCE_S,
    PROGRAMS,
    ROLES,
    command,
    interruptions,
)
from tests.waiting import until

pytestmark = pytest.mark.timeout(900)  # the first test compiles the clients

TRIES = 2  # of each signal; `python -m tests.signals` has more of them


@pytest.mark.parametrize(
    ("program", "transport"),
    [
        (program, transport)
        for program in PROGRAMS
        for transport in ("unix", "grpc")
        if (program[0], transport) != ("julia", "grpc")  # C's library carries its messages
    ],
    ids=str,
)
def test_a_signal_that_comes_while_turns_are_under_way_reaches_the_others_of_the_run(
    program: tuple[str, str], transport: Transport, libreglue: Mapping[str, str]
) -> None:
    numbers = [*CODES] * TRIES
    with nothing_left():
        heard = [*interruptions(program, transport, numbers, libreglue)]
    mistakes = [each.mistake(number) for each, number in zip(heard, numbers, strict=True)]
    assert not any(mistakes), mistakes


@pytest.mark.parametrize("number", CODES)
@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_signal_that_comes_while_a_program_waits_reaches_the_glue(
    language: str, role: str, number: signal.Signals, libreglue: Mapping[str, str]
) -> None:
    with (
        nothing_left(),
        GlueServer(places={role: 1}, reconnect_window_s=FOREVER_S, transport="unix") as server,
        started(command(language, role), server.address, server.token, **libreglue) as process,
    ):
        port: Any = server.next(role, PATIENCE_S)
        assert port is not None
        if role == "experiment":
            assert port.next(PATIENCE_S) is not None
        else:
            port.send(AgentInit(NUMBERS) if role == "agent" else EnvironmentInit(1))
            port.receive(PATIENCE_S)
        process.send_signal(number)
        _, said = process.communicate(timeout=PATIENCE_S)
        assert (process.returncode, said.count("Traceback")) == (CODES[number], 0), said
        assert "interrupted" in farewell(role, port)


def farewell(role: str, port: Any) -> str:
    """The reason that the glue got, however long it would have waited."""
    if role == "experiment":
        until(lambda: port.is_gone, "the glue knows that it has left")
        return str(port.why_gone)
    nothing = Play(np.zeros(0, np.uint32), {}, {})
    try:
        port.send(Freeze() if role == "agent" else nothing)
        port.receive(PATIENCE_S)
    except (AgentFault, EnvironmentFault) as fault:
        return str(fault)
    pytest.fail("it has answered")
