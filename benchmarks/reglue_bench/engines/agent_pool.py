"""The engine of this process: its agents, one after another, and the environment they share."""

from __future__ import annotations

import shlex
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from env_adapters.disk_cache import cache_folder
from glue_server import AgentPort, EnvironmentCalls, EpisodeRunner, Spent, Timeouts
from glue_server.agent.agent_port import LocalPort
from glue_server.agent.capability import incapability
from glue_server.agent.repetition import RecordedTurns, Repetition
from glue_server.episodes.observed import ObservedParts
from glue_server.episodes.recording import LONG_STEPS
from glue_server.peers.hosts import (
    AgentPeer,
    ListenOptions,
    PeerSource,
    Program,
    ServedAgent,
    join_command,
)
from glue_server.processes.interrupts import uninterrupted
from glue_server.processes.program import agent_environment
from reglue.error_message import printable
from reglue.errors import AgentDisconnected, AgentFault, NotCapable, UsageError, setting
from reglue.spec import TaskSpec
from reglue_bench.engines.engine import Engine
from reglue_bench.procedures.procedure import Begin, MakeOrder, Procedure, Record, Todos, Watch
from reglue_bench.run_folder import AGENT_LOG, LEDGER
from reglue_bench.settings import AGENT_WAIT, Settings

MOST_ALIKE = 3
"""The most agents that may be lost in the same way, one after another, before the run ends."""


