"""Plays a plan with an agent, unit by unit, and writes the ledger."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from glue_server import EnvironmentCalls, Outcome
from glue_server.peers.hosts import AgentPeer, ObjectPeer
from glue_server.processes.interrupts import interruptible, uninterrupted
from reglue.errors import AgentFault, EnvironmentFault, PlanDiffers
from reglue.tools.loading import checkpoint_sha256
from reglue_bench.datasets.recording import write_recorded
from reglue_bench.datasets.source import check_extra
from reglue_bench.plans.declared import check_declared, is_remote
from reglue_bench.plans.keys import PUBLIC, Submission, cell_key, training_key
from reglue_bench.plans.plan import Plan, difference
from reglue_bench.plans.resolve import suite_of
from reglue_bench.procedures import (
    PROCEDURES,
    TRAINING,
    Procedure,
    Todo,
    Todos,
    procedure_of,
)
from reglue_bench.procedures.procedure import chosen
from reglue_bench.results.read_run import score_of
from reglue_bench.results.result import Ending, Result
from reglue_bench.runs.agent_pool import AgentPool, agent_code, served_host
from reglue_bench.runs.environments import make_environment
from reglue_bench.runs.ledger import AGENT_NAME, ISOLATION, Ledger, Totals
from reglue_bench.runs.observed import FILE as OBSERVED
from reglue_bench.runs.observed import ObservedWriter
from reglue_bench.runs.recorder import Recorder
from reglue_bench.runs.server import RunServer
from reglue_bench.runs.trust import SIGNATURE, signature
from reglue_bench.runs.versions import versions
from reglue_bench.settings import Settings
from reglue_bench.terminal.observer import Observer, RunStarted

WORKER_LOG = "workers.log"

_AGENT_FILE = "agent file "  # begins entries of `about`: the files that the agent is written in


@dataclass(frozen=True, slots=True)
class Request:
    """What to play: settings, their plan, and the agent object if there is one.

    `entrant` is the name of its agent in a bake-off, in which each has its own random seeds.
    `server` is where peers have connected already; it is closed when the run is over.
    `environment` plays the plan's slots; it is lent, so the run does not close it. Once `stop`
    is set, a run in a thread is interrupted, as by Ctrl-C.
    """

    settings: Settings
    plan: Plan
    agent: object | None = None
    entrant: str = ""
    retry_faults: bool = False
    server: RunServer | None = None
    environment: EnvironmentCalls | None = None
    stop: threading.Event | None = None


def begin(folder: Path, request: Request) -> Ledger:
    """A new ledger in `folder`. Raises RunExists, NotAnAgent (no such checkpoint)."""
    plan, secret = request.plan, request.settings.secret
    own = Submission.new(plan.seed, secret, request.entrant)
    cells = None if plan.cells == PUBLIC else cell_key(secret)
    # Only the keys that were derived from the secret are kept, not the secret.
    settings_text = request.settings.without_secrets().model_dump_json()
    keyed = replace(plan, order_key=own.order.hex())
    if plan.procedure == TRAINING:
        own_training = training_key(plan.seed, secret, request.settings.training_seed)
        keyed = replace(keyed, training_key=own_training.hex())
    plan_text = keyed.to_json()
    return Ledger.create(
        folder,
        {
            "settings": settings_text,
            "plan": plan_text,
            SIGNATURE: signature(plan_text, settings_text),
            "secret": own.starts.hex(),
            "cell key": "" if cells is None else cells.hex(),
            "submission": own.nonce,
            **_agent_facts(request.settings),
            **{f"version {name}": version for name, version in _versions(request).items()},
        },
    )


def kept_cell_key(about: Mapping[str, str]) -> bytes | None:
    """The key of a run's cells, from its ledger's `about`."""
    return bytes.fromhex(about.get("cell key", "")) or None


def check_same(
    ledger: Ledger,
    request: Request,
    way_out: str = "resume it as it was begun, or begin another run with --out FOLDER",
) -> None:
    """Raise PlanDiffers, naming each difference, unless `request` continues the run."""
    about = ledger.about
    lines = difference(Plan.from_json(about["plan"]), request.plan)
    now = _agent_facts(request.settings) | {
        f"version {n}": v for n, v in _versions(request).items()
    }
    compared = now.keys() | {name for name in about if name.startswith(("agent ", "version "))}
    new = {name for name in now.keys() - about.keys() if name.startswith(_AGENT_FILE)}
    for name in sorted(compared - new - {AGENT_NAME}):
        before, after = about.get(name, "none"), now.get(name, "none")
        if before != after:
            hint = " (changed code needs a new run)" * name.startswith(_AGENT_FILE)
            lines.append(f"{name}: {before} before, {after} now{hint}")
    if lines and Plan.from_json(about["plan"]).cells != request.plan.cells:
        lines.append("resume a run with the --secret (REGLUE_SECRET) that it was begun with")
    if lines:
        raise PlanDiffers(
            "this run was begun with other settings, agent or versions; "
            + "; ".join([*lines, way_out])
        )


def carry_out(folder: Path, ledger: Ledger, request: Request, watcher: Observer) -> Result:
    """Play what is left of a run, and score it; writes result.json.

    An agent's fault, an environment that fails for good, and Ctrl-C end it early:
    the result says so, and what was finished is kept. A Ctrl-C after the play is raised when
    all is done.
    """
    began = time.perf_counter()
    # The ledger's plan has the run's own order of trials.
    request = replace(request, plan=Plan.from_json(ledger.about["plan"]))
    recorded = is_recorded(folder, request.settings)
    if recorded:
        check_extra()
    with uninterrupted():
        session = _Session(folder, ledger, request, watcher, began)
        try:
            # Before peers are closed: a peer that does not leave delays no result.
            result = conclude(folder, ledger, session.play())
        finally:
            session.close()
        if recorded:
            _write_dataset(folder, result, watcher.say)
    return result


def _write_dataset(folder: Path, result: Result, say: Callable[[str], None]) -> None:
    """Of a run that was recorded; Ctrl-C leaves it to `reglue dataset export`."""
    ended = result.ended_early
    is_interrupted = ended is not None and ended.status == "interrupted"
    if is_interrupted or interruptible(lambda: write_recorded(folder, say)):
        say(
            f"no dataset was written; `reglue dataset export {folder} PATH` writes one of what was "
            "recorded"
        )


def conclude(folder: Path, ledger: Ledger, ending: Ending | None) -> Result:
    """Score what was played of a run; writes result.json."""
    with uninterrupted(then_raise=False):
        ledger.end_session(None if ending is None else ending.model_dump_json())
        result = score_of(ledger)
        result.write(folder)
    return result


def is_recorded(folder: Path, settings: Settings) -> bool:
    """Whether what agents see is recorded: asked for now, or when the run was begun."""
    return bool(settings.record) or (folder / OBSERVED).is_file()


def _versions(request: Request) -> dict[str, str]:
    return versions(suite_of(request.plan, request.settings))


class _Session:
    """One process's part of a run."""

    def __init__(
        self, folder: Path, ledger: Ledger, request: Request, watcher: Observer, began: float
    ) -> None:
        self._folder = folder
        self._ledger = ledger
        self._request = request
        self._watcher = watcher
        self._began = began
        self._session = ledger.begin_session()
        for name, digest in _files(request.settings).items():  # also of files that are new since
            ledger.note(name, digest)
        self._procedure = procedure_of(request.plan)
        self._told = False  # that episodes are lost to the dataset
        self._farewell = "the run is over, thank you"
        self._server = request.server or RunServer(
            request.settings, watcher.say, environment=is_remote(request.plan)
        )
        self._stage = AgentPool(
            self._make_host,
            self._make_environment,
            lent=request.environment,
            stop=request.stop,
            admit=self._admit,
            timeouts=request.settings.timeouts,
            say=watcher.say,
        )

    def play(self) -> Ending | None:
        """Play what is left. Returns how it ended, if it ended early."""
        todo = _todo(self._ledger, self._procedure, retry_faults=self._request.retry_faults)
        if not todo:
            return None
        recorder = Recorder(self._ledger, self._session)
        try:
            if interruptible(lambda: self._play(todo, recorder)):
                self._farewell = "the run was interrupted"
                return Ending(status="interrupted", what="interrupted; --resume continues it")
        except AgentFault as fault:
            self._farewell = f"the run ended early, {fault.status}: {fault}"
            return Ending(status=fault.status, what=self._stage.explain(fault))
        except EnvironmentFault as fault:
            self._farewell = "the run ended early: its environment failed"
            return Ending(status=fault.status, what=str(fault))
        finally:
            with contextlib.ExitStack() as closing:
                closing.callback(lambda: self._ledger.spend(self._session, self._totals()))
                closing.callback(recorder.close)
                closing.callback(self._watcher.end)
        return None

    def close(self) -> None:
        """Close the agent and the environments, and stop listening."""
        with contextlib.ExitStack() as closing:
            closing.callback(self._server.close)
            closing.callback(self._stage.close, self._farewell)

    def _make_host(self) -> AgentPeer:
        host = self._new_host()
        self._ledger.note(f"{ISOLATION}{host.isolation}", "")
        return host

    def _new_host(self) -> AgentPeer:
        if self._request.agent is not None:
            return ObjectPeer(self._request.agent)
        return served_host(
            self._request.settings,
            self._folder,
            server=self._server.source,
            announce=self._watcher.say,
            invited=self._server.invited,
            stop=self._request.stop,
        )

    def _make_environment(self) -> EnvironmentCalls:
        plan, settings = self._request.plan, self._request.settings
        if is_remote(plan):
            check_declared(plan, self._server.declared(plan.slots, plan.procedure))
            return self._server.environment(plan.slots, plan.procedure)
        return environment_of(plan, settings, self._folder / WORKER_LOG, self._request.stop)

    def _admit(self, name: str) -> None:
        if (named := self._ledger.name_agent(name)) != name:
            raise PlanDiffers(f"this run is {named}'s; {name} needs one of its own (--out)")

    def _play(self, todo: Todos, recorder: Recorder) -> None:
        plan = self._request.plan
        self._stage.open()
        if is_recorded(self._folder, self._request.settings):
            recorder.observed = ObservedWriter(self._ledger, self._stage.spec, plan.sha256)
            self._stage.observed_to = recorder
        self._watcher.begin(
            RunStarted(
                plan,
                left=todo.units,
                executed=lambda: self._stage.executed,
            )
        )
        about = self._ledger.about
        starts, cells = bytes.fromhex(about["secret"]), kept_cell_key(about)
        self._procedure.play(
            self._stage,
            todo,
            order=lambda unit, cell: plan.order(unit, cell, starts, cells),
            record=partial(self._record, recorder),
            watch=self._watcher.outcome,
        )

    def _record(self, recorder: Recorder, played: Todo, outcomes: Sequence[Outcome]) -> None:
        keeps_rewards = self._procedure.keeps_rewards
        recorder.record(played.attempt, outcomes, self._totals(), keeps_rewards=keeps_rewards)
        if recorder.observed is not None and (why := recorder.observed.failure) and not self._told:
            self._told = True
            self._watcher.say(
                f"episodes are lost to the dataset, and the run goes on without them: {why}"
            )

    def _totals(self) -> Totals:
        return Totals(
            wall_s=time.perf_counter() - self._began,
            agent_s=self._stage.spent.agent_s,
            environment_s=self._stage.spent.environment_s,
            executed=self._stage.executed,
        )


