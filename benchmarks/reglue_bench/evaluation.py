"""`evaluate`: a benchmark, an agent, a result."""

from __future__ import annotations

import tempfile
from pathlib import Path

from reglue.errors import UsageError
from reglue_bench.benchmarks import make_plan
from reglue_bench.ledger import Ledger
from reglue_bench.plan import Plan
from reglue_bench.result import Result
from reglue_bench.run import Request, begin, carry_out, check_same
from reglue_bench.settings import Settings, read_settings
from reglue_bench.watching import Unwatched, Watcher

_PLAN_FIELDS = frozenset(Settings.model_fields) - {
    "agent",
    "agent_cmd",
    "agent_args",
    "label",
    "training_seed",
    "workers",
    "listen",
    "connect_timeout",
    "first_step_timeout",
    "step_timeout",
}


def evaluate(
    benchmark: str,
    *,
    agent: object,
    out: str | Path | None = None,
    resume: bool = False,
    watcher: Watcher | None = None,
    **options: object,
) -> Result:
    """Evaluate an agent: `evaluate("MT10", agent=MyAgent(), seed=42)`, or while it learns:
    `evaluate("online:mountain-car", agent="sarsa.py:Sarsa", runs=30, episodes=200)`.

    `agent` is an object in this process (a `reglue.Agent`, or one with Meta-World's
    methods), or a name as on the command line (`"expert"`, `"file.py:Class"`,
    `"wait"`), which is started as a process of its own. `out` is the run's folder;
    without one nothing is kept but the result. `resume` continues the run in `out`.
    An object in this process is not timed out. `options` are the flags of `reglue
    bench` with underscores: `seed`, `slots`, `workers`, `num_episodes`,
    `meta_batch_size`, …, and `environment_args` as a dict (see Settings).

    A fault of the agent does not raise: the result is partial and says so. Raises
    UsageError (unknown benchmark or option, RunExists, PlanDiffers, RunBusy).
    """
    named = {"agent": agent} if isinstance(agent, str) else {}
    if not named and (options.get("agent_cmd") or options.get("agent_args")):
        raise UsageError("agent_cmd and agent_args are for agents that are started; got an object")
    if resume and out is None:
        raise UsageError("resume=True continues the run in a folder: give out=")
    settings = read_settings(benchmark=benchmark, **named, **options)
    watcher = watcher or Unwatched()
    request = Request(
        settings,
        make_plan(settings, watcher.drawing),
        agent=None if isinstance(agent, str) else agent,
    )
    if out is None:
        with tempfile.TemporaryDirectory(prefix="reglue-") as temporary:
            return start(Path(temporary), request, watcher)
    folder = Path(out)
    if not resume:
        return start(folder, request, watcher)
    with Ledger(folder) as ledger:
        check_same(ledger, request)
        return carry_out(folder, ledger, request, watcher)


def start(folder: Path, request: Request, watcher: Watcher) -> Result:
    """Begin a run in `folder` and play it. Raises RunExists.

    Also raises UsageError where it turns out that it cannot be played as asked (no such
    agent, a taken port); the folder then holds no run, unless a unit was played before.
    """
    with begin(folder, request) as ledger:
        try:
            return carry_out(folder, ledger, request, watcher)
        except UsageError:
            if not ledger.rows():
                ledger.forget()
            raise


def resume(
    folder: Path, watcher: Watcher, *, retry_faults: bool = False, **overrides: object
) -> Result:
    """Continue the run in `folder` with the settings it was begun with.

    `overrides` may change how it is carried out (workers, time limits, the address);
    whatever would change the plan is refused by PlanDiffers.
    """
    with Ledger(folder) as ledger:
        before = Settings.model_validate_json(ledger.about["settings"])
        if overrides.get("agent") or overrides.get("agent_cmd"):
            overrides = {"agent": None, "agent_cmd": None} | overrides
        settings = read_settings(**(before.model_dump() | overrides))
        if not (settings.agent or settings.agent_cmd):
            raise UsageError(
                f"{folder} was begun with an agent object: continue it from Python with "
                "evaluate(…, resume=True), or name an agent with --agent"
            )
        same = all(getattr(before, name) == getattr(settings, name) for name in _PLAN_FIELDS)
        # Unless something is asked for anew, the stored plan spares drawing the goals again.
        plan = (
            Plan.from_json(ledger.about["plan"]) if same else make_plan(settings, watcher.drawing)
        )
        request = Request(settings, plan, retry_faults=retry_faults)
        check_same(ledger, request)
        return carry_out(folder, ledger, request, watcher)
