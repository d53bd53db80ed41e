"""TLS, with an authority that the join string names."""

from __future__ import annotations

from dataclasses import replace

from glue_server.conformance.checks.joining import wait_for
from glue_server.conformance.comparing import check_same
from glue_server.conformance.fault_injection import deny_joins
from glue_server.conformance.harness import Harness
from glue_server.conformance.specs import PLAIN
from glue_server.conformance.verdicts import group
from glue_server.rpc.tls import ServerTls, private_authority

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
