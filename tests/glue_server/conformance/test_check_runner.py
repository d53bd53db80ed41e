"""The kit goes on whatever a client does, and tells what it saw."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from glue_server.conformance.check import Check, Verdict
from glue_server.conformance.check_runner import checks_of, run_checks
from glue_server.conformance.checks import CHECKS, joining
from glue_server.conformance.checks.joining import wait_for
from glue_server.conformance.clients import AwaitedClients, Clients, StartedClients
from glue_server.conformance.fault_injection import deny_joins
from glue_server.conformance.harness import Harness
from glue_server.conformance.tcp_proxy import TcpProxy
from glue_server.rpc import GlueServer
from reglue import connect
from reglue.conformance import ConformanceAgent
from reglue.errors import NotConforming, SessionLost, UnknownName, UsageError
from reglue.messages.agent_messages import TextMessage
from reglue.net.join_string import JoinString
from tests.error_facts import raises
from tests.glue_server.conformance.thread_clients import ThreadClients, session_of
from tests.leftovers import nothing_left

PATIENCE_S = 10.0
BRIEF_S = 2.0  # for an answer; a client that starts late takes twice as long
GOOD = session_of(ConformanceAgent)

DYING = f"""
import os, sys
import reglue
from reglue.conformance import ConformanceAgent

class Dying(ConformanceAgent):
    def agent_message(self, message):
        if message.startswith("echo two"):
            print("I die")
            sys.stdout.flush()
            os.kill(os.getpid(), {int(signal.SIGKILL)})
        return super().agent_message(message)

reglue.connect(Dying())
"""


@pytest.fixture
def proxy() -> Iterator[TcpProxy]:
    with nothing_left(), TcpProxy() as proxy:
        yield proxy


def run(
    proxy: TcpProxy, clients: Clients, *checks: Check, timeout_s: float = PATIENCE_S
) -> list[Verdict]:
    harness = Harness("agent", clients, proxy, timeout_s=timeout_s, join_timeout_s=PATIENCE_S)
    return run_checks(checks, [harness], lambda _: None)


def check(name: str) -> Check:
    (found,) = checks_of("agent", name)
    return found


def test_a_client_that_dies_fails_its_check_and_the_next_gets_a_new_one(
    proxy: TcpProxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    (tmp_path / "dying.py").write_text(DYING)
    clients = StartedClients(f"{sys.executable} {tmp_path}/dying.py", tmp_path / "log")
    checks = check("calls.texts"), check("calls.one-slot")
    died, then = run(proxy, clients, *checks, timeout_s=3600.0)  # a dead client is not waited for
    assert not died.passed
    assert "the reply to TextMessage: got the agent's connection is gone" in died.detail
    assert "exit code -9" in died.detail
    assert "I die" in died.detail
    assert then.passed, then.detail


@pytest.mark.parametrize("name", ["calls.one-slot", "join.waits", "join.wrong-token"])
def test_a_client_may_take_longer_to_start_than_to_answer(proxy: TcpProxy, name: str) -> None:
    def starts_late(where: JoinString) -> object:
        time.sleep(2 * BRIEF_S)
        return GOOD(where)

    (verdict,) = run(proxy, ThreadClients(starts_late), check(name), timeout_s=BRIEF_S)
    assert verdict.passed, verdict.detail


def test_a_client_that_dies_before_it_joins_is_told_at_once(
    proxy: TcpProxy, tmp_path: Path
) -> None:
    clients = StartedClients("sh -c 'echo no library; exit 3'", tmp_path / "log")
    harness = Harness("agent", clients, proxy, timeout_s=3600.0, join_timeout_s=3600.0)
    (verdict,) = run_checks([check("calls.one-slot")], [harness], lambda _: None)
    assert not verdict.passed
    assert "exit code 3" in verdict.detail
    assert "no library" in verdict.detail


def test_a_client_that_is_well_stays_for_the_next_check(proxy: TcpProxy) -> None:
    clients = ThreadClients(GOOD)
    names = ("calls.one-slot", "calls.texts", "tensors.bool", "refusals.taken")
    assert all(verdict.passed for verdict in run(proxy, clients, *map(check, names)))
    assert clients.started == 1


def test_a_check_that_ends_the_session_is_followed_by_a_new_client(proxy: TcpProxy) -> None:
    clients = ThreadClients(GOOD)
    names = ("farewell.in-mid-episode", "calls.one-slot")
    assert all(verdict.passed for verdict in run(proxy, clients, *map(check, names)))
    assert clients.started == 2


def test_an_error_of_a_check_is_a_verdict(
    proxy: TcpProxy, caplog: pytest.LogCaptureFixture
) -> None:
    def stumble(harness: Harness) -> None:
        raise ZeroDivisionError("no slope")

    with caplog.at_level(logging.CRITICAL, "reglue"):
        (verdict,) = run(proxy, ThreadClients(GOOD), Check("own.stumble", "Stays up", stumble))
    assert (verdict.passed, verdict.detail) == (False, "ZeroDivisionError: no slope")


def test_verdicts_are_told_in_order_whichever_stage_is_first() -> None:
    names = ["reconnect.under-way", *(f"tensors.{dtype}" for dtype in ("bool", "int8", "axes"))]
    told: list[str] = []
    with nothing_left(), TcpProxy() as one, TcpProxy() as other:
        harnesses = [
            Harness("agent", ThreadClients(GOOD), proxy, timeout_s=PATIENCE_S)
            for proxy in (one, other)
        ]
        run_checks([check(name) for name in names], harnesses, lambda each: told.append(each.name))
    assert told == names


def test_an_interrupt_while_threads_are_started_ends_them(
    proxy: TcpProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = threading.Thread.start

    def start_and_press(thread: threading.Thread) -> None:
        start(thread)
        if thread.name.startswith("conformance_"):
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(threading.Thread, "start", start_and_press)
    with pytest.raises(KeyboardInterrupt):
        run(proxy, AwaitedClients(lambda _address, _token: None), check("join.waits"))
    assert not [each for each in threading.enumerate() if each.name.startswith("conformance_")]


def test_a_glue_that_has_no_free_connection_says_so_before_it_can_be_reached(
    proxy: TcpProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a client that is quick would get in at its first try."""
    targets: list[str] = []

    def note(server: GlueServer, code: str, why: str, *, times: int) -> list[str]:
        targets.append(proxy.target)
        return deny_joins(server, code, why, times=times)

    monkeypatch.setattr(joining, "deny_joins", note)
    (verdict,) = run(proxy, ThreadClients(GOOD), check("join.waits"))
    assert verdict.passed, verdict.detail
    assert targets == [""]


