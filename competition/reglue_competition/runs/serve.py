"""A competition's server: the gateway, the queue, the page and the metrics, in one process."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import prometheus_client

from glue_server.processes.interrupts import stopped_by_signals
from glue_server.rpc.gateways.agent_gateway import AgentGateway
from reglue.errors import UsageError
from reglue.net.join_string import split_address
from reglue_competition.phases.certificates import Certificate
from reglue_competition.runs.hosted import Hosted
from reglue_competition.runs.images.handed_in import HandedIn
from reglue_competition.runs.metrics import Metrics
from reglue_competition.runs.page_process import PageProcess
from reglue_competition.runs.phase_calendar import Calendar
from reglue_competition.runs.queue import Queue
from reglue_competition.runs.store_entries import StoreEntries
from reglue_competition.store import Store

log = logging.getLogger("reglue")

_LOOK_S = 0.5  # between two looks at the queue, unless a submission has news
_LEAVE_S = 5.0  # how long submissions' processes may take to stop
_REMIND_S = 86_400.0  # between two warnings that the certificate expires
_DRAINING = "the server is being stopped, and comes back soon: try again later"


@dataclass(frozen=True, slots=True)
class Addresses:
    """The addresses at which a server listens, each `host:port`."""

    agents: str
    metrics: str | None = None  # without it there are none


def serve(
    hosted: Hosted,
    store: Store,
    addresses: Addresses,
    *,
    page: Callable[[], PageProcess] | None = None,
    drain_timeout_s: float = 0.0,
    say: Callable[[str], None],
) -> None:
    """Serve until SIGTERM or Ctrl-C, then stop submissions so that the next server resumes them.

    Phases, quotas and farewells go by the store's clock, which should be a SteadyClock.
    Submissions may go on for `drain_timeout_s` before they are stopped. Raises UsageError for a
    competition that cannot be served: another server has it, a plan is not the one that was
    committed to, the certificate has expired, or an address is taken. While it serves it raises
    RunBusy if the database was away, and another server has it now.
    """
    # All closes in the reverse order: the handlers of signals first, so that another signal can end
    # a close that hangs, and the lock last, so that no other server begins before.
    with ExitStack() as closing:
        lock = closing.enter_context(hosted.folder.only_server())
        expiry = _Expiry(Certificate.read(hosted.folder.secrets_path))
        expiry.look()
        calendar = Calendar(store, hosted)
        calendar.check_commitments()
        calendar.keep(store.now())  # before the first agent is here
        metrics = Metrics()
        if addresses.metrics is not None:
            closing.enter_context(_metrics_at(addresses.metrics, metrics))
        entries = StoreEntries(store, metrics, hosted.definition)
        archives = None
        if any(each.agents != "remote" for each in hosted.definition.phases):
            archives = HandedIn(hosted.folder, store, entries)
            closing.callback(archives.close)
        gateway = AgentGateway(
            addresses.agents,
            entries=entries,
            archives=archives,
            reconnect_window_s=hosted.reconnect_window_s,
            tls=replace(hosted.secrets.tls, asks=hosted.definition.client_certificates),
        )
        closing.callback(gateway.close)
        queue = Queue(
            store,
            hosted,
            lock=lock,
            gateway=gateway,
            entries=entries,
            metrics=metrics,
        )
        page_process = None if page is None else page()
        if page_process is not None:
            closing.callback(page_process.close)
        stop = closing.enter_context(stopped_by_signals())
        say(f"agents join at {gateway.address}")
        try:
            while not stop.is_set():
                expiry.look()
                queue.tick()
                if page_process is not None:
                    page_process.keep()
                queue.wait(_LOOK_S)
            _drain(queue, gateway, drain_timeout_s)
        finally:
            # First, so that no agent is blamed for the end of its stream.
            queue.close(_LEAVE_S)


class _Expiry:
    """Warns that the certificate expires soon: at the start, and once a day."""

    def __init__(self, certificate: Certificate) -> None:
        """Raises UsageError if it has expired."""
        certificate.check(datetime.now(UTC))
        self._certificate = certificate
        self._next = 0.0  # monotonic seconds

    def look(self) -> None:
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + _REMIND_S
        if warning := self._certificate.warning(datetime.now(UTC)):
            log.warning("%s", warning)


def _drain(queue: Queue, gateway: AgentGateway, timeout_s: float) -> None:
    log.info("draining for %g s", timeout_s)
    gateway.drain(_DRAINING)
    deadline = time.monotonic() + timeout_s
    while not queue.is_idle and time.monotonic() < deadline:
        queue.tick(starts=False)
        queue.wait(_LOOK_S)


@contextmanager
def _metrics_at(address: str, metrics: Metrics) -> Iterator[None]:
    host, port = split_address(address)
    try:
        server, thread = prometheus_client.start_http_server(port, host, metrics.registry)
    except OSError as error:
        raise UsageError(f"metrics: cannot listen at {address}: {error.strerror}") from error
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
