"""A process that plays shards of a plan, one after another, each with an agent of its own.

`python -m reglue_bench.engines.shard_process FD PARENT` reads what it is to play from the inherited
socket FD, and says there what came of it. It ends when that is closed.
"""

from __future__ import annotations

import os
import platform
import socket
import threading
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory
from typing import Any, NoReturn

from glue_server import EnvironmentCalls, Outcome
from glue_server.peers.hosts import AgentPeer
from glue_server.processes.channel import inherited_channel
from glue_server.processes.frames import read_frame, write_frame
from reglue.errors import AgentFault, EnvironmentFault, UsageError
from reglue_bench.engines.agent_pool import AgentPool, asks_again, check_capable, served_host
from reglue_bench.engines.environments import environment_of
from reglue_bench.engines.files import at_home, check_facts, unpack
from reglue_bench.engines.server import RunServer
from reglue_bench.engines.shard import ShardTold, outcome_head, played_frame, todo_of
from reglue_bench.engines.versions import machine
from reglue_bench.plans.plan import Plan
from reglue_bench.procedures import procedure_of
from reglue_bench.procedures.procedure import Todo
from reglue_bench.settings import Settings

_STEPS_S = 1.0  # between two frames about steps
_LOG_BYTES = 2**20  # of a log that are told at once
_LEAVE_S = 2.0  # how long it may take to leave, whatever an environment is doing


def main() -> NoReturn:
    """Play shards until there are no more."""
    parent = _Parent(inherited_channel())
    with suppress(EOFError, OSError, KeyboardInterrupt):  # nobody wants the rest
        parent.tell({"machine": machine()})
        head, bodies = parent.heard()
        _play(parent, ShardTold(**head), bodies)
    os._exit(0)


class _Parent:
    """The channel: what goes there, and what comes from there."""

    def __init__(self, channel: socket.socket) -> None:
        self.stop = threading.Event()  # ends play, as Ctrl-C does
        self.farewell = "the run is over"  # to the agent
        self._channel = channel
        self._sending = threading.Lock()
        self._heard: SimpleQueue[tuple[dict[str, Any], memoryview] | None] = SimpleQueue()
        threading.Thread(target=self._listen, name="reglue-parent", daemon=True).start()

    def tell(self, head: dict[str, Any], body: bytes = b"") -> None:
        """Send one frame. Raises OSError if nobody reads it any more."""
        with self._sending:
            write_frame(self._channel, head, body)

    def heard(self) -> tuple[dict[str, Any], memoryview]:
        """The next frame, head and body. Raises EOFError after the last."""
        if (found := self._heard.get()) is None:
            raise EOFError
        return found

    def _listen(self) -> None:
        with suppress(EOFError, OSError):
            while "farewell" not in (frame := read_frame(self._channel))[0]:
                self._heard.put(frame)
            self.farewell = frame[0]["farewell"]
        self.stop.set()
        self._heard.put(None)
        threading.Timer(_LEAVE_S, os._exit, (1,)).start()


class _Agents(AgentPool):
    """Whether others go on after one that was lost is the parent's to say."""

    def go_on(self, fault: AgentFault) -> None:
        raise fault


def _play(parent: _Parent, told: ShardTold, bodies: memoryview) -> None:
    with ExitStack() as closing:
        if not told.folder:
            folder = closing.enter_context(TemporaryDirectory(prefix="reglue-shard-"))
            told = _settled(told, bodies, Path(folder).resolve())
        player = _Player(parent, told)
        closing.callback(player.close)
        try:
            player.play()
        except AgentFault as fault:
            parent.tell({"lost": fault.status, "what": player.agents.explain(fault)})
        except EnvironmentFault as fault:
            parent.tell({"failed": str(fault)})
        except UsageError as error:
            parent.tell({"wrong": f"{platform.node()}: {error}" if told.facts else str(error)})


def _settled(told: ShardTold, bodies: memoryview, folder: Path) -> ShardTold:
    """The same for a machine with other files: in folders of its own."""
    run, files = folder / "run", folder / "files"
    for each in (run, files):
        each.mkdir()
    unpack(told.files, bodies, files)
    return replace(told, folder=str(run), settings={**told.settings, "directory": str(files)})


