"""A session is one process's part of a run: it plays the missing units and writes the ledger."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from glue_server import AgentPort, EnvironmentCalls, Order, Outcome
from glue_server.peers.hosts import AgentPeer, ObjectPeer
from glue_server.processes.interrupts import interruptible
from reglue.agents.adaptation import agent_of
from reglue.errors import AgentFault, EnvironmentFault, PlanDiffers, ReglueError, setting
from reglue.spec import TaskSpec
from reglue_bench.benchmark.declared import check_declared, declared_repeatable, is_remote
from reglue_bench.engines.agent_pool import (
    AgentPool,
    LocalEngine,
    asks_again,
    check_capable,
    served_host,
)
from reglue_bench.engines.dealing import DealingEngine
from reglue_bench.engines.engine import Engine
from reglue_bench.engines.process_players import Players
from reglue_bench.engines.run_environments import environment_of
from reglue_bench.engines.run_identity import machine
from reglue_bench.engines.run_server import RunServer
from reglue_bench.engines.shard import FromShard
from reglue_bench.formatting import plural
from reglue_bench.placement.placed_worker import EnvironmentSettings
from reglue_bench.placement.placement import Placement
from reglue_bench.plans.plan import PlanCell
from reglue_bench.procedures import TRAINING, Todo, Todos, procedure_of
from reglue_bench.runs.ledger import (
    ENVIRONMENTS,
    ISOLATION,
    MACHINE,
    PLAYED_IN,
    REPEATS,
    Begun,
    Ledger,
    Totals,
)
from reglue_bench.runs.left_to_play import crashed, fails_again, left_to_play, lost_tries
from reglue_bench.runs.notes import Ending, Repeat, limits_text
from reglue_bench.runs.observed import ObservedWriter
from reglue_bench.runs.observer import Observer, RunStarted
from reglue_bench.runs.players import environment_players, players_of, shard_settings
from reglue_bench.runs.recorder import Recorder
from reglue_bench.runs.repeatability import ShortestEpisode, repeat_of_agent
from reglue_bench.runs.run import MOST_TRIES, Request, cell_key_of, is_recorded
from reglue_bench.runs.same_agent import keep_parameters, keep_turns
from reglue_bench.settings import LOCAL

OUTSIDE = (
    "an observation lay outside of its declared bounds, and was passed on as it is; the log tells "
    "which"
)
"""Event of a run."""


class Session:
    """One process's part of a run."""

    def __init__(
        self, folder: Path, ledger: Ledger, request: Request, watcher: Observer, began: float
    ) -> None:
        """`began`: when the run was begun or resumed, by `time.perf_counter`."""
        self._folder = folder
        self._ledger = ledger
        self._request = request
        self._watcher = watcher
        self._began = began
        # Before the next session begins. A process that died may not have noted what it played.
        self._has_died = ledger.has_no_early_end
        self._session = ledger.begin_session()
        self._procedure = procedure_of(request.plan)
        self._shortest = ShortestEpisode()
        self._outside = 0  # observations of which the ledger tells
        self._has_recorded = False  # a unit
        self._was_lost = False  # a process of this run, in the midst of a unit
        self._losses_reported = False  # that episodes are lost to the dataset
        self._farewell = "the run is over, thank you"
        self._is_recorded = is_recorded(folder, request)
        self._server = request.server or RunServer(
            request.settings, watcher.say, environment=is_remote(request.plan)
        )
        self._placement: Placement | None = None
        about = ledger.about
        self._starts, self._cells = bytes.fromhex(about["secret"]), cell_key_of(about)
        self._pool = self._new_pool()
        self._engine: Engine = LocalEngine(self._procedure, self._order, self._pool)

    def play(self) -> Ending | None:
        """Play what is left. Returns how it ended, if it ended early. Raises UsageError."""
        todo = left_to_play(self._ledger, self._procedure, self._request.retry_faults)
        if not todo:
            return None
        self._was_lost = self._has_died or bool(todo.tried)
        self._placement = self._placed()
        agents = len({unit % self._procedure.agents for unit in todo.units})
        players = players_of(self._request, self._folder, self._watcher.say, agents)
        if players is not None:
            self._engine = self._dealing(players)
        if players is None or not players.elsewhere:
            self._ledger.note(f"{MACHINE}all agents: {machine()}", "")
        recorder = Recorder(self._ledger, self._session)
        try:
            if interruptible(lambda: self._play(todo, recorder)):
                self._farewell = "the run was interrupted"
                return Ending(status="interrupted", what="interrupted; the run can be resumed")
        except AgentFault as fault:
            self._farewell = f"the run ended early, {fault.status}: {fault}"
            return Ending(status=fault.status, what=self._engine.explain(fault))
        except EnvironmentFault as fault:
            self._farewell = "the run ended early: its environment failed"
            more = "; the run can be resumed" * self._request.is_kept
            return Ending(status=fault.status, what=f"{fault}{more}")
        finally:
            # In reverse order, and each whatever the others raise. The recorder commits its last
            # rows before losses are reported, as a commit may bring one, and before the totals are
            # written: it writes older totals with each unit.
            with contextlib.ExitStack() as closing:
                closing.callback(lambda: self._ledger.spend(self._session, self._totals()))
                closing.callback(self._keep_outside, is_over=True)
                closing.callback(self._note_where)
                closing.callback(self._report_losses, recorder)
                closing.callback(recorder.close)
                closing.callback(self._watcher.end)
        return None

    def check_repeatable(self) -> None:
        """After the run, play a short episode again, and record what can be repeated."""
        if self._shortest.outcome is None or not self._request.settings.repeat_check:
            return
        answers = [_unknown("interrupted")]
        interruptible(lambda: answers.append(self._repeated()))
        repeats = answers[-1:]
        if repetitions := self._engine.repetitions:
            repeats.append(repeat_of_agent(repetitions))
        self._ledger.renote(REPEATS, json.dumps([each.model_dump() for each in repeats]))

    def keep_agent(self) -> None:
        """After the play: keep what identifies an agent object, so that it alone may resume."""
        if self._request.agent is not None:
            keep_parameters(self._ledger, self._request.agent)
            self._keep_turns()

    def _keep_turns(self) -> None:
        if self._request.plan.procedure != TRAINING:  # else it had learned by then
            keep_turns(self._ledger, self._pool.recorded_turns)

    def close(self) -> None:
        """Close the agent and the environments, and stop listening."""
        # In reverse order: the agent's farewell goes through the server, and the engine's
        # environments run in the placement's processes.
        with contextlib.ExitStack() as closing:
            closing.callback(self._server.close)
            if self._placement is not None:
                closing.callback(self._placement.close)
            closing.callback(self._engine.close, self._farewell)

    def _repeated(self) -> Repeat:
        settings = self._request.settings
        if not declared_repeatable(self._request.plan):
            what = "the environment is declared so"
            return Repeat(who="environment", repeatable=False, what=what, declared=True)
        if settings.engine != LOCAL:
            return _unknown("its environments were on other machines")
        try:
            if isinstance(self._engine, LocalEngine):
                return self._shortest.repeat_episode(self._pool.emptied(), self._procedure)
            # They were in other processes, one for each agent.
            local = settings.model_copy(update={"workers": 0})
            request, folder = self._request, self._folder
            environment = environment_of(request.suite, request.plan, local, folder)
            with contextlib.closing(environment):
                return self._shortest.repeat_episode(environment, self._procedure)
        except ReglueError as error:
            return _unknown(f"its environment did not play again: {error}")

    def _order(self, unit: int, cell: PlanCell) -> Order:
        return self._request.plan.order(unit, cell, self._starts, self._cells)

    def _dealing(self, players: Players[FromShard]) -> DealingEngine:
        procedure = self._procedure
        settings = shard_settings(
            self._request, self._folder, players, self._starts, self._cells, was_lost=self._was_lost
        )
        return DealingEngine(
            players,
            settings,
            procedure.agents,
            lambda unit, k: self._order(unit, procedure.cell(unit, k)),
            folder=self._folder,
            isolate=self._isolate,
            admit=self._admit,
            note_machine=self._note_machine if players.elsewhere else lambda _agent, _machine: None,
            say=self._watcher.say,
            note_event=self._note_event,
        )

    def _new_pool(self) -> AgentPool:
        pool = AgentPool(
            self._make_host,
            self._make_environment,
            environment=self._request.environment,
            admit=self._admit,
            check=self._check,
            timeouts=self._request.settings.timeouts,
            say=self._watcher.say,
        )
        pool.is_lent = self._request.peer is not None
        pool.hides_rewards = self._request.plan.hides_rewards
        pool.asks_again = asks_again(self._request.settings, self._procedure)
        return pool

    def _make_host(self) -> AgentPeer:
        host = self._new_host()
        self._isolate(host.isolation)
        return host

    def _new_host(self) -> AgentPeer:
        if self._request.agent is not None:
            return ObjectPeer(self._request.agent)
        if self._request.peer is not None:
            return self._request.peer
        return served_host(
            self._request.settings,
            self._folder,
            server=self._server.source,
            announce=self._watcher.say,
            invited=self._server.invited,
        )

    def _make_environment(self) -> EnvironmentCalls:
        plan = self._request.plan
        if is_remote(plan):
            check_declared(plan, self._server.declared(plan.slots, plan.procedure))
            return self._server.environment(plan.slots, plan.procedure)
        if self._placement is not None:
            return self._placement.environment(self._request.suite, plan.slots)
        suite, settings = self._request.suite, self._request.settings
        return environment_of(suite, plan, settings, self._folder, was_lost=self._was_lost)

    def _placed(self) -> Placement | None:
        """The placement of environments on other machines. Raises UsageError, MissingExtra."""
        settings = self._request.settings
        players = environment_players(self._request, self._folder, self._watcher.say)
        if players is None:
            return None
        return Placement(
            players,
            EnvironmentSettings.of(self._request.plan, settings),
            admit=self._server.private_place,
            note_machine=lambda machine: self._ledger.note(f"{ENVIRONMENTS}{machine}", ""),
            timeout_s=settings.environment_timeout,
            connect_timeout_s=settings.connect_timeout,
            say=self._watcher.say,
            note_event=self._note_event,
        )

    def _isolate(self, isolation: str) -> None:
        self._ledger.note(f"{ISOLATION}{isolation}", "")

    def _note_machine(self, agent: int, machine: str) -> None:
        self._ledger.note(f"{MACHINE}agent {agent}: {machine}", "")

    def _note_where(self) -> None:
        """Note where environments are: at the start, and at the end, as they may have moved."""
        if where := self._pool.where:
            self._ledger.note(f"{PLAYED_IN}{where}", "")

    def _note_event(self, event: str) -> None:
        """Announce an event of the run, and store it for the report."""
        self._watcher.say(event)
        self._ledger.count_event(event.splitlines()[0])

    def _admit(self, name: str) -> None:
        if (owner := self._ledger.name_agent(name)) != name:
            raise PlanDiffers(
                f"this run is {owner}'s; {name} needs one of its own ({setting('out')})"
            )

    def _check(self, port: AgentPort, spec: TaskSpec) -> None:
        """Raise UsageError for an agent that is known not to be able to play this.

        One that is lent was taken on before, so what it cannot do is its failure.
        """
        if self._request.peer is not None:
            return
        check_capable(port, spec, adapts=self._procedure.adapts)
        if self._request.agent is not None:
            agent_of(self._request.agent).check_task(spec)

    def _play(self, todo: Todos, recorder: Recorder) -> None:
        plan = self._request.plan
        self._engine.open()
        if not declared_repeatable(plan):
            self._watcher.say(
                "the environment says that it is not repeatable: nobody can repeat its score"
            )
        self._note_where()
        if self._is_recorded:
            recorder.observed = ObservedWriter(self._ledger, self._pool.spec, plan.sha256)
            self._pool.observed_to = recorder
        todo = self._settle_lost(todo, recorder)
        begun = RunStarted(
            plan,
            todo.units,
            executed=lambda: self._engine.executed,
            limits=lambda: limits_text(self._request.settings, self._engine.where),
        )
        self._watcher.begin(begun)
        for unit, attempt in todo.tried.items():
            if attempt >= MOST_TRIES and self._request.retry_faults == "none":
                self._record(recorder, Todo(unit, attempt), self._given_up(unit, attempt))
                todo = todo.without([unit])
        self._engine.play(
            todo,
            begin=lambda begun: recorder.begin(Begun(begun.unit, begun.attempt)),
            record=partial(self._record, recorder),
            watch=self._watch,
        )

    def _settle_lost(self, todo: Todos, recorder: Recorder) -> Todos:
        """Play again what was on when the environment was lost: see left_to_play.

        Returns what is left to play. Raises EnvironmentFault if it is lost again.
        """
        lost = lost_tries(self._ledger, self._procedure, self._order)
        if not lost or not isinstance(self._engine, LocalEngine):
            return todo
        self._watcher.say(
            f"{plural(len(lost), self._procedure.unit)} in play when the environment was "
            "lost: the recorded actions are played again first, without the agent"
        )
        environment = self._pool.emptied()
        if (what := fails_again(lost, environment)) is not None:
            for each in lost:
                todo = todo.without([each.unit])
                again = Todo(each.unit, each.attempt + 1)
                self._record(recorder, again, crashed(each.outcomes, what))
            if environment.is_lost:
                raise EnvironmentFault(what)
        self._pool.emptied()  # for worlds that have played nothing
        return todo

    def _given_up(self, unit: int, tries: int) -> list[Outcome]:
        """The outcomes of a unit that was begun too often."""
        cells = self._procedure.cells(unit) or [self._procedure.cell(unit, 0)]
        detail = f"it was begun {tries} times, and each time the run was killed or interrupted"
        return [
            Outcome(self._order(unit, cell), EnvironmentFault.status, detail=detail)
            for cell in cells
        ]

    def _watch(self, outcome: Outcome, phase: str) -> None:
        self._shortest.take(outcome)
        self._watcher.outcome(outcome, phase)

    def _record(self, recorder: Recorder, played: Todo, outcomes: Sequence[Outcome]) -> None:
        keeps_rewards = self._procedure.keeps_rewards or self._request.settings.keep_rewards
        if not isinstance(self._engine, LocalEngine):
            self._shortest.take_unit(outcomes, self._procedure)
        if self._request.agent is not None and not self._has_recorded:  # or it might be killed
            self._has_recorded = True
            self._keep_turns()
        recorder.record(played.attempt, outcomes, self._totals(), keeps_rewards=keeps_rewards)
        self._keep_outside()
        self._report_losses(recorder)

    def _keep_outside(self, *, is_over: bool = False) -> None:
        """Count observations outside of their bounds: at each tenfold, and at the end.

        A killed session has counted at least a tenth of them, up to its last recorded unit.
        """
        outside = self._engine.outside
        if outside > self._outside and (is_over or outside >= 10 * self._outside):
            self._ledger.count_event(OUTSIDE, outside - self._outside)
            self._outside = outside

    def _report_losses(self, recorder: Recorder) -> None:
        """Say once that episodes are lost to the dataset."""
        why = recorder.observed and recorder.observed.failure
        if why and not self._losses_reported:
            self._losses_reported = True
            self._watcher.say(
                f"episodes are lost to the dataset, and the run continues without them: {why}"
            )

    def _totals(self) -> Totals:
        return Totals(
            wall_s=time.perf_counter() - self._began,
            agent_s=self._engine.spent.agent_s,
            environment_s=self._engine.spent.environment_s,
            executed=self._engine.executed,
        )


def _unknown(why: str) -> Repeat:
    """The result for an environment that could not be tried."""
    return Repeat(who="environment", repeatable=None, what=why)