class AgentPool:
    """The agents of one session (see procedures.Agents), and the environment that they share.

    `admit` receives each agent's name, and raises an error for one that must not play. `check`
    gets the first agent and its task, and raises for one that cannot play. An `environment` that
    is given is not closed.
    """

    def __init__(
        self,
        make_host: Callable[[], AgentPeer],
        make_environment: Callable[[], EnvironmentCalls],
        *,
        environment: EnvironmentCalls | None = None,
        admit: Callable[[str], None],
        check: Callable[[AgentPort, TaskSpec], None],
        timeouts: Timeouts,
        say: Callable[[str], None],
    ) -> None:
        self.spent = Spent()  # over all agents, with the time that they took to connect
        self.observed_to: ObservedParts | None = None  # who records what agents see
        self.hides_rewards = False  # from agents while they are judged
        self.is_lent = False  # the agent: it was taken on before, and stays
        self.asks_again = False  # the last agent its first turns, to compare
        self._make_host = make_host
        self._make_environment = make_environment
        self._admit = admit
        self._check = check
        self._timeouts = timeouts
        self._host: AgentPeer | None = None
        self._environment = environment
        self._owns = environment is None
        self._before = environment.executed if environment else 0  # steps of others
        self._before_outside = environment.outside if environment else 0
        self._waiting: AgentPort | None = None  # connected, and not used yet
        self._playing: AgentPort | None = None
        self._glue: EpisodeRunner | None = None  # with the last agent
        self._agents_used = 0  # agents, one a run or fewer
        self._losses = Losses(say)
        self._tell_long: Callable[[], None] | None = lambda: self._report_long(say)

    @property
    def spec(self) -> TaskSpec:
        """The TaskSpec of the environment, once it is open."""
        assert self._environment is not None, "open() comes first"
        return self._environment.spec

    @property
    def where(self) -> str:
        """The place of episodes that begin now, in words; empty before it is open."""
        return self._environment.where if self._environment else ""

    @property
    def executed(self) -> int:
        """Environment steps simulated so far."""
        return self._environment.executed - self._before if self._environment else 0

    @property
    def outside(self) -> int:
        """Observations that were outside of their Box so far."""
        return self._environment.outside - self._before_outside if self._environment else 0

    @property
    def repetition(self) -> Repetition | None:
        """The result of asking the last agent again; None: it was not asked."""
        return self._glue.repetition if self._glue else None

    @property
    def recorded_turns(self) -> RecordedTurns | None:
        """The last agent's first turns, if it is frozen and asked again."""
        return self._glue.recorded_turns if self._glue else None

    def open(self) -> None:
        """Make the environment and wait for the first agent. Raises AgentFault, UsageError."""
        with uninterrupted():  # or a program might be left behind
            self._host = self._make_host()  # first, as its program takes a while to connect
        self._environment = self._environment or self._make_environment()
        self._waiting = self._wait_for(self._host)
        self._check(self._waiting, self.spec)

    def fresh(self) -> EpisodeRunner:
        """The glue with the next agent. Raises AgentFault if it does not connect."""
        assert self._host is not None, "open() comes first"
        assert self._environment is not None, "open() comes first"
        if self._waiting is None and self._renews:
            self._renew()
        self._agents_used += self._waiting is not None
        self._playing = self._waiting or self._playing
        self._waiting = None
        assert self._playing is not None
        glue = EpisodeRunner(self._playing, self._environment, timeouts=self._timeouts)
        glue.spent = self.spent
        glue.observed_to = self.observed_to
        glue.hides_rewards = self.hides_rewards
        glue.asks_again = self.asks_again
        glue.tell_long = self._tell_long
        glue.takes_refusals = not self.is_lent and self._glue is None  # else it played before
        self._glue = glue
        return glue

    def emptied(self) -> EnvironmentCalls:
        """The environment, with no episode in any slot, to be played without an agent.

        One that the pool made itself has worlds that have played nothing. Raises EnvironmentFault.
        """
        assert self._environment is not None, "open() comes first"
        if self._owns:
            self._environment.init(self._environment.spec.slots)
        return self._environment

    def explain(self, fault: AgentFault) -> str:
        return self._host.explain(fault) if self._host else str(fault)

    def go_on(self, fault: AgentFault) -> None:
        """Say what happened if another agent can be started; else raise `fault`.

        Also raises it if the first MOST_ALIKE agents were all lost in the same way.
        """
        if not self._renews:
            raise fault
        self._losses.add(
            fault, self.explain(fault), others=self._agents_used - self._losses.count - 1
        )

    def close(self, reason: str) -> None:
        """Close the agent and the environments, at the same time."""
        with ThreadPoolExecutor(1, thread_name_prefix="reglue-dismiss") as beside:
            dismissed = beside.submit(self._dismiss, reason)
            if self._environment is not None and self._owns:
                self._environment.close()
        dismissed.result()

    @property
    def _renews(self) -> bool:
        """Whether another agent takes the place of the last one: not of one that is lent."""
        return self._host is not None and self._host.renews and not self.is_lent

    def _report_long(self, say: Callable[[str], None]) -> None:
        """Report once, for the user who waits, that the run's episodes do not end."""
        if self._tell_long is not None:
            say(
                f"an episode has had {LONG_STEPS:,} steps so far; if episodes do not end by "
                "themselves, an episode limit ends them"
            )
        self._tell_long = None

    def _renew(self) -> None:
        """Replace the agent with a new one."""
        try:
            with uninterrupted():
                self._dismiss("this run is over; the next one has an agent of its own")
                self._host = self._make_host()
            self._waiting = self._wait_for(self._host)
        except UsageError as error:  # it started before, so the settings are right
            raise AgentDisconnected(f"the agent cannot be restarted: {error}") from error

    def _wait_for(self, host: AgentPeer) -> AgentPort:
        began = time.perf_counter()
        try:
            port = host.port()
        finally:
            self.spent.agent_s += time.perf_counter() - began
        self._admit(port.hello.agent)
        return port

    def _dismiss(self, reason: str) -> None:
        if self._host is not None and not self.is_lent:
            self._host.close(reason)
        self._host = None


class LocalEngine(Engine):
    """Plays everything with the agents of one pool, one after another, in this process."""

    def __init__(self, procedure: Procedure, order: MakeOrder, pool: AgentPool) -> None:
        self._pool = pool
        self._procedure = procedure
        self._order = order

    @property
    def spent(self) -> Spent:
        return self._pool.spent

    @property
    def executed(self) -> int:
        return self._pool.executed

    @property
    def outside(self) -> int:
        return self._pool.outside

    @property
    def where(self) -> str:
        return self._pool.where

    @property
    def repetitions(self) -> Sequence[Repetition]:
        return [each for each in [self._pool.repetition] if each is not None]

    def open(self) -> None:
        """Wait for the first agent."""
        self._pool.open()

    def play(self, todo: Todos, *, begin: Begin, record: Record, watch: Watch) -> None:
        """Play one shard after another."""
        for shard in todo.dealt(self._procedure.agents):
            self._procedure.play(
                self._pool, shard, order=self._order, begin=begin, record=record, watch=watch
            )

    def explain(self, fault: AgentFault) -> str:
        return self._pool.explain(fault)

    def close(self, reason: str) -> None:
        self._pool.close(reason)


