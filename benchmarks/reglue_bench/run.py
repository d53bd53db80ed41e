"""A run: a plan, an agent and a ledger brought together until every unit is played."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from glue_server import AgentPort, LocalPool, Outcome, Pool, SlotGlue, Timeouts, WorkerPool
from reglue.errors import AgentFault, EnvironmentFault, PlanDiffers
from reglue.loading import checkpoint_sha256
from reglue_bench.agents import AgentHost, ObjectHost, ServedHost
from reglue_bench.interrupts import uninterrupted
from reglue_bench.ledger import AGENT_NAME, Ledger, Totals
from reglue_bench.plan import Plan, difference, run_secret
from reglue_bench.procedures import Procedure, Todo, procedure_of
from reglue_bench.result import AgentIdentity, Ending, Result
from reglue_bench.score import score
from reglue_bench.settings import Settings
from reglue_bench.versions import versions
from reglue_bench.watching import Begun, Watcher

WORKER_LOG = "workers.log"


@dataclass(frozen=True, slots=True)
class Request:
    """What is to be carried out: settings, their plan, and an agent object if there is one."""

    settings: Settings
    plan: Plan
    agent: object | None = None
    retry_faults: bool = False


def begin(folder: Path, request: Request) -> Ledger:
    """A new ledger in `folder`. Raises RunExists, NotAnAgent (no such checkpoint)."""
    return Ledger.create(
        folder,
        {
            # The secret itself is kept as the key that was made of it, and nowhere else.
            "settings": request.settings.model_copy(update={"secret": None}).model_dump_json(),
            "plan": request.plan.to_json(),
            "secret": run_secret(request.plan.seed, request.settings.secret).hex(),
            **_agent_facts(request.settings),
            **{f"version {name}": version for name, version in versions().items()},
        },
    )


def check_same(ledger: Ledger, request: Request) -> None:
    """Raise PlanDiffers, naming each difference, unless `request` continues the run."""
    about = ledger.about
    lines = difference(Plan.from_json(about["plan"]), request.plan)
    now = _agent_facts(request.settings) | {f"version {n}": v for n, v in versions().items()}
    compared = now.keys() | {name for name in about if name.startswith(("agent ", "version "))}
    for name in sorted(compared - {AGENT_NAME}):
        before, after = about.get(name, "none"), now.get(name, "none")
        if before != after:
            lines.append(f"{name}: {before} before, {after} now")
    if lines:
        raise PlanDiffers("this run was begun otherwise; " + "; ".join(lines))


def carry_out(folder: Path, ledger: Ledger, request: Request, watcher: Watcher) -> Result:
    """Play what is left of a run, and score it; writes result.json.

    An agent's fault, an environment's that cannot be mended, and Ctrl-C end it early:
    the result says so, and what was finished is kept.
    """
    began = time.perf_counter()
    session = ledger.begin_session()
    todo = _todo(ledger, procedure_of(request.plan), retry_faults=request.retry_faults)
    playing = _Session(folder, ledger, request, watcher, session, began)
    ending = playing.play(todo) if todo else None
    with uninterrupted(then_raise=False):
        result = score(
            request.plan,
            ledger.rows(),
            agent=_identity(ledger, request.settings),
            totals=ledger.totals(),
            versions=versions(),
        ).model_copy(update={"ended_early": ending})
        result.write(folder)
    return result


class _Session:
    """One process's part of a run."""

    def __init__(
        self,
        folder: Path,
        ledger: Ledger,
        request: Request,
        watcher: Watcher,
        session: int,
        began: float,
    ) -> None:
        self._folder = folder
        self._ledger = ledger
        self._request = request
        self._watcher = watcher
        self._session = session
        self._began = began
        self._host: AgentHost | None = None
        self._farewell = "the run is over, thank you"
        self._pool: Pool | None = None
        self._waited_s = 0.0  # for the agent to come
        self._glue: SlotGlue | None = None

    def play(self, todo: Sequence[Todo]) -> Ending | None:
        """Play units; how it ended if that was early."""
        closing = contextlib.ExitStack()
        try:
            self._play(todo, closing)
        except AgentFault as fault:
            self._farewell = f"the run ended early, {fault.status}: {fault}"
            what = self._host.explain(fault) if self._host else str(fault)
            return Ending(status=fault.status, what=what)
        except EnvironmentFault as fault:
            self._farewell = "the run ended early: its environment failed"
            return Ending(status=fault.status, what=str(fault))
        except KeyboardInterrupt:
            self._farewell = "the run was interrupted"
            return Ending(status="interrupted", what="interrupted; --resume continues it")
        finally:
            # Who presses Ctrl-C twice leaves nothing running either.
            with uninterrupted(then_raise=False):
                closing.close()
        return None

    def _make_host(self) -> AgentHost:
        if self._request.agent is not None:
            return ObjectHost(self._request.agent)
        return ServedHost(self._request.settings, self._folder, self._watcher.say)

    def _make_pool(self) -> Pool:
        plan, workers = self._request.plan, self._request.settings.workers
        if workers == 0:
            return LocalPool(plan.suite.build(), plan.slots)
        return WorkerPool(
            plan.suite,
            plan.slots,
            workers=workers or _cores(),
            log_file=self._folder / WORKER_LOG,
        )

    def _play(self, todo: Sequence[Todo], closing: contextlib.ExitStack) -> None:
        plan, settings = self._request.plan, self._request.settings
        closing.callback(lambda: self._ledger.spend(self._session, self._totals()))
        self._host = self._make_host()  # first, as its program takes a while to come
        closing.callback(lambda host: host.close(self._farewell), self._host)
        self._pool = pool = self._make_pool()
        closing.callback(pool.close)
        agent = self._wait_for(self._host)
        if (named := self._ledger.name_agent(agent.hello.agent)) != agent.hello.agent:
            raise PlanDiffers(
                f"this run is {named}'s; {agent.hello.agent} needs one of its own (--out)"
            )
        timeouts = Timeouts(first_step_s=settings.first_step_timeout, step_s=settings.step_timeout)
        self._glue = SlotGlue(agent, pool, timeouts=timeouts)
        procedure = procedure_of(plan)
        phases = {
            (unit, cell.k): cell.phase
            for unit in range(procedure.units)
            for cell in procedure.cells(unit)
        }
        left = {each.unit for each in todo}
        closing.callback(self._watcher.end)
        self._watcher.begin(
            Begun(
                plan,
                phases=Counter(phases.values()),
                done=sum(unit not in left for unit, _ in phases),
                executed=lambda: pool.executed,
            )
        )
        secret = bytes.fromhex(self._ledger.about["secret"])
        procedure.play(
            self._glue,
            todo,
            order=lambda unit, cell: plan.order(unit, cell, secret),
            record=self._record,
            watch=lambda each: self._watcher.outcome(each, phases[each.order.unit, each.order.k]),
        )
        self._glue.cleanup()

    def _wait_for(self, host: AgentHost) -> AgentPort:
        began = time.perf_counter()
        try:
            return host.port()
        finally:
            self._waited_s = time.perf_counter() - began

    def _record(self, played: Todo, outcomes: Sequence[Outcome]) -> None:
        totals = self._totals()
        self._ledger.record(played.attempt, outcomes, session=self._session, totals=totals)

    def _totals(self) -> Totals:
        spent = self._glue.spent if self._glue else None
        return Totals(
            wall_s=time.perf_counter() - self._began,
            agent_s=self._waited_s + (spent.agent_s if spent else 0.0),
            environment_s=spent.environment_s if spent else 0.0,
            executed=self._pool.executed if self._pool else 0,
        )