def test_a_program_that_cannot_be_started_is_wrong_usage(proxy: TcpProxy, tmp_path: Path) -> None:
    with raises(UsageError, "/nowhere/at-all"):
        run(proxy, StartedClients("/nowhere/at-all", tmp_path / "log"), check("calls.texts"))


@pytest.mark.parametrize("command", ["", "  ", "'"])
def test_a_command_that_is_none_is_wrong_usage(command: str, tmp_path: Path) -> None:
    with raises(UsageError, "--cmd"):
        StartedClients(command, tmp_path / "log")


def test_checks_of_several_groups_are_asked() -> None:
    names = [each.name for each in checks_of("agent", "tensors.bool,tls.*")]
    assert names[0] == "tensors.bool"
    assert len(names) == 1 + len(checks_of("agent", level="tls"))


def test_an_unknown_check_is_refused_with_groups_of_checks() -> None:
    with raises(UnknownName, "tensors.*", got="tensor.*"):
        checks_of("agent", "tensor.*")


@pytest.mark.parametrize("role", CHECKS)
def test_every_check_has_a_name_of_its_own(role: str) -> None:
    names = [each.name for each in CHECKS[role]]
    assert len(set(names)) == len(names)


def test_who_dials_in_is_told_when(proxy: TcpProxy) -> None:
    """Nobody sees the end of such a client: it has left when it stays away."""
    threads: list[threading.Thread] = []

    def start(address: str, token: str) -> None:
        def play() -> None:
            with contextlib.suppress(SessionLost):  # where there is no reconnect window
                connect(ConformanceAgent(), address, token)

        threads.append(threading.Thread(target=play))
        threads[-1].start()

    harness = Harness("agent", AwaitedClients(start), proxy, token="t", timeout_s=PATIENCE_S)
    names = ("calls.one-slot", "reconnect.no-window", "farewell.at-once")
    verdicts = run_checks([check(name) for name in names], [harness], lambda _: None)
    assert [verdict.detail for verdict in verdicts] == ["", "", ""]
    assert len(threads) == 3


def test_what_differs_is_told_by_row(proxy: TcpProxy) -> None:
    def differ(harness: Harness) -> None:
        driver = harness.driver()
        driver.port.send(TextMessage("sleep 0"))  # its reference does not hear of it
        driver.port.receive(PATIENCE_S)
        driver.counts()

    (verdict,) = run(proxy, ThreadClients(GOOD), Check("own.differ", "Is alike", differ))
    assert verdict.detail.startswith("NotConforming: `counts`: got {")
    assert NotConforming.__name__ in verdict.detail


def test_no_client_reaches_a_glue_before_its_faults_are_in_place(proxy: TcpProxy) -> None:
    def prepared(harness: Harness) -> None:
        harness.start_client()
        server = harness.serve(is_reachable=False)
        refused = proxy.refused
        wait_for(lambda: proxy.refused > refused, harness, "a try to connect")
        assert server.next("agent", 0.2) is None
        proxy.target = server.address
        harness.admit(server)

    (verdict,) = run(proxy, ThreadClients(GOOD), Check("join.prepared", "", prepared))
    assert verdict.passed, verdict.detail
