"""A process that plays shards of a plan, one after another, each with an agent of its own.

`python -m reglue_bench.engines.shard_process FD PARENT` reads what it is to play from the inherited
socket FD, and says there what came of it. It ends when that is closed.
"""

from __future__ import annotations

import platform
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NoReturn

from glue_server import EnvironmentCalls, Outcome
from glue_server.peers.hosts import AgentPeer
from glue_server.processes.child import Parent, ParentGone, exit_after, inherited_channel
from glue_server.processes.crash_reports import crashes_reported
from glue_server.processes.interrupts import interruptible, is_stopping
from glue_server.processes.message_codec import unexpected
from reglue.errors import AgentFault, EnvironmentFault, UsageError
from reglue_bench.benchmark.benchmark import suite_of
from reglue_bench.engines.agent_pool import AgentPool, asks_again, check_capable, served_host
from reglue_bench.engines.files import at_home, check_facts, unpack
from reglue_bench.engines.run_environments import environment_of
from reglue_bench.engines.run_identity import machine
from reglue_bench.engines.run_server import RunServer
from reglue_bench.engines.shard import (
    TO_SHARD,
    AgentConnected,
    AgentLost,
    EnvironmentFailed,
    EpisodeEnded,
    EpisodePlayed,
    Farewell,
    Isolation,
    LogPart,
    Machine,
    Say,
    Shard,
    ShardOver,
    ShardSettings,
    ShardSpent,
    StillPlaying,
    ToShard,
    UnitBegun,
    UnitPlayed,
    Wrong,
)
from reglue_bench.plans.plan import Plan
from reglue_bench.procedures import procedure_of
from reglue_bench.procedures.procedure import Todo
from reglue_bench.settings import Settings

_STEPS_S = 1.0  # between two messages about steps
_LOG_BYTES = 2**20  # of a log that are sent at once
_LEAVE_S = 2.0  # how long it may take to leave, whatever an environment is doing


def main() -> NoReturn:
    """Play shards until there are no more."""
    parent = _Parent(inherited_channel(TO_SHARD), leave_s=_LEAVE_S)
    exit_after(lambda: _play(parent))


class _Parent(Parent[ToShard]):
    """The parent's messages; the one that ends play is also the agent's farewell."""

    farewell = "the run is over"  # to the agent

    def take(self, message: ToShard) -> None:
        if isinstance(message, Farewell):
            self.farewell = message.reason
            raise EOFError
        super().take(message)


class _Agents(AgentPool):
    """Leaves it to the parent whether others continue after a lost agent."""

    def go_on(self, fault: AgentFault) -> None:
        raise fault


def _play(parent: _Parent) -> None:
    parent.send(Machine(machine()))
    shards = parent.receive()
    if not isinstance(shards, ShardSettings):
        raise unexpected(shards)
    with crashes_reported(), ExitStack() as closing:
        if not shards.folder:
            folder = closing.enter_context(TemporaryDirectory(prefix="reglue-shard-"))
            shards = _settled(shards, Path(folder).resolve())
        player = _Player(parent, shards)
        closing.callback(player.close)
        try:
            interruptible(player.play)
        except AgentFault as fault:
            parent.send(AgentLost(fault.status, player.agents.explain(fault)))
        except EnvironmentFault as fault:
            parent.send(EnvironmentFailed(str(fault)))
        except UsageError as error:
            parent.send(Wrong(f"{platform.node()}: {error}" if shards.facts else str(error)))


def _settled(shards: ShardSettings, folder: Path) -> ShardSettings:
    """The settings for a machine without the run's files: unpacked into its own folders."""
    run, files = folder / "run", folder / "files"
    for each in (run, files):
        each.mkdir()
    unpack(shards.files, files)
    return replace(
        shards, folder=str(run), settings={**shards.settings, "directory": str(files)}, files={}
    )


