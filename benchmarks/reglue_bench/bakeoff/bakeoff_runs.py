"""A bake-off: every agent plays the same plan, in a run of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Protocol, Self

from glue_server import EnvironmentCalls
from glue_server.peers.hosts import PeerSource, how_to_join
from glue_server.processes.interrupts import interruptible, uninterrupted
from reglue.errors import EnvironmentFault, PlanDiffers, RunExists, UsageError, setting
from reglue_bench.bakeoff.entrant import Entrant
from reglue_bench.benchmark.benchmark import Benchmark, source_of
from reglue_bench.benchmark.benchmark_source import Declare
from reglue_bench.benchmark.declared import Declared, check_declared
from reglue_bench.engines.run_environments import cores
from reglue_bench.engines.run_server import ENVIRONMENTS, RunServer, listen
from reglue_bench.evaluation import carry_out, conclude
from reglue_bench.plans.plan import Plan
from reglue_bench.procedures import procedure_of
from reglue_bench.procedures.procedure import or_default
from reglue_bench.results.result import Result
from reglue_bench.run_folder import LEDGER, remove_logs
from reglue_bench.runs.ledger import Ledger, check_empty
from reglue_bench.runs.left_to_play import left_to_play
from reglue_bench.runs.notes import Ending
from reglue_bench.runs.observer import Observer
from reglue_bench.runs.players import environment_players, players_of
from reglue_bench.runs.run import Request, begin, check_same
from reglue_bench.settings import LOCAL, Settings

if TYPE_CHECKING:  # grpc is loaded only where agents or environments connect
    from glue_server.rpc import PrivateLobby

_LEAVE_S = 3.0  # how long a cluster's process may take to leave


class Audience(Protocol):
    """Receives the runs' events, from each run's thread if several play at once."""

    def watcher(self, entrant: Entrant) -> Observer:
        """The observer of an agent's run, which is about to play."""

    def run_ended(self, entrant: Entrant, result: Result) -> None:
        """Receives the result of an agent's run."""