def environment_of(
    plan: Plan, settings: Settings, log_file: Path, stop: threading.Event | None = None
) -> EnvironmentCalls:
    """New environments of a plan, made here. Raises UsageError."""
    suite = suite_of(plan, settings)
    return make_environment(
        suite,
        plan.slots,
        workers=chosen(settings.workers, PROCEDURES[plan.procedure].workers),
        log_file=log_file,
        timeout_s=settings.environment_timeout,
        stop=stop,
    )


def _todo(ledger: Ledger, procedure: Procedure, *, retry_faults: bool) -> Todos:
    """Units without a row; with `retry_faults` also those with a fault."""
    tries = array("i", [-1]) * procedure.units
    again = bytearray(procedure.units)  # a flag each
    for row in ledger.rows():
        tries[row.unit] = row.attempt
        again[row.unit] |= retry_faults and row.status != "ok"
    units = array("I", (unit for unit, last in enumerate(tries) if last < 0 or again[unit]))
    return Todos(units, array("I", (tries[unit] + 1 for unit in units)))


def _agent_facts(settings: Settings) -> dict[str, str]:
    """What identifies the agent, from the settings."""
    facts = {
        "agent program": settings.agent_cmd or settings.agent,
        "agent arguments": json.dumps(settings.agent_args, sort_keys=True),
        "agent label": settings.label,
        "agent training seed": settings.training_seed,
        "agent checkpoint": checkpoint_sha256(_absolute(settings)),
    }
    return {n: str(value) for n, value in facts.items() if value is not None} | _files(settings)


def _files(settings: Settings) -> dict[str, str]:
    return {_AGENT_FILE + name: digest for name, digest in agent_code(settings).items()}


def _absolute(settings: Settings) -> dict[str, str]:
    """The arguments, with `checkpoint` as an absolute path."""
    named = settings.agent_args.get("checkpoint")
    if named is None:
        return settings.agent_args
    return settings.agent_args | {"checkpoint": str(Path(settings.directory) / named)}
