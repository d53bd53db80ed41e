"""The hub: makes runs of agents, environments and benchmark programs as they join."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from queue import SimpleQueue
from typing import Any

from glue_server.peers.hosts import PeerSource
from glue_server.processes.event_loop import EventLoop, Task
from glue_server.processes.interrupts import hurried
from glue_server.routines.state_machine import StateMachine
from glue_server.rpc.server_session import ExperimentPort
from glue_server.timeouts import Timeouts
from reglue.errors import AgentFault, EnvironmentFault, ReglueError

log = logging.getLogger("reglue")

_LOOK_S = 0.2  # how often a silent program is checked
_POLL_S = 0.02  # how long it waits for a peer of each role in turn
_GONE_S = 0.02  # how often a program whose episode is played is looked for
_ROUTINE_S = 0.5  # how long a routine that is under way may take when the hub closes
_NAMED = 6  # waiting peers in a line: a name may have 200 characters
_CLOSED = "the hub has closed"
_NEEDED_ELSEWHERE = "another run needs this peer: join again"

ROLES = ("agent", "environment", "experiment")


class Hub:
    """Matches peers in the order in which they join: three of them make a run."""

    def __init__(
        self,
        server: PeerSource,
        *,
        timeouts: Timeouts,
        announce: Callable[[str], None],
        secret: str | None = None,
        tell: Callable[[Collection[str]], None] = lambda _: None,
    ) -> None:
        """`secret` keys what seeds are made of, as of StateMachine.

        `tell` is called with the roles of those who wait, whenever that changes, and with all of
        them when a run begins.
        """
        self._server = server
        self._secret = secret
        self._timeouts = timeouts
        self._announce = announce
        self._tell = tell
        self._waiting: Mapping[str, deque[Any]] = {role: deque() for role in ROLES}
        self._runs: list[_Run] = []
        self._loop = EventLoop("reglue-runs")  # one thread for all: see the loop
        self._closing = threading.Event()
        self._sent_away: SimpleQueue[str] = SimpleQueue()  # roles

    def serve(self, *, runs: int = 0) -> None:
        """Join peers until `close`, or until that many runs are over (0: no limit)."""
        self._announce(self._wanted())
        begun = 0
        while not self._closing.is_set() and not (runs and begun >= runs):
            if self._watch():
                self._announce(self._wanted())
                self._tell([role for role, peers in self._waiting.items() if peers])
            if all(self._waiting.values()):
                begun += 1
                self._begin(begun)
        for run in self._runs:
            run.task.join()
        self._loop.close(_ROUTINE_S)

    def send_away(self, role: str) -> None:
        """Let a peer of that role join again, if one waits; any thread may ask for it."""
        self._sent_away.put(role)

    def close(self) -> None:
        """End all sessions. A routine under way has a moment to finish; then it is cut off."""
        self._closing.set()  # which runs see, also one that begins just now
        for peers in self._waiting.values():
            for port in list(peers):
                port.close(_CLOSED)
        _join(self._runs, hurried(_ROUTINE_S))
        for run in self._runs:
            run.cut()
        self._loop.close(hurried(_ROUTINE_S))

    def _watch(self) -> bool:
        """Add peers that joined and drop peers that left; True if anything changed."""
        changed = False
        while not self._sent_away.empty():
            for port in self._waiting[self._sent_away.get()]:
                port.send_away(_NEEDED_ELSEWHERE)  # it is gone now: see below
        for role, peers in self._waiting.items():
            if (port := self._server.next(role, _POLL_S)) is not None:
                peers.append(port)
                changed = True
            for port in [port for port in peers if port.is_gone]:
                peers.remove(port)
                port.close("the peer has left")  # its stream may still be up
                self._server.release(port)
                changed = True
        self._runs = [run for run in self._runs if run.task.is_alive]
        return changed

    def _begin(self, number: int) -> None:
        ports = {role: self._waiting[role].popleft() for role in ROLES}
        names = ", ".join(f"{role} {_name(ports[role])}" for role in ROLES)
        self._announce(f"run {number} begins: {names}")
        self._runs.append(_Run(self._loop.begin(partial(self._play, number, ports)), ports))

    def _play(self, number: int, ports: Mapping[str, Any]) -> None:
        """Carry out the program's routines until it leaves or a peer is lost."""
        why = "our own failure"
        try:
            why = self._serve_run(ports, ports["experiment"])
        except Exception:
            log.exception("a run failed")
        finally:
            for port in ports.values():
                port.close(f"the run is over: {why}")
                self._server.release(port)
            self._announce(f"run {number} is over: {why}")

    def _serve_run(self, ports: Mapping[str, Any], experiment: ExperimentPort) -> str:
        machine = StateMachine(
            ports["environment"],
            ports["agent"],
            timeouts=self._timeouts,
            secret=self._secret,
            goes_on=self._goes_on(experiment),
            owns=False,
        )
        while not self._closing.is_set():
            call = experiment.next(_LOOK_S)
            if call is None and experiment.is_gone:
                return experiment.why_gone
            if call is None:
                continue
            try:
                experiment.answer(machine.run(call))
            except (AgentFault, EnvironmentFault) as fault:
                experiment.fail(fault)
                if self._closing.is_set():
                    break
                if why := _why_lost(ports):
                    return why
            except ReglueError as refused:
                experiment.fail(refused)
        return _CLOSED

    def _goes_on(self, experiment: ExperimentPort) -> Callable[[], bool]:
        """Tells whether an episode goes on. It looks at the program rarely, as that is slow."""
        look_at = 0.0

        def goes_on() -> bool:
            nonlocal look_at
            now = time.monotonic()
            if now >= look_at and not self._closing.is_set():
                look_at = now + _GONE_S
                return not experiment.is_gone
            return not self._closing.is_set()

        return goes_on

    def _wanted(self) -> str:
        here = [f"{role} {_name(port)}" for role, peers in self._waiting.items() for port in peers]
        if len(here) > _NAMED:
            here = [*here[:_NAMED], f"{len(here) - _NAMED} more"]
        missing = [role for role, peers in self._waiting.items() if not peers]
        words = f"waiting for {_listed(missing)}" if missing else "all are here"
        return f"{words}; here: {', '.join(here)}" if here else words


@dataclass(frozen=True, slots=True)
class _Run:
    """One agent, one environment and one program, and the task that plays them."""

    task: Task
    ports: Mapping[str, Any]

    def cut(self) -> None:
        """End its sessions at once, also in the middle of a call."""
        for port in self.ports.values():
            port.close(_CLOSED)
            port.give_up()


def _join(runs: list[_Run], within_s: float) -> None:
    """Wait for all of them together."""
    deadline = time.monotonic() + within_s
    for run in runs:
        run.task.join(max(0.0, deadline - time.monotonic()))


def _why_lost(ports: Mapping[str, Any]) -> str | None:
    peers = (ports[role] for role in ("agent", "environment"))
    return next((peer.why_gone for peer in peers if peer.is_gone), None)


def _name(port: Any) -> str:
    hello = port.hello
    names = (getattr(hello, role, "") for role in ROLES)
    return next(filter(None, names), "without a name")


def _listed(words: list[str]) -> str:
    named = [f"an {word}" for word in words]
    return named[0] if len(named) == 1 else f"{', '.join(named[:-1])} and {named[-1]}"
