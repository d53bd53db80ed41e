"""Checks of joining, over TLS too, and of leaving."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from typing import Any

from glue_server.conformance.check import Check, group
from glue_server.conformance.clients import POLL_S
from glue_server.conformance.comparing import check_same
from glue_server.conformance.conformance_tasks import PLAIN
from glue_server.conformance.fault_injection import deny_joins, send_on
from glue_server.conformance.harness import Harness
from glue_server.conformance.tcp_proxy import TcpProxy
from glue_server.rpc.tls.authority import private_authority
from glue_server.rpc.tls.server_certificate import ServerTls
from reglue.errors import AgentFault, EnvironmentFault, NotConforming, ReglueError
from reglue.messages.agent_messages import TextMessage

_SAYS = {
    "agent": {"max_slots": 0, "partial_turns": True, "adapts": True, "episodic": True},
    "environment": {"max_slots": 0},
    "experiment": {},
}
"""The fields of the conformance programs' hellos."""

_TRIES = 2


def waits(harness: Harness) -> None:
    """Tries again while the glue is not up, and while it has no free connection."""
    harness.start_client()
    wait_for(lambda: harness.proxy.refused >= _TRIES, harness, f"{_TRIES} tries to connect")
    server = harness.serve(is_reachable=False)
    deny_joins(server, "RESOURCE_EXHAUSTED", "too many connections are open", times=_TRIES)
    harness.proxy.target = server.address
    harness.admit(server)


def hello(harness: Harness) -> None:
    """Sends a hello with the program's abilities, its name and its library's."""
    said = asdict(harness.driver().port.hello)
    wanted = _SAYS[harness.role]
    check_same("Hello", {name: said[name] for name in wanted}, wanted)
    for name in (harness.role, "sdk"):
        check_same(f"a name in Hello.{name}", bool(said[name].strip()), True)


def elsewhere(harness: Harness) -> None:
    """Opens its stream at the ticket's address, if there is one."""
    run = harness.start_client()
    server = harness.serve(is_reachable=False)
    with TcpProxy(server.address) as other:
        send_on(server, other.address)
        harness.proxy.target = server.address
        harness.admit(server)
        check_same("connections to Ticket.address", other.connections, 1)
        run.say_farewell()


def _leaves_when_refused(code: str, why: str, harness: Harness) -> None:
    run = harness.start_client()
    server = harness.serve(is_reachable=False)
    denied = deny_joins(server, code, why)
    harness.proxy.target = server.address
    run.expect_failure(is_here=lambda: not denied)
    check_same("times that it asked", len(denied), 1)
    if run.client.is_watched and why not in run.client.printed():
        raise NotConforming("what it prints", got=repr(run.client.printed()), wanted=repr(why))


def _final(name: str, code: str, why: str) -> Check:
    return Check(
        f"join.{name}",
        f"Leaves when Join is refused with {code}, and shows the reason",
        partial(_leaves_when_refused, code, why),
    )


JOINING = (
    *group("join", waits, hello, elsewhere),
    _final("wrong-token", "UNAUTHENTICATED", "this token is not ours"),
    _final("wrong-version", "FAILED_PRECONDITION", "we speak version 7 here"),
    _final("wrong-role", "INVALID_ARGUMENT", "no such role joins here"),
    _final("place-taken", "ALREADY_EXISTS", "the place is taken already"),
)


def wait_for(has_happened: Callable[[], bool], harness: Harness, what: str) -> None:
    """Wait until the client does something. Raises NotConforming."""
    deadline, within = harness.deadline()
    while not has_happened():
        if harness.has_lost_client:
            raise NotConforming("waiting", got="a client that has left", wanted=what)
        if time.monotonic() > deadline:
            raise NotConforming("waiting", got=f"none within {within}", wanted=what)
        time.sleep(POLL_S)


def at_once(harness: Harness) -> None:
    """Takes a farewell before anything else."""
    harness.new_client().say_farewell()


def in_mid_episode(harness: Harness) -> None:
    """Takes a farewell in mid-episode, without cleanup."""
    driver = harness.begin(PLAIN)
    driver.play(2)
    harness.run().say_farewell()


def while_computing(harness: Harness) -> None:
    """Takes a farewell that comes while it computes."""
    driver = harness.begin(PLAIN)
    driver.send(TextMessage("sleep 200"))
    harness.run().say_farewell()


def in_message(harness: Harness) -> None:
    """Sends what the program raised in a message as a Fault, and leaves after the farewell."""
    harness.begin(PLAIN)
    see_fault(harness, TextMessage("fail"))


def see_fault(harness: Harness, call: Any) -> None:
    """Expect a Fault with the reason as the answer; after the farewell the client leaves."""
    port = harness.driver().port
    port.send(call)
    try:
        reply = port.receive(harness.timeout_s)
    except ReglueError as error:
        if type(error) not in {AgentFault, EnvironmentFault} or "told to fail" not in str(error):
            got = f"{type(error).__name__}: {error}"
            raise NotConforming("the reply", got=got, wanted="a Fault: told to fail") from error
    else:
        raise NotConforming("the reply", got=type(reply).__name__, wanted="a Fault")
    port.close("you have failed")
    harness.run().expect_failure()


LEAVING = (
    *group("farewell", at_once, in_mid_episode, while_computing),
    *group("faults", in_message),
)


_TRIED = 2  # connections after which any client would have joined


def plays(harness: Harness) -> None:
    """Plays over TLS if REGLUE_ADDRESS is a join string with an authority."""
    run = harness.new_client(tls=private_authority())
    _play(harness)
    run.say_farewell()


def comes_back(harness: Harness) -> None:
    """Reconnects over TLS when its connection is cut."""
    run = harness.new_client(tls=private_authority())
    for _ in range(3):
        _play(harness)
        harness.proxy.cut()
    run.say_farewell()


def stranger(harness: Harness) -> None:
    """Does not send its token if another authority signed the certificate."""
    _stays_away(harness, told=private_authority(), shown=private_authority())


def wrong_name(harness: Harness) -> None:
    """Does not send its token if the certificate has another name."""
    tls = private_authority()
    _stays_away(harness, told=replace(tls, name="elsewhere.example"), shown=tls)


def no_tls(harness: Harness) -> None:
    """Does not send its token without TLS if the join string holds an authority."""
    _stays_away(harness, told=private_authority(), shown=None)


def _play(harness: Harness) -> None:
    driver = harness.begin(PLAIN.with_slots(4))
    driver.play(5)


def _stays_away(harness: Harness, *, told: ServerTls, shown: ServerTls | None) -> None:
    """The client may leave, or keep trying."""
    before = harness.proxy.connections
    run = harness.start_client(tls=told)
    server = harness.serve(tls=shown, is_reachable=False)
    asked = deny_joins(server, "UNAUTHENTICATED", "you should not be here")
    harness.proxy.target = server.address
    wait_for(
        lambda: run.client.exit_code() is not None or harness.proxy.connections >= before + _TRIED,
        harness,
        f"{_TRIED} tries to connect",
    )
    harness.reset()
    check_same("calls of Join", len(asked), 0)


TLS = group("tls", plays, comes_back, stranger, wrong_name, no_tls)
