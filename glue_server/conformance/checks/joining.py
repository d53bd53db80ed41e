"""How a client comes in."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict
from functools import partial

from glue_server.conformance.comparing import check_same
from glue_server.conformance.fault_injection import deny_joins, send_on
from glue_server.conformance.harness import Harness
from glue_server.conformance.tcp_proxy import TcpProxy
from glue_server.conformance.verdicts import Check, group
from glue_server.conformance.visit import POLL_S
from reglue.errors import NotConforming

_SAYS = {
    "agent": {"max_slots": 0, "partial_turns": True, "adapts": True, "episodic": True},
    "environment": {"max_slots": 0},
    "experiment": {},
}
"""What the conformance programs say of themselves."""

_TRIES = 2


def patience(stage: Harness) -> None:
    """Tries again while the glue is not up yet, and while it has no connection to spare."""
    stage.invite()
    wait_for(lambda: stage.road.turned_away >= _TRIES, stage, f"{_TRIES} tries to connect")
    server = stage.serve()
    deny_joins(server, "RESOURCE_EXHAUSTED", "too many are at the door", times=_TRIES)
    stage.receive(server)


def hello(stage: Harness) -> None:
    """Says in its hello what the conformance program can do, and names itself and its library."""
    said = asdict(stage.talk().port.hello)
    wanted = _SAYS[stage.role]
    check_same("Hello", {name: said[name] for name in wanted}, wanted)
    for name in (stage.role, "sdk"):
        check_same(f"a name in Hello.{name}", bool(said[name].strip()), True)


def elsewhere(stage: Harness) -> None:
    """Opens its stream where the ticket says, if the ticket names an address."""
    visit = stage.invite()
    server = stage.serve()
    with TcpProxy(server.address) as other:
        send_on(server, other.address)
        stage.receive(server)
        check_same("connections to Ticket.address", other.journeys, 1)
        visit.bid_farewell()


def _takes_no_for_an_answer(code: str, why: str, stage: Harness) -> None:
    visit = stage.invite()
    denied = deny_joins(stage.serve(), code, why)
    visit.see_it_fail(is_here=lambda: not denied)
    check_same("times that it asked", len(denied), 1)
    if visit.client.is_watched and why not in visit.client.printed():
        raise NotConforming("what it prints", got=repr(visit.client.printed()), wanted=repr(why))


def _final(name: str, code: str, why: str) -> Check:
    return Check(
        f"join.{name}",
        f"Leaves when Join is refused with {code}, and shows the reason",
        partial(_takes_no_for_an_answer, code, why),
    )


JOINING = (
    *group("join", patience, hello, elsewhere),
    _final("wrong-token", "UNAUTHENTICATED", "this token is not ours"),
    _final("wrong-version", "FAILED_PRECONDITION", "we speak version 7 here"),
    _final("wrong-role", "INVALID_ARGUMENT", "nobody of your kind joins here"),
    _final("place-taken", "ALREADY_EXISTS", "somebody sits here already"),
)


def wait_for(has_happened: Callable[[], bool], stage: Harness, what: str) -> None:
    """Wait for something of the client's. Raises NotConforming."""
    deadline = time.monotonic() + stage.patience_s
    while not has_happened():
        if stage.has_lost_client:
            raise NotConforming("waiting", got="a client that has left", wanted=what)
        if time.monotonic() > deadline:
            raise NotConforming("waiting", got=f"none within {stage.patience_s:g} s", wanted=what)
        time.sleep(POLL_S)
