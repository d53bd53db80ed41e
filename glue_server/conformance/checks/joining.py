"""How a client joins, over TLS too, and how it leaves."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from typing import Any

from glue_server.conformance.check import Check, group
from glue_server.conformance.clients import POLL_S
from glue_server.conformance.comparing import check_same
from glue_server.conformance.fault_injection import deny_joins, send_on
from glue_server.conformance.harness import Harness
from glue_server.conformance.specs import PLAIN
from glue_server.conformance.tcp_proxy import TcpProxy
from glue_server.rpc.tls import ServerTls, private_authority
from reglue.errors import AgentFault, EnvironmentFault, NotConforming, ReglueError
from reglue.messages.agent import TextMessage

_SAYS = {
    "agent": {"max_slots": 0, "partial_turns": True, "adapts": True, "episodic": True},
    "environment": {"max_slots": 0},
    "experiment": {},
}
"""What the conformance programs say of themselves."""

_TRIES = 2


def waits(stage: Harness) -> None:
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
    *group("join", waits, hello, elsewhere),
    _final("wrong-token", "UNAUTHENTICATED", "this token is not ours"),
    _final("wrong-version", "FAILED_PRECONDITION", "we speak version 7 here"),
    _final("wrong-role", "INVALID_ARGUMENT", "nobody of your kind joins here"),
    _final("place-taken", "ALREADY_EXISTS", "somebody sits here already"),
)


def wait_for(has_happened: Callable[[], bool], stage: Harness, what: str) -> None:
    """Wait for something of the client's. Raises NotConforming."""
    deadline = time.monotonic() + stage.timeout_s
    while not has_happened():
        if stage.has_lost_client:
            raise NotConforming("waiting", got="a client that has left", wanted=what)
        if time.monotonic() > deadline:
            raise NotConforming("waiting", got=f"none within {stage.timeout_s:g} s", wanted=what)
        time.sleep(POLL_S)


def at_once(stage: Harness) -> None:
    """Takes a farewell before anything else."""
    stage.fresh().bid_farewell()


def in_mid_episode(stage: Harness) -> None:
    """Takes a farewell in mid-episode, without cleanup."""
    talk = stage.talk()
    talk.begin(PLAIN)
    talk.play(2)
    stage.visit().bid_farewell()


def while_computing(stage: Harness) -> None:
    """Takes a farewell that comes while it computes."""
    talk = stage.talk()
    talk.begin(PLAIN)
    talk.send(TextMessage("sleep 200"))
    stage.visit().bid_farewell()


def in_message(stage: Harness) -> None:
    """Says what the program raised in a message, in a Fault, and leaves after the farewell."""
    stage.talk().begin(PLAIN)
    see_fault(stage, TextMessage("fail"))


def see_fault(stage: Harness, call: Any) -> None:
    """The call is answered by a Fault that says why; after the farewell the client leaves."""
    port = stage.talk().port
    port.send(call)
    try:
        reply = port.receive(stage.timeout_s)
    except ReglueError as error:
        if type(error) not in {AgentFault, EnvironmentFault} or "told to fail" not in str(error):
            got = f"{type(error).__name__}: {error}"
            raise NotConforming("the reply", got=got, wanted="a Fault: told to fail") from error
    else:
        raise NotConforming("the reply", got=type(reply).__name__, wanted="a Fault")
    port.close("you have failed")
    stage.visit().see_it_fail()


LEAVING = (
    *group("farewell", at_once, in_mid_episode, while_computing),
    *group("faults", in_message),
)


_JOURNEYS = 2  # connections after which a client that would come in has


def plays(stage: Harness) -> None:
    """Plays over TLS, where REGLUE_ADDRESS is a join string that holds an authority."""
    visit = stage.fresh(tls=private_authority())
    _play(stage)
    visit.bid_farewell()


def comes_back(stage: Harness) -> None:
    """Comes back over TLS when its connection is cut."""
    visit = stage.fresh(tls=private_authority())
    for _ in range(3):
        _play(stage)
        stage.road.cut()
    visit.bid_farewell()


def stranger(stage: Harness) -> None:
    """Tells its token to nobody whose certificate another authority has signed."""
    _stays_away(stage, told=private_authority(), shown=private_authority())


def wrong_name(stage: Harness) -> None:
    """Tells its token to nobody whose certificate is made out to another name."""
    tls = private_authority()
    _stays_away(stage, told=replace(tls, name="elsewhere.example"), shown=tls)


def no_tls(stage: Harness) -> None:
    """Tells its token to nobody who does without TLS, where the join string holds an authority."""
    _stays_away(stage, told=private_authority(), shown=None)


def _play(stage: Harness) -> None:
    talk = stage.talk()
    talk.begin(PLAIN.with_slots(4))
    talk.play(5)


def _stays_away(stage: Harness, *, told: ServerTls, shown: ServerTls | None) -> None:
    """The client may leave, or keep trying."""
    before = stage.road.journeys
    visit = stage.invite(tls=told)
    asked = deny_joins(stage.serve(tls=shown), "UNAUTHENTICATED", "you should not be here")
    wait_for(
        lambda: visit.client.exit_code() is not None or stage.road.journeys >= before + _JOURNEYS,
        stage,
        f"{_JOURNEYS} tries to connect",
    )
    stage.dismiss()
    check_same("calls of Join", len(asked), 0)


TLS = group("tls", plays, comes_back, stranger, wrong_name, no_tls)