class Bakeoff:
    """Agents that play one plan; a context manager that closes them.

    One server serves all of the agents from the beginning to the end, and each has a token of
    its own. An agent that comes early waits for its first call, however long that takes.
    """

    def __init__(
        self,
        entrants: Sequence[Entrant],
        folder: Path,
        say: Callable[[str], None],
        *,
        at_once: int = 1,
    ) -> None:
        """Their runs are in `folder`, and `at_once` of them are played at the same time.

        `say` receives join instructions and warnings. Raises UsageError if the server cannot
        listen, two agents have one token, or the settings cannot be played this way.
        """
        settings = entrants[0].settings
        self._source = source_of(settings)
        waits = self._source.waits
        if waits and at_once > 1:
            raise UsageError(
                got=setting("at_once", at_once),
                wanted=(
                    f"1: the environment of {settings.benchmark}, which connects by itself, "
                    "plays one run after another"
                ),
            )
        self._at_once = min(at_once, len(entrants))
        self._entrants = [_sharing(each, self._at_once) for each in entrants]
        self._folder = folder
        self._say = say
        self.refused: dict[str, UsageError] = {}  # by agent: why it has no run
        # Nobody comes in by the server's own token.
        with_environments = waits or settings.environments != LOCAL
        none = {"agent": 0, "environment": 0} if with_environments else {"agent": 0}
        nobodys = settings.model_copy(update={"environment_token": None})
        self._server = listen(nobodys, places=none, reconnect_window_s=none)
        with ExitStack() as undo:
            undo.callback(self._server.close)
            self._lobbies = {each.name: self._lobby(each) for each in entrants}
            self._host = self._environment_host(settings) if waits else None
            undo.pop_all()
        for entrant in entrants:
            if entrant.waits:
                say(_invited(entrant, self._lobbies[entrant.name]))
        for entrant in entrants:
            if entrant.plays_without:
                say(
                    f"{entrant.name} plays without {' and '.join(entrant.plays_without)}, which "
                    "would copy it: it connects by itself"
                )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with uninterrupted(then_raise=False), ExitStack() as closing:
            closing.callback(self._server.close)
            if self._host is not None:
                self._host.close()

    def prepare(self, watcher: Observer, *, resume: bool) -> None:
        """Make the plan, and begin the run of every agent.

        With `resume`, existing runs continue; otherwise there must be none. An environment that
        connects by itself is waited for if something is left to play. Raises EnvironmentFault
        where it does not come, and UsageError (RunExists, PlanDiffers, RunBusy); then leaves the
        folder as it was.
        """
        settings = self._entrants[0].settings
        self._plan = (
            Benchmark.of(settings, self._source)
            .resolve(
                settings.secret,
                declare=self._declare(resume=resume),
                drawing=watcher.drawing,
            )
            .plan
        )
        missing = [each for each in self._entrants if not self._is_there(each, resume=resume)]
        if not resume:
            check_empty(self._folder)
        self._check_players()
        begun: list[Ledger] = []
        with ExitStack() as undo:
            for entrant in missing:
                request = Request(entrant.settings, self._plan, entrant=entrant.submission)
                begun.append(begin(self._folder / entrant.name, request))
                undo.callback(begun[-1].forget)
            undo.pop_all()
        for ledger in begun:
            ledger.close()

    def _declare(self, *, resume: bool) -> Declare | None:
        """Waits for an environment that connects by itself, unless all runs have been played."""
        host = self._host
        if host is None:
            return None
        if resume and (before := self._plan_of_played_runs()) is not None:
            return lambda _slots: Declared.in_plan(before)
        procedure = self._source.procedure
        return lambda slots: host.declared(slots, procedure)

    def _plan_of_played_runs(self) -> Plan | None:
        """The plan of the runs; None if one of them has something left to play."""
        plan: Plan | None = None
        for entrant in self._entrants:
            folder = self._folder / entrant.name
            if not (folder / LEDGER).exists():
                return None
            with Ledger(folder) as ledger:
                plan = Plan.from_json(ledger.about["plan"])
                if left_to_play(ledger, procedure_of(plan)):
                    return None
        return plan

    def _check_players(self) -> None:
        """Raise UsageError, MissingExtra for processes that a run could not have.

        A cluster is connected to once: it would keep every run waiting.
        """
        reached: tuple[str, ...] = ()
        for entrant in self._entrants:
            with TemporaryDirectory() as folder:
                arguments = (Request(entrant.settings, self._plan), Path(folder), self._say)
                players = players_of(*arguments) or environment_players(*arguments)
                where = (entrant.settings.engine, entrant.settings.environments)
                if players is None or reached == where:
                    continue
                reached = where
                try:
                    players.open()
                finally:
                    players.close(_LEAVE_S)

    def play(self, audience: Audience) -> list[tuple[Entrant, Result]]:
        """Play what is left of the runs, in the agents' order.

        One after another, an agent has the machine to itself, with all cores for the copies of
        it that may play at the same time. An agent's failure is in its result, and the others go
        on; after Ctrl-C the agents whose turn has not come have none. Nor has one that cannot
        be started or cannot play the plan: it is in `refused`. Raises UsageError if all are.
        """
        together = self._at_once > 1
        played = self._play_together(audience) if together else self._play_in_turn(audience)
        if not played and self.refused:
            with suppress(OSError):  # it was there before, and holds other runs
                self._folder.rmdir()
            each = "; ".join(f"{name}: {error}" for name, error in self.refused.items())
            raise UsageError(f"no agent can play: {each}")
        return played

    def _play_in_turn(self, audience: Audience) -> list[tuple[Entrant, Result]]:
        played: list[tuple[Entrant, Result]] = []
        for entrant in self._entrants:
            if (result := self._play(entrant, audience)) is not None:
                played.append((entrant, result))
                if is_interrupted(result):
                    break
        return played

    def _play_together(self, audience: Audience) -> list[tuple[Entrant, Result]]:
        with uninterrupted(then_raise=False):  # else agents would be blamed for our leaving
            threads = ThreadPoolExecutor(self._at_once, thread_name_prefix="reglue-run")
            runs = [threads.submit(self._play, each, audience) for each in self._entrants]
            threads.shutdown(cancel_futures=interruptible(lambda: _wait(runs)))
        results = [None if run.cancelled() else run.result() for run in runs]
        each = zip(self._entrants, results, strict=True)
        return [(entrant, result) for entrant, result in each if result is not None]

    def _play(self, entrant: Entrant, audience: Audience) -> Result | None:
        """Play one run, if its agent can."""
        watcher = audience.watcher(entrant)
        try:
            result = self._carry_out(entrant, watcher)
        except UsageError as error:  # the others may play
            self.refused[entrant.name] = error
            self._say(f"{entrant.name} has no run: {error}")
            return None
        audience.run_ended(entrant, result)
        return result

    def _carry_out(self, entrant: Entrant, watcher: Observer) -> Result:
        folder, settings = self._folder / entrant.name, entrant.settings
        lobby: PeerSource = self._lobbies[entrant.name]
        with ExitStack() as leaving:
            leaving.callback(lobby.close)
            server = RunServer(
                settings, watcher.say, environment=False, lobby=lobby, shared=self._server
            )
            ledger = leaving.enter_context(Ledger(folder))
            try:
                is_over = not left_to_play(ledger, procedure_of(self._plan))
                environment = None if is_over else self._environment()
                request = Request(settings, self._plan, server=server, environment=environment)
                return carry_out(folder, ledger, request, watcher)
            except UsageError as error:  # its program does not start, say
                if next(ledger.rows(), None) is None:
                    remove_logs(folder)
                    ledger.forget()
                    raise
                return conclude(folder, ledger, Ending(status="not_played", what=str(error)))
            except EnvironmentFault as fault:  # it did not come back
                return conclude(folder, ledger, Ending(status=fault.status, what=str(fault)))

    def _environment_host(self, settings: Settings) -> RunServer:
        """The host to which the environment that all runs share connects."""
        lobby = self._server.private_lobby(
            "environment",
            token=settings.environment_token,
            reconnect_window_s=settings.reconnect_window,
            places=ENVIRONMENTS,
        )
        return RunServer(settings, self._say, environment=True, lobby=lobby)

    def _environment(self) -> EnvironmentCalls | None:
        """The environment that connected, ready for a run; None: each run makes its own.

        Raises EnvironmentFault if it is lost and does not come back, and PlanDiffers if
        another one has come.
        """
        if self._host is None:
            return None
        plan = self._plan
        environment = self._host.renewed_environment(plan.slots, plan.procedure)
        check_declared(plan, Declared.of(environment.hello, environment.ready))
        return environment

    def _lobby(self, entrant: Entrant) -> PrivateLobby:
        # A program that we started and that died is not waited for: it cannot come back.
        reconnect_window_s = entrant.settings.reconnect_window if entrant.waits else 0.0
        return self._server.private_lobby(
            "agent", token=entrant.token, reconnect_window_s=reconnect_window_s
        )

    def _is_there(self, entrant: Entrant, *, resume: bool) -> bool:
        """Whether its run exists. Raises UsageError for one that cannot be resumed."""
        folder = self._folder / entrant.name
        try:
            Ledger.check_vacant(folder)
            return False
        except RunExists as error:
            if not resume:
                raise RunExists(
                    f"{folder} holds a run already: continue it with {setting('resume')}, or "
                    f"choose another {setting('out')}"
                ) from error
        with Ledger(folder) as ledger:
            way_out = (
                f"change it back, give the agent another name, or choose another {setting('out')}"
            )
            try:
                check_same(ledger, Request(entrant.settings, self._plan), way_out)
            except PlanDiffers as error:
                raise PlanDiffers(f"{folder}: {error}") from error
        return True


def is_interrupted(result: Result) -> bool:
    """Whether the user ended it, and may resume it."""
    return result.ended_early is not None and result.ended_early.status == "interrupted"


def _wait(runs: Sequence[Future[Result | None]]) -> None:
    wait(runs)


def _sharing(entrant: Entrant, runs: int) -> Entrant:
    """The entrant with its share of the cores, if runs share them. Raises UsageError."""
    if runs == 1:
        return entrant
    workers, processes = entrant.settings.workers, entrant.settings.processes
    if workers == 0:
        raise UsageError(
            f"got {setting('workers', 0)} and {setting('at_once')}: environments of "
            f"one process are played one run after another; give {setting('workers', 1)}"
        )
    share = {
        "workers": or_default(workers, max(1, cores() // runs)),
        "processes": or_default(processes, 1),
    }
    return replace(entrant, settings=entrant.settings.model_copy(update=share))


def _invited(entrant: Entrant, lobby: PrivateLobby) -> str:
    where = f", its token, {entrant.token_from}, in REGLUE_TOKEN" if entrant.token else ""
    return f"{entrant.name} may come{where}:\n  {how_to_join('agent', lobby.join_string('agent'))}"