class Losses:
    """Agents that were lost, by how."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._lost: Counter[str] = Counter()

    @property
    def count(self) -> int:
        """The number of lost agents."""
        return self._lost.total()

    def add(self, fault: AgentFault, message: str, *, others: int) -> None:
        """Say what happened: another agent is started.

        `others` are agents that were not lost. Raises `fault` if there are none, and the first
        MOST_ALIKE were all lost in the same way.
        """
        how = message.partition("\n")[0]
        self._lost[how] += 1
        if not others and self._lost[how] == self.count == MOST_ALIKE:
            raise type(fault)(
                f"the first {MOST_ALIKE} agents were all lost in the same way; correct it, "
                f"resume the run and retry its faults: {fault}"
            )
        if self._lost[how] > 1:
            message = f"as before, {self._lost[how]} times now"
        self._say(f"the agent was lost and is started anew; {fault.status}: {message}")


def check_capable(port: AgentPort, spec: TaskSpec, *, adapts: bool) -> None:
    """Raise NotCapable, and tell the agent, if it said that it cannot play this.

    `adapts` says that it is to adapt.
    """
    if (lack := incapability(port.hello, spec, adapts=adapts)) is not None:
        if not isinstance(port, LocalPort):  # who made the agent is told by the error
            port.refuse(lack)
        raise NotCapable(f"{printable(port.hello.agent)} cannot play this: {lack}")


def asks_again(settings: Settings, procedure: Procedure) -> bool:
    """Whether to ask agents again: not those that adapt, which may remember a trial's episodes.

    Those that learn while they are judged are not, in any case.
    """
    return settings.repeat_check and not procedure.adapts


def served_host(
    settings: Settings,
    folder: Path,
    *,
    server: Callable[[], PeerSource],
    announce: Callable[[str], None],
    invited: bool,
    log_name: str = AGENT_LOG,
) -> ServedAgent:
    """An agent that connects to `server`, as the settings say.

    `invited` says that people were told how to join. If the settings name a program, it is
    started. Raises UsageError.
    """
    options = ListenOptions(timeout_s=settings.connect_timeout, invited=invited)
    program = _program(settings, folder / log_name)  # before there is a server to close
    return ServedAgent(options, program, announce, server=server())


POISON = "REGLUE_POISON"
"""Set: clients that show agents their own memory overwrite it once the turn is answered."""


def _program(settings: Settings, log_file: Path) -> Program | None:
    """The program to start; None for an agent that is started elsewhere."""
    if settings.agent_cmd is not None:
        try:
            command = shlex.split(settings.agent_cmd)
        except ValueError as error:
            raise UsageError(
                f"{setting('agent_cmd', repr(settings.agent_cmd))}: {error}"
            ) from error
        if not command:
            raise UsageError(
                got=f"an empty {setting('agent_cmd')}",
                wanted="a program that connects to $REGLUE_ADDRESS",
            )
        is_ours = False
    elif settings.agent == AGENT_WAIT:
        _check_no_sandbox(settings)
        return None
    elif settings.agent is None:
        raise UsageError(
            f"no agent: give {setting('agent')}, its name or wait, or {setting('agent_cmd')}"
        )
    else:
        command, is_ours = join_command(settings.agent, settings.agent_args), True
    return Program(
        command,
        log_file,
        settings.directory,
        agent_environment(settings.agent_env) | ({POISON: "1"} if settings.poisons else {}),
        sandbox=settings.chosen_sandbox,
        image=settings.sandbox_image,
        readable=[Path(settings.directory, path) for path in settings.sandbox_read],
        hidden=[*_hidden_folders(log_file.parent), *settings.hidden],
        is_ours=is_ours,
    )


def _check_no_sandbox(settings: Settings) -> None:
    """Raise UsageError if the settings name a sandbox; `auto` may follow from a secret."""
    sandbox = settings.sandbox
    if sandbox in (None, "none") or (sandbox == "auto" and settings.secret is not None):
        return
    raise UsageError(
        setting("agent", AGENT_WAIT),
        got=setting("sandbox", sandbox),
        wanted=(
            "none: a sandbox holds a program that is started here, and this agent is "
            "started elsewhere; its host must isolate it"
        ),
    )


def _hidden_folders(run: Path) -> list[Path]:
    """Folders to hide from the agent: other runs in the same folder hold the goals too."""
    beside = [file.parent for file in run.resolve().parent.glob(f"*/{LEDGER}")]
    return [*{run.resolve(), *beside}, *filter(None, [cache_folder()])]
