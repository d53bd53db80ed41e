"""`evaluate`: a benchmark, an agent, a result."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Unpack

from env_adapters.suites import is_schedule
from glue_server import CRASHED, LOST
from glue_server.processes.crash_reports import crashes_reported
from glue_server.processes.interrupts import interruptible, raising_interrupts, uninterrupted
from reglue.agents.agent import Agent
from reglue.environments.environment import Environment
from reglue.error_message import brief
from reglue.errors import (
    AgentDisconnected,
    AgentFault,
    AgentTimeout,
    BadArgument,
    EnvironmentFault,
    UsageError,
    setting,
)
from reglue.tools.loading import check_guarded
from reglue_bench.benchmark.benchmark import Benchmark, make_plan
from reglue_bench.benchmark.benchmark_source import is_file, named_source
from reglue_bench.benchmark.declared import Declared
from reglue_bench.engines.run_server import RunServer
from reglue_bench.global_randomness import unchanged_randomness
from reglue_bench.loggers import Log, Loggers
from reglue_bench.options import AgentOptions
from reglue_bench.plan_settings import PlanSettings
from reglue_bench.plans.plan import Plan
from reglue_bench.results.result import Result
from reglue_bench.results.scoring import brief_cause, in_temporary_folder, score_of
from reglue_bench.run_folder import LEDGER, remove_logs
from reglue_bench.runs.ledger import Ledger, check_empty
from reglue_bench.runs.notes import Ending
from reglue_bench.runs.objects import opened
from reglue_bench.runs.observer import Observer
from reglue_bench.runs.run import Request, Retry, begin, check_same, is_recorded
from reglue_bench.runs.run_session import Session
from reglue_bench.runs.trust import check_resumable
from reglue_bench.settings import Settings, read_settings
from reglue_bench.terminal.status_line import observer

_PLAN_SETTINGS = {*PlanSettings.model_fields, "secret", "directory"}
"""Settings that a plan depends on."""


def evaluate(  # noqa: PLR0913 - what people say of an evaluation
    benchmark: object,
    agent: object,
    *,
    out: str | Path | None = None,
    resume: bool = False,
    raise_faults: bool = True,
    progress: bool = True,
    log: Log = None,
    step: int | None = None,
    watcher: Observer | None = None,
    **options: Unpack[AgentOptions],
) -> Result:
    """Play a benchmark with an agent, and score it.

    The random generators that this process shares (Python's, NumPy's, PyTorch's) are afterwards as
    they were before, whatever was drawn.

    Examples:
        >>> import numpy as np
        >>> import reglue
        >>> def lean(observations):  # (rows, 4)
        ...     return (observations[:, 2] + 0.5 * observations[:, 3] > 0).astype(int)
        >>> result = reglue.evaluate("evaluate:gymnasium:CartPole-v1", lean, num_episodes=3)
        >>> result.mean_return
        500.0

    Args:
        benchmark: A name as on the command line: `"evaluate:gymnasium:CartPole-v1"`, `"MT10"`,
            `"online:mountain-car"`; or a `gymnasium.Env` or `VectorEnv`, a suite of worlds, a
            `reglue.Environment`, one in JAX, or a class or function that makes one. It is evaluated
            in this process; an object of `gymnasium.Env` plays in one slot and stays open. The
            environment of `"online:wait"` connects by itself, as does the agent `"wait"`:
            `watcher.say` says how.
        agent: An object in this process: a `reglue.Agent`, a function of a batch of observations
            (see `reglue.Policy`), a model of Stable-Baselines3, a `torch.nn.Module` (see
            `reglue.TorchPolicy`), or one with Meta-World's methods.
            It has no time limit. Or a name as on the command line (`"expert"`, `"file.py:Class"`),
            which is started in a separate process.
        out: The run's folder; without it, the ledger is deleted with the result.
        resume: Continue the run in `out` with the agent that began it: another is refused, also
            where nothing is left to play. An object is known by its parameters, or by its answers
            to the run's first turns; one that draws random numbers of its own, or that learns, by
            the `label` that it began with.
        raise_faults: Raise if the agent or the environment failed in an episode, after
            everything is played and scored. False returns the result, whose text names the faults.
        progress: Show how far it is in one line, in a terminal or a notebook; nothing elsewhere.
        log: Where the score goes, too: `"tensorboard"`, `"wandb"`, `"mlflow"`, a function of the
            result and the step, or several of these. `"tensorboard:FOLDER"`, `"wandb:PROJECT"` and
            `"mlflow:EXPERIMENT"` say where. One that fails is logged, and stops nothing.
        step: Of the training at which the agent is evaluated, for `log`.
        watcher: Receives the progress of the run instead.
        options: The flags of `reglue bench` with underscores, see Settings. `workers` processes
            play a named environment, or a class or function that they can import; by default it
            plays in this process, until measured steps say that workers pay. There nothing but
            Ctrl-C ends an environment that hangs, and one that crashes ends the process:
            `workers=1` makes both a fault of an episode.

    Returns: The score.

    Raises UsageError (unknown benchmark or option, RunExists, PlanDiffers, RunBusy), NotAnAgent,
    NotAnEnvironment; AgentFault and EnvironmentFault, see `raise_faults`, and the latter if the
    environment of a new run does not connect; KeyboardInterrupt after Ctrl-C, in any case, once
    all is closed. Its note says how to continue a run in `out`.
    """
    check_guarded("an evaluation")
    _check_order(benchmark, agent)
    named = {"agent": agent} if isinstance(agent, str) else {}
    there = None if named else agent
    _check_agent(there, is_named=bool(named), options=options)
    loggers = Loggers(log)
    if resume and out is None:
        raise UsageError(got="resume=True without out=", wanted="the folder of the run to continue")
    watcher = observer(watcher, progress=progress)
    out = None if out is None else Path(out).absolute()  # an environment may move elsewhere
    is_kept = out is not None
    with (
        interrupts_raised(out),
        unchanged_randomness(),
        crashes_reported(),
        ExitStack() as closing,
    ):
        if isinstance(benchmark, str):
            settings = read_settings(benchmark=benchmark, **named, **options)
            result = _play(
                out,
                partial(
                    plan_and_start, settings=settings, watcher=watcher, agent=there, is_kept=is_kept
                ),
                lambda ledger: Request(
                    settings, _plan_again(ledger, settings, watcher), agent=there
                ),
                watcher,
                resume=resume,
            )
        else:
            made = closing.enter_context(opened(benchmark, {**named, **options}))
            request = Request(
                made.settings, made.plan, agent=there, environment=made.calls, is_kept=is_kept
            )
            begin_in = partial(start, request=request, watcher=watcher)
            result = _play(out, begin_in, lambda _ledger: request, watcher, resume=resume)
    loggers(result, step)
    if raise_faults:
        check_faults(result)
    return result


def _check_agent(there: object, *, is_named: bool, options: AgentOptions) -> None:
    """Raise UsageError unless there is one agent: an object `there`, a name, or a command."""
    if there is None and not (is_named or options.get("agent_cmd")):
        raise UsageError(got="agent None", wanted="an agent object, its name, or agent_cmd=")
    if there is not None and (options.get("agent_cmd") or options.get("agent_args")):
        raise UsageError(
            got="an agent object with agent_cmd or agent_args",
            wanted="the object alone: they are for agents that Reglue starts",
        )


def _check_order(benchmark: object, agent: object) -> None:
    """Raise BadArgument for an agent that stands first, as in Stable-Baselines3."""
    is_object = isinstance(agent, type) or not (callable(agent) or isinstance(agent, Agent))
    members = ["reset", "step"]
    if not isinstance(agent, type):  # agents of Meta-World's evaluation have these two as well
        members.append("observation_space")
    stands_second = is_object and all(hasattr(agent, name) for name in members)
    stands_second |= isinstance(agent, Environment)
    if isinstance(agent, str):
        with suppress(UsageError):
            stands_second = is_file(agent) or bool(named_source(agent))
    if stands_second:
        raise BadArgument(
            got=f"{brief(agent)} as the agent, {brief(benchmark)} as the benchmark",
            wanted="evaluate(benchmark, agent); Stable-Baselines3's evaluate_policy has them "
            "the other way round",
        )


@contextmanager
def interrupts_raised(out: Path | None) -> Iterator[None]:
    """Raise Ctrl-C after these lines, which end by themselves then and keep a run in `out`.

    So a loop over evaluations ends, and no score of a part is taken for one.
    """
    try:
        with raising_interrupts():
            yield
    except KeyboardInterrupt as interrupt:
        if out is not None and (out / LEDGER).is_file():
            interrupt.add_note(
                f"the run in {out} keeps what was finished: evaluate with out={str(out)!r} and "
                "resume=True to continue it"
            )
        raise


_RAISED: dict[str, type[AgentFault | EnvironmentFault]] = {
    **{each.status: each for each in (AgentFault, AgentTimeout, AgentDisconnected)},
    **dict.fromkeys((EnvironmentFault.status, CRASHED, LOST), EnvironmentFault),
}
"""Errors by status. An episode that the agent gave up is a failure that counts, and nothing to
mend. One that crashed may be so, or a bug of the environment."""


def check_faults(result: Result, *, advice: str = "raise_faults=False returns the result") -> None:
    """Raise AgentFault or EnvironmentFault if one of them failed, with the first cause.

    `advice` tells the caller how to come by the result.
    """
    ending = result.ended_early
    if any(fault.status in _RAISED for fault in result.faults):
        first = next(row for row in result.episodes if row.status in _RAISED)
        status, cause = first.status, first.detail
        count = sum(fault.count for fault in result.faults if fault.status == status)
        summary = f"{count} × {status}"
    elif ending is not None and ending.status in _RAISED:  # it failed between episodes
        summary, status, cause = ending.status, ending.status, ending.what
    else:
        return
    error = _RAISED[status](f"{result.benchmark}: {summary}: {brief_cause(cause)}; {advice}")
    if len(cause.splitlines()) > 1:
        error.add_note(cause)
    raise error


def _play(
    out: Path | None,
    begin_in: Callable[[Path], Result],
    again: Callable[[Ledger], Request],
    watcher: Observer,
    *,
    resume: bool,
) -> Result:
    """Play a run in `out`, or in a temporary folder; `again` makes the request to resume one."""
    if out is None:
        return in_temporary_folder(begin_in)
    if not resume:
        return begin_in(out)
    with Ledger(out) as ledger:
        request = again(ledger)
        check_same(ledger, request)
        return carry_out(out, ledger, request, watcher)


def plan_and_start(
    folder: Path,
    settings: Settings,
    watcher: Observer,
    *,
    agent: object | None = None,
    is_kept: bool = True,
) -> Result:
    """Make the plan of a new run, then as `start`.

    Wait first for an environment that connects by itself: the plan depends on what it declares.
    Raises EnvironmentFault if it does not connect; then the folder is left empty.
    """
    benchmark = Benchmark.of(settings)
    procedure, waits = benchmark.source.procedure, benchmark.source.waits
    if waits:
        Ledger.check_vacant(folder)
    with crashes_reported(), RunServer(settings, watcher.say, environment=waits) as server:
        resolved = benchmark.resolve(
            settings.secret,
            declare=lambda slots: server.declared(slots, procedure),
            drawing=watcher.drawing,
        )
        request = Request(
            settings,
            resolved.plan,
            agent=agent,
            server=server,
            is_kept=is_kept,
            known_suite=resolved.suite,
        )
        return start(folder, request, watcher)


def start(folder: Path, request: Request, watcher: Observer) -> Result:
    """Begin a run in `folder`, a new or empty one, and play it. Raises RunExists.

    Also raises UsageError where the settings turn out to be impossible (no such agent, a taken
    port); nothing is left in the folder then, unless a unit was played before.
    """
    check_empty(folder)
    with begin(folder, request) as ledger:
        try:
            return carry_out(folder, ledger, request, watcher)
        except UsageError:
            if next(ledger.rows(), None) is None:
                remove_logs(folder)
                ledger.forget()
            raise


def resume(
    folder: Path,
    watcher: Observer,
    *,
    retry_faults: Retry = "none",
    trust_code: bool = False,
    **overrides: object,
) -> Result:
    """Continue the run in `folder` with the settings it was begun with.

    `overrides` may change how it is carried out (workers, time limits, the address), and
    repeat the token and TLS settings, as they are not stored;
    whatever would change the plan is refused by PlanDiffers, and so is a benchmark's or
    schedule's file that has been edited since. A run that was begun elsewhere, and names code
    that is not Reglue's, is refused by NotTrusted, unless there is `trust_code`.
    """
    with crashes_reported(), Ledger(folder) as ledger:
        before = Settings.model_validate_json(ledger.about["settings"])
        new_agent = bool(overrides.get("agent") or overrides.get("agent_cmd"))
        check_resumable(folder, ledger.about, new_agent=new_agent, trust_code=trust_code)
        if new_agent:
            overrides = {"agent": None, "agent_cmd": None} | overrides
        settings = read_settings(**(before.model_dump() | overrides))
        if not (settings.agent or settings.agent_cmd):
            raise UsageError(
                f"{folder} was begun with an agent object: continue it from Python with "
                f"evaluate(…, resume=True), or name an agent by {setting('agent')}"
            )
        same = all(getattr(before, name) == getattr(settings, name) for name in _PLAN_SETTINGS)
        # Without new settings the stored plan saves drawing the goals again; but
        # a file may have been edited.
        is_file = is_schedule(settings.benchmark)
        plan = (
            Plan.from_json(ledger.about["plan"])
            if same and not is_file
            else _plan_again(ledger, settings, watcher)
        )
        request = Request(settings, plan, retry_faults=retry_faults)
        check_same(ledger, request)
        return carry_out(folder, ledger, request, watcher)


def carry_out(folder: Path, ledger: Ledger, request: Request, watcher: Observer) -> Result:
    """Play what is left of a run, and score it; writes result.json.

    An agent's fault, an environment that fails for good, and Ctrl-C end it early:
    the result says so, and what was finished is kept. A Ctrl-C after the play is raised when
    all is done.
    """
    began = time.perf_counter()
    # The ledger's plan has the run's own order of trials.
    request = replace(request, plan=Plan.from_json(ledger.about["plan"]))
    recorded = is_recorded(folder, request)
    if recorded:
        from reglue_bench.datasets.source import check_extra

        check_extra()
    with uninterrupted():
        session = Session(folder, ledger, request, watcher, began)
        try:
            # Before peers are closed: a peer that does not leave delays no result.
            ending = session.play()
            session.keep_agent()
            if ending is None:
                session.check_repeatable()
            result = conclude(folder, ledger, ending)
        finally:
            session.close()
        if recorded:
            _write_dataset(folder, result, watcher.say)
    return result


def _write_dataset(folder: Path, result: Result, say: Callable[[str], None]) -> None:
    """Write the dataset of a recorded run. After Ctrl-C `reglue dataset export` does it."""
    from reglue_bench.datasets.recorded_dataset import write_recorded

    ended = result.ended_early
    is_interrupted = ended is not None and ended.status == "interrupted"
    if is_interrupted or interruptible(lambda: write_recorded(folder, say)):
        say(
            f"no dataset was written; `reglue dataset export {folder} PATH` writes what was "
            "recorded"
        )


def conclude(folder: Path, ledger: Ledger, ending: Ending | None) -> Result:
    """Score what was played of a run; writes result.json."""
    with uninterrupted(then_raise=False):
        ledger.end_session(None if ending is None else ending.model_dump_json())
        result = score_of(ledger)
        result.write(folder)
    return result


def _plan_again(ledger: Ledger, settings: Settings, watcher: Observer) -> Plan:
    """The plan of settings, for a run that was begun before.

    An environment that connects is assumed to be as it was; when it comes, that is checked.
    """
    before = Plan.from_json(ledger.about["plan"])
    return make_plan(settings, watcher.drawing, lambda _slots: Declared.in_plan(before))
