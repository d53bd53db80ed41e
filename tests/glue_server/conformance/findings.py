"""Verdicts on a client in a thread of this process."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from glue_server.conformance.check import Verdict
from glue_server.conformance.check_runner import checks_of, run_checks
from glue_server.conformance.drivers.driver import Driver
from glue_server.conformance.harness import DRIVERS, Harness
from glue_server.conformance.tcp_proxy import TcpProxy
from tests.glue_server.conformance.thread_clients import Play, ThreadClients
from tests.leftovers import nothing_left

BRIEF_S = 5.0  # what waits in vain waits that long
PATIENCE_S = 15.0  # also for how long a client looks for a server that has left


def verdicts(
    role: str,
    play: Play,
    *names: str,
    patience_s: float = PATIENCE_S,
    drivers: Mapping[str, Callable[..., Driver]] = DRIVERS,
) -> dict[str, Verdict]:
    """The verdicts of these checks."""
    checks = [check for name in names for check in checks_of(role, name)]
    with nothing_left(3 * PATIENCE_S), TcpProxy() as proxy:
        harness = Harness(
            role,
            ThreadClients(play),
            proxy,
            timeout_s=patience_s,
            join_timeout_s=patience_s,
            drivers=drivers,
        )
        return {each.name: each for each in run_checks(checks, [harness], lambda _: None)}


def found(role: str, play: Play, by: str, also: str = "calls.texts") -> str:
    """The words of the check that finds it out; `also` is one that the client passes."""
    passes = verdicts(role, play, also)[also]
    assert passes.passed, passes.detail
    became = verdicts(role, play, by, patience_s=BRIEF_S)[by]
    assert not became.passed, "nobody noticed"
    return became.detail
