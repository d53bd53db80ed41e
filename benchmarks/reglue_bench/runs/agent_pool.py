"""Where units are played: an environment, and the agents that come to it one after another."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from glue_server import AgentPort, EnvironmentCalls, EpisodeRunner, Spent, Timeouts
from glue_server.processes.interrupts import uninterrupted
from reglue.errors import AgentDisconnected, AgentFault, UsageError
from reglue_bench.runs.agents import AgentPeer

MOST_ALIKE = 3
"""Agents that are lost in the same way before it is given up, if no other came."""


class AgentPool:
    """The agents of one session (see procedures.Agents), and the environment that they share.

    `admit` is told what each agent calls itself, and raises for one that must not play. An
    environment that is `lent` is not closed. Once `stop` is set, play is interrupted.
    """

    def __init__(
        self,
        make_host: Callable[[], AgentPeer],
        make_environment: Callable[[], EnvironmentCalls],
        *,
        lent: EnvironmentCalls | None = None,
        stop: threading.Event | None = None,
        admit: Callable[[str], None],
        timeouts: Timeouts,
        say: Callable[[str], None],
    ) -> None:
        self.spent = Spent()  # over all agents, with the time that it took them to come
        self._make_host = make_host
        self._make_environment = make_environment
        self._stop = stop
        self._admit = admit
        self._timeouts = timeouts
        self._say = say
        self._host: AgentPeer | None = None
        self._environment = lent
        self._owns = lent is None
        self._before = lent.executed if lent else 0  # steps of others
        self._waiting: AgentPort | None = None  # has come, and was given nothing yet
        self._playing: AgentPort | None = None
        self._given = 0  # agents, one a run or fewer
        self._lost: Counter[str] = Counter()  # agents, by how

    @property
    def executed(self) -> int:
        """Environment steps simulated so far."""
        return self._environment.executed - self._before if self._environment else 0

    def open(self) -> None:
        """Make the environment and wait for the first agent. Raises AgentFault, UsageError."""
        with uninterrupted():  # or a program might be left behind
            self._host = self._make_host()  # first, as its program takes a while to come
        self._environment = self._environment or self._make_environment()
        self._waiting = self._wait_for(self._host)

    def fresh(self) -> EpisodeRunner:
        """The glue with the next agent. Raises AgentFault if it does not come."""
        assert self._host is not None, "open() comes first"
        assert self._environment is not None, "open() comes first"
        if self._waiting is None and self._host.renews:
            self._renew()
        self._given += self._waiting is not None
        self._playing = self._waiting or self._playing
        self._waiting = None
        assert self._playing is not None
        glue = EpisodeRunner(
            self._playing, self._environment, timeouts=self._timeouts, stop=self._stop
        )
        glue.spent = self.spent
        return glue

    def explain(self, fault: AgentFault) -> str:
        """A fault in words, with what the agent itself had to say."""
        return self._host.explain(fault) if self._host else str(fault)

    def go_on(self, fault: AgentFault) -> None:
        """Say what happened if another agent can be started; else raise `fault`.

        Also where all that there were, and MOST_ALIKE of them, were lost in the same way.
        """
        if self._host is None or not self._host.renews:
            raise fault
        words = self.explain(fault)
        how = words.partition("\n")[0]
        self._lost[how] += 1
        if self._lost[how] == self._given == MOST_ALIKE:
            raise type(fault)(
                f"the first {MOST_ALIKE} agents were all lost in the same way; mend it, and go on "
                f"with --resume and --retry-faults: {fault}"
            )
        if self._lost[how] > 1:
            words = f"as before, {self._lost[how]} times now"
        self._say(f"the agent was lost and is started anew; {fault.status}: {words}")

    def close(self, reason: str) -> None:
        """Let the agent and the environments go, at the same time."""
        with ThreadPoolExecutor(1, thread_name_prefix="reglue-dismiss") as beside:
            dismissed = beside.submit(self._dismiss, reason)
            if self._environment is not None and self._owns:
                self._environment.close()
        dismissed.result()

    def _renew(self) -> None:
        """Another agent in the place of the one before."""
        try:
            with uninterrupted():
                self._dismiss("this run is over; the next one has an agent of its own")
                self._host = self._make_host()
            self._waiting = self._wait_for(self._host)
        except UsageError as error:  # it could be had before: nobody asked for anything wrong
            raise AgentDisconnected(f"the agent cannot be started anew: {error}") from error

    def _wait_for(self, host: AgentPeer) -> AgentPort:
        began = time.perf_counter()
        try:
            port = host.port()
        finally:
            self.spent.agent_s += time.perf_counter() - began
        self._admit(port.hello.agent)
        return port

    def _dismiss(self, reason: str) -> None:
        if self._host is not None:
            self._host.close(reason)
            self._host = None