class _Player:
    """Plays the shards that it gets, with agents and environments of its own."""

    def __init__(self, parent: _Parent, shards: ShardSettings) -> None:
        self._parent = parent
        self._shards = shards
        self._logged: dict[str, int] = {}  # bytes of each log that were sent
        self._logging = threading.Lock()
        self._settings = Settings.model_validate(shards.settings)
        self._plan = Plan.from_json(shards.plan)
        self._server = RunServer(self._settings, self._say, environment=False)
        procedure = procedure_of(self._plan)
        self.agents = _Agents(
            self._make_host,
            self._make_environment,
            admit=self._admit,
            check=partial(check_capable, adapts=procedure.adapts),
            timeouts=self._settings.timeouts,
            say=self._say,
        )
        self.agents.hides_rewards = self._plan.hides_rewards
        self.agents.asks_again = asks_again(self._settings, procedure)

    def play(self) -> None:
        """Play shard after shard. Raises ParentGone after the last."""
        if self._shards.facts:
            check_facts(self._shards.facts, self._settings, self._plan)
        procedure = procedure_of(self._plan)
        starts, cells = self._shards.starts, self._shards.cells
        self.agents.open()
        self._parent.send(StillPlaying(self._spent, self.agents.where))
        threading.Thread(target=self._send_steps, name="reglue-steps", daemon=True).start()
        while True:
            shard = self._parent.receive()
            if not isinstance(shard, Shard):
                raise unexpected(shard)
            procedure.play(
                self.agents,
                shard.todo,
                order=lambda unit, cell: self._plan.order(unit, cell, starts, cells),
                begin=lambda begun: self._parent.send(UnitBegun(begun.unit, begun.attempt)),
                record=self._record,
                watch=self._watch,
            )
            self._send_logs()
            self._parent.send(ShardOver(self.agents.repetition, self._spent))

    def close(self) -> None:
        """End the agent and the environments."""
        self.agents.close(self._parent.farewell)  # which goes through the server
        self._server.close()
        with suppress(OSError, ParentGone):  # last: agents print while they leave
            self._send_logs()

    def _watch(self, outcome: Outcome, phase: str) -> None:
        episode = EpisodePlayed.of(outcome, whole=False)
        self._parent.send(EpisodeEnded(episode, phase, self._spent))

    def _record(self, played: Todo, outcomes: Sequence[Outcome]) -> None:
        episodes = tuple(EpisodePlayed.of(each, whole=True) for each in outcomes)
        self._parent.send(UnitPlayed(played.attempt, episodes, self._spent))

    def _send_steps(self) -> None:
        """Report the number of steps now and then: an episode may take long."""
        with suppress(OSError, ParentGone):
            time.sleep(_STEPS_S)
            while not is_stopping():
                self._parent.send(StillPlaying(self._spent, self.agents.where))
                self._send_logs()
                time.sleep(_STEPS_S)

    def _send_logs(self) -> None:
        """Send the new text of log files, if the run's folder is on another machine."""
        if not self._shards.facts:
            return
        with self._logging:
            for log in sorted(Path(self._shards.folder).glob("*.log")):
                with log.open("rb") as file:
                    file.seek(self._logged.get(log.name, 0))
                    if text := file.read(_LOG_BYTES):
                        self._logged[log.name] = file.tell()
                        self._parent.send(LogPart(log.name, text))

    @property
    def _spent(self) -> ShardSpent:
        spent, agents = self.agents.spent, self.agents
        return ShardSpent(spent.agent_s, spent.environment_s, agents.executed, agents.outside)

    def _make_host(self) -> AgentPeer:
        host = served_host(
            at_home(self._settings),
            Path(self._shards.folder),
            log_name=self._shards.agent_log,
            server=self._server.source,
            announce=self._say,
            invited=False,
        )
        self._parent.send(Isolation(host.isolation))
        return host

    def _make_environment(self) -> EnvironmentCalls:
        shards = self._shards
        return environment_of(
            suite_of(self._plan, self._settings),
            self._plan,
            self._settings,
            Path(shards.folder),
            share=shards.cores,
            was_lost=shards.was_lost,
        )

    def _admit(self, name: str) -> None:
        self._parent.send(AgentConnected(name))

    def _say(self, text: str) -> None:
        self._parent.send(Say(text))


if __name__ == "__main__":
    main()
