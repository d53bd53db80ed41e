"""A worker on another machine, which connects like any remote environment."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, assert_never

from glue_server.environment.environment_port import EnvironmentPort
from glue_server.environment.shared_arrays import SharedArrays
from glue_server.environment.worker_process import Silence, WorkerFaults
from glue_server.peers.hosts import PeerSource
from glue_server.processes.interrupts import hurried
from glue_server.processes.message_codec import Codec
from reglue.errors import (
    BadReply,
    EnvironmentFault,
    EnvironmentTimeout,
    ReglueError,
    UsageError,
    setting,
)
from reglue.messages.agent_messages import Cleanup, Refusal
from reglue.messages.environment_messages import (
    EnvironmentCall,
    EnvironmentInit,
    EnvironmentReady,
    EnvironmentReply,
    Play,
    Played,
)
from reglue_bench.engines.files import facts_and_files
from reglue_bench.engines.process_players import Player
from reglue_bench.engines.shard import Died, Machine, Say, Unplaced, Wrong
from reglue_bench.plans.plan import Plan
from reglue_bench.settings import Settings

PROCESS = "reglue_bench.placement.environment_process"

_ROLE = "environment"
_CLEANUP_S = 10.0
_DIES_S = 3.0  # how long the cluster may take to say how a process died


@dataclass(frozen=True, slots=True)
class EnvironmentSettings:
    """The environment that a process makes, and the address to connect to: the message to it."""

    settings: Mapping[str, Any]  # of Settings, without secrets and agent
    plan: str  # JSON, as the ledger has it
    join: str = field(repr=False)  # the join string, with a token of its own
    is_replacement: bool = False  # of a process that was ready; see Environment
    facts: Mapping[str, str] = field(default_factory=dict)  # that must hold there too: see `facts`
    files: Mapping[str, bytes] = field(default_factory=dict)

    @classmethod
    def of(cls, plan: Plan, settings: Settings) -> EnvironmentSettings:
        """The settings without `join`, which differs by process. Raises UsageError: large files."""
        nobody: dict[str, Any] = {"agent": None, "agent_cmd": None, "agent_args": {}}
        worker_settings = settings.without_secrets().model_copy(update=nobody)
        return cls(
            settings=worker_settings.model_dump(mode="json"),
            plan=plan.to_json(),
            join="",
            **facts_and_files(worker_settings, plan),
        )


FromEnvironment: TypeAlias = Machine | Say | Wrong | Died | Unplaced
FROM_ENVIRONMENT: Codec[FromEnvironment] = Codec(FromEnvironment)


class PlacedWorker:
    """A process on a cluster's node: its channel reports its fate, and its port plays."""

    pid = 0

    def __init__(
        self,
        player: Player[FromEnvironment],
        settings: EnvironmentSettings,
        lobby: PeerSource,
        *,
        wait: Callable[[PlacedWorker], None],
        note_machine: Callable[[str], None],
        say: Callable[[str], None],
        timeout_s: float,
    ) -> None:
        """`wait` returns once this has connected."""
        self.name = "an environment on the cluster"
        self._player = player
        self._settings = replace(settings, join=str(lobby.join_string(_ROLE)))
        self._lobby = lobby
        self._wait = wait
        self._note_machine = note_machine
        self._say = say
        self._timeout_s = timeout_s
        self._silence = Silence(timeout_s)
        self._port: EnvironmentPort | None = None
        self._slots = 0
        self._ready: EnvironmentReady
        self._shared: SharedArrays
        self._plays: deque[Play] = deque()
        self._wrong: ReglueError | None = None  # why it ends
        self._death = ""  # how its process died

    @property
    def left_s(self) -> float:
        return self._silence.left_s

    def fileno(self) -> int:
        """The descriptor of the channel that reports its fate."""
        return self._player.fileno()

    def filenos(self) -> Sequence[int]:
        """The descriptors of its port, and of the channel that reports its death."""
        return (self.fileno(), *(self._port.filenos() if self._port else ()))

    def init(self, slots: int, *, is_replacement: bool = False) -> None:
        """Ask for env_init, now or once it has connected."""
        self._slots = slots
        if self._port is None:
            self._settings = replace(self._settings, is_replacement=is_replacement)
            return
        with suppress(EnvironmentFault):  # `ready` says so
            self._port.send(EnvironmentInit(slots))

    def ready(self, timeout_s: float) -> EnvironmentReady:
        if self._port is None:
            self._wait(self)
            self.init(self._slots)
        reply = self._received(timeout_s)
        if isinstance(reply, Refusal):
            raise UsageError(got=reply.got, wanted=reply.wanted)
        if not isinstance(reply, EnvironmentReady):
            raise EnvironmentFault(f"{self.name} answered env_init by a {type(reply).__name__}")
        self._ready = reply
        return reply

    def share(self, memory: int) -> None:
        """Take over the memory in which its rows are written."""
        self._shared = SharedArrays(self._ready.spec, memory)

    def send(self, play: Play) -> None:
        whole = Play(play.slots, self._shared.actions(play.slots), play.starts)
        self._silence.note_call()
        self._plays.append(whole)
        self._sent(whole)

    def receive(self) -> WorkerFaults:
        self._check_alive()
        play = self._plays.popleft()
        played = self._answer()
        if not isinstance(played, Played):
            raise EOFError(f"answered a Play by a {type(played).__name__}")
        self._silence.note_answer()
        self._shared.put_played(play, played)
        return WorkerFaults(dict(played.faults), {*played.illegal}, played.outside)

    def ask(self, call: EnvironmentCall) -> EnvironmentReply:
        self._sent(call)
        return self._answer()

    def cleanup(self) -> None:
        with suppress(EOFError, OSError):
            self._sent(Cleanup())
            self._received(_CLEANUP_S)

    def leave(self) -> None:
        """Say farewell, and close the channel, which ends the process."""
        if self._port is not None:
            self._port.close("the run is over, thank you")
        self._lobby.close()
        self._player.leave()

    def death(self) -> str:
        """The cluster's report of its end, which may come after its connection is gone."""
        deadline = time.monotonic() + hurried(_DIES_S)
        with suppress(EOFError, OSError):
            while not self._death:
                self._take(self._player.receive(max(0.0, deadline - time.monotonic())))
        return self._death

    def end(self, within_s: float) -> None:
        """Wait until it has ended."""
        self._player.end(within_s)

    def has_joined(self) -> bool:
        """Whether it has connected."""
        if self._port is None:
            self._port = self._lobby.next(_ROLE, 0.0)
        return self._port is not None

    def is_silent(self) -> bool:
        """Whether it has no more to say before it plays."""
        return self._port is not None or self._wrong is not None

    def check(self) -> None:
        """Raise what ended it: UsageError, EnvironmentFault."""
        if self._wrong is not None:
            raise self._wrong

    def listen(self) -> None:
        """Take in what its channel says next."""
        try:
            self._take(self._player.receive())
        except (EOFError, OSError):
            self._wrong = self._wrong or EnvironmentFault(f"{self.name} died before it connected")

    def _take(self, message: FromEnvironment) -> None:
        match message:
            case Machine(name):
                self.name = f"the environment on {name}"
                self._note_machine(name)
                self._player.send(self._settings)
            case Say(text):
                self._say(text)
            case Unplaced(why):
                self._wrong = UsageError(
                    f"{why}: {setting('workers', 'N')} asks for N, {setting('resume')} continues"
                )
            case Died(how):
                self._death = how
                self._wrong = EnvironmentFault(f"{self.name} died: {how}")
            case Wrong(why):
                self._wrong = UsageError(why)
            case _:
                assert_never(message)

    def _sent(self, call: EnvironmentCall) -> None:
        assert self._port is not None, "ready() comes first"
        try:
            self._port.send(call)
        except EnvironmentFault as fault:
            raise OSError(str(fault)) from fault

    def _received(self, timeout_s: float) -> EnvironmentReply:
        """The next answer. Raises EnvironmentFault."""
        assert self._port is not None, "ready() comes first"
        while (reply := self._port.receive(timeout_s)) is None:
            pass
        return reply

    def _answer(self) -> EnvironmentReply:
        """The next answer. Raises EOFError or OSError: it is gone, or late."""
        try:
            return self._received(self._timeout_s)
        except EnvironmentTimeout as late:
            raise TimeoutError(str(late)) from late
        except (EnvironmentFault, BadReply) as fault:
            raise EOFError(str(fault)) from fault

    def _check_alive(self) -> None:
        """Take in what its channel says. Raises EOFError or OSError if it has died."""
        while self._player.has_message():
            self._take(self._player.receive())
            if self._wrong is not None:
                raise EOFError(str(self._wrong))
