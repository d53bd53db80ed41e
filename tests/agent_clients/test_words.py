"""Texts of a glue reach the terminal of no client as anything but text."""

from __future__ import annotations

import json
import os
import subprocess

import pytest

from glue_server.conformance.fault_injection import deny_joins
from glue_server.rpc import GlueServer
from glue_server.rpc.gateways import agent_gateway
from reglue.error_message import printable
from reglue.errors import BadReply
from tests.agent_clients.client_programs import LANGUAGES, ROOT, conformance_program
from tests.glue_server.rpc.memory_entries import TOKEN, KnownEntries, gateway
from tests.leftovers import nothing_left
from tests.waiting import until

PATIENCE_S = 60.0

CASES = json.loads((ROOT / "tests/reglue/printable_words.json").read_text("utf-8"))
SHORT = [case for case in CASES if "times" not in case]
SENT = "|".join(case["told"] for case in SHORT)
PRINTED = "|".join(case["shown"] for case in SHORT)

ROLES = ("agent", "environment", "experiment")

pytestmark = [
    pytest.mark.timeout(900),  # the first test compiles clients
    pytest.mark.usefixtures("julia_finds_libreglue"),
]


def started(client: str, role: str, address: str, token: str) -> subprocess.Popen[bytes]:
    where = {"REGLUE_ADDRESS": address, "REGLUE_TOKEN": token, "COLUMNS": "500"}
    return subprocess.Popen(
        conformance_program(client, role),
        env=os.environ | where,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("client", LANGUAGES)
def test_the_words_of_a_glue_that_refuses_a_client(client: str, role: str) -> None:
    with nothing_left(), GlueServer(places={role: 1}) as server:
        deny_joins(server, "UNAUTHENTICATED", SENT)
        process = started(client, role, server.address, server.token)
        try:
            output = process.communicate(timeout=PATIENCE_S)[0].decode()
        finally:
            process.kill()
    assert PRINTED in output
    assert printable(output) == output


@pytest.mark.parametrize("client", LANGUAGES)
def test_the_words_of_a_refusal_and_of_a_farewell(client: str) -> None:
    with nothing_left(), GlueServer(places={"agent": 1}) as server:
        process = started(client, "agent", server.address, server.token)
        try:
            port = server.next("agent", PATIENCE_S)
            assert port is not None
            port.refuse(BadReply("WRONG_SIZE", got=SENT, wanted=SENT))
            port.close(SENT)
            output = process.communicate(timeout=PATIENCE_S)[0].decode()
        finally:
            process.kill()
    assert process.returncode == 0
    assert f"got {PRINTED}, wanted {PRINTED}" in output
    assert printable(output) == output


@pytest.mark.parametrize("client", LANGUAGES)
def test_the_words_for_an_agent_that_waits_for_its_turn(
    client: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A farewell comes instead of it."""
    monkeypatch.setattr(agent_gateway, "shown_name", lambda _: SENT)
    entries = KnownEntries()
    with nothing_left(), gateway(entries) as front:
        process = started(client, "agent", front.address, TOKEN)
        try:
            until(lambda: entries.has(("came", SENT)), "it waits")
            front.end(SENT, "the phase is over")
            output = process.communicate(timeout=PATIENCE_S)[0].decode()
        finally:
            process.kill()
    assert process.returncode == 0
    assert f"joined as {PRINTED}; waiting for its turn" in output
    assert printable(output) == output