def _cores() -> int:
    """How many processes may run at once here."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _todo(ledger: Ledger, procedure: Procedure, *, retry_faults: bool) -> list[Todo]:
    """Units without a row; with `retry_faults` also those in which somebody failed."""
    tries: dict[int, int] = {}
    faulty: set[int] = set()
    for row in ledger.rows():
        tries[row.unit] = row.attempt
        if row.status != "ok":
            faulty.add(row.unit)
    again = faulty if retry_faults else set()
    return [
        Todo(unit, tries[unit] + 1 if unit in tries else 0)
        for unit in range(procedure.units)
        if unit not in tries or unit in again
    ]


def _agent_facts(settings: Settings) -> dict[str, str]:
    """What makes the agent this one and no other, as far as the command line tells."""
    facts = {
        "agent program": settings.agent_cmd or settings.agent,
        "agent arguments": json.dumps(settings.agent_args, sort_keys=True),
        "agent label": settings.label,
        "agent training seed": settings.training_seed,
        "agent checkpoint": checkpoint_sha256(_absolute(settings)),
    }
    return {name: str(value) for name, value in facts.items() if value is not None}


def _absolute(settings: Settings) -> dict[str, str]:
    """The arguments with `checkpoint` as a path that holds from any folder."""
    named = settings.agent_args.get("checkpoint")
    if named is None:
        return settings.agent_args
    return settings.agent_args | {"checkpoint": str(Path(settings.directory) / named)}


def _identity(ledger: Ledger, settings: Settings) -> AgentIdentity:
    about = ledger.about
    name = about.get(AGENT_NAME, "nobody")
    return AgentIdentity(
        name=name,
        label=settings.label or name,
        checkpoint_sha256=about.get("agent checkpoint"),
        training_seed=settings.training_seed,
    )