class _Player:
    """Plays what it hears of, with agents and environments of its own."""

    def __init__(self, parent: _Parent, told: ShardTold) -> None:
        self._parent = parent
        self._told = told
        self._logged: dict[str, int] = {}  # bytes of each log that were told
        self._logging = threading.Lock()
        self._settings = Settings.model_validate(told.settings)
        self._plan = Plan.from_json(told.plan)
        self._server = RunServer(self._settings, self._say, environment=False)
        procedure = procedure_of(self._plan)
        self.agents = _Agents(
            self._make_host,
            self._make_environment,
            stop=parent.stop,
            admit=self._admit,
            check=partial(check_capable, adapts=procedure.adapts),
            timeouts=self._settings.timeouts,
            say=self._say,
        )
        self.agents.hides_rewards = self._plan.hides_rewards
        self.agents.asks_again = asks_again(self._settings, procedure)

    def play(self) -> None:
        """Play shard after shard. Raises EOFError after the last."""
        if self._told.facts:
            check_facts(self._told.facts, self._settings, self._plan)
        procedure = procedure_of(self._plan)
        starts, cells = bytes.fromhex(self._told.starts), bytes.fromhex(self._told.cells) or None
        self.agents.open()
        threading.Thread(target=self._tell_steps, name="reglue-steps", daemon=True).start()
        while True:
            procedure.play(
                self.agents,
                todo_of(self._parent.heard()[0]),
                order=lambda unit, cell: self._plan.order(unit, cell, starts, cells),
                begin=lambda begun: self._parent.tell({"begun": [begun.unit, begun.attempt]}),
                record=self._record,
                watch=lambda outcome, phase: self._parent.tell(
                    {"outcome": outcome_head(outcome), "phase": phase} | self._spent()
                ),
            )
            self._tell_logs()
            found = self.agents.repetition
            self._parent.tell({"over": found and asdict(found)} | self._spent())

    def close(self) -> None:
        """End the agent and the environments."""
        self.agents.close(self._parent.farewell)
        self._server.close()
        with suppress(OSError):
            self._tell_logs()

    def _record(self, played: Todo, outcomes: Sequence[Outcome]) -> None:
        head, body = played_frame(played, outcomes)
        self._parent.tell({"played": head} | self._spent(), body)

    def _tell_steps(self) -> None:
        """How many there are, now and then: an episode may take long."""
        with suppress(OSError):
            while not self._parent.stop.wait(_STEPS_S):
                self._parent.tell(self._spent())
                self._tell_logs()

    def _tell_logs(self) -> None:
        """What logs say since the last time, where the run's folder is another one."""
        if not self._told.facts:
            return
        with self._logging:
            for log in sorted(Path(self._told.folder).glob("*.log")):
                with log.open("rb") as file:
                    file.seek(self._logged.get(log.name, 0))
                    if said := file.read(_LOG_BYTES):
                        self._logged[log.name] = file.tell()
                        self._parent.tell({"log": log.name}, said)

    def _spent(self) -> dict[str, Any]:
        spent, agents = self.agents.spent, self.agents
        counts = [agents.executed, agents.outside]
        return {"spent": [spent.agent_s, spent.environment_s, *counts]}

    def _make_host(self) -> AgentPeer:
        host = served_host(
            at_home(self._settings),
            Path(self._told.folder),
            log_name=self._told.agent_log,
            server=self._server.source,
            announce=self._say,
            invited=False,
            stop=self._parent.stop,
        )
        self._parent.tell({"isolation": host.isolation})
        return host

    def _make_environment(self) -> EnvironmentCalls:
        folder = Path(self._told.folder)
        return environment_of(self._plan, self._settings, folder, self._parent.stop)

    def _admit(self, name: str) -> None:
        self._parent.tell({"agent": name})

    def _say(self, words: str) -> None:
        self._parent.tell({"say": words})


if __name__ == "__main__":
    main()
