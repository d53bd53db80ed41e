"""Plays a plan with an agent, unit by unit, and writes the ledger."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from glue_server.processes.interrupts import interruptible, uninterrupted
from reglue.errors import PlanDiffers, setting
from reglue_bench.datasets.recording import write_recorded
from reglue_bench.datasets.source import check_extra
from reglue_bench.engines.agent_identity import AGENT_FILE, agent_facts
from reglue_bench.engines.versions import versions
from reglue_bench.plans.keys import PUBLIC, Submission, cell_key, training_key
from reglue_bench.plans.plan import Plan, difference
from reglue_bench.plans.resolve import suite_of
from reglue_bench.procedures import (
    TRAINING,
)
from reglue_bench.results.read_run import score_of
from reglue_bench.results.result import Ending, Result
from reglue_bench.runs.ledger import AGENT_NAME, Ledger
from reglue_bench.runs.request import (
    Request,
    Retry,
    is_recorded,
    kept_cell_key,
)
from reglue_bench.runs.session import Session
from reglue_bench.runs.trust import SIGNATURE, signature
from reglue_bench.terminal.observer import Observer

__all__ = [
    "Request",
    "Retry",
    "begin",
    "carry_out",
    "check_same",
    "conclude",
    "kept_cell_key",
]


def begin(folder: Path, request: Request) -> Ledger:
    """A new ledger in `folder`. Raises RunExists, NotAnAgent (no such checkpoint)."""
    plan, secret = request.plan, request.settings.secret
    own = Submission.new(plan.seed, secret, request.entrant, request.nonce)
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
            **agent_facts(request.settings),
            **{f"version {name}": version for name, version in _versions(request).items()},
        },
    )


def check_same(
    ledger: Ledger,
    request: Request,
    way_out: str = f"resume it as it was begun, or begin another run, in another {setting('out')}",
) -> None:
    """Raise PlanDiffers, naming each difference, unless `request` continues the run."""
    about = ledger.about
    lines = difference(Plan.from_json(about["plan"]), request.plan)
    now = agent_facts(request.settings) | {f"version {n}": v for n, v in _versions(request).items()}
    compared = now.keys() | {name for name in about if name.startswith(("agent ", "version "))}
    new = {name for name in now.keys() - about.keys() if name.startswith(AGENT_FILE)}
    for name in sorted(compared - new - {AGENT_NAME}):
        before, after = about.get(name, "none"), now.get(name, "none")
        if before != after:
            hint = " (changed code needs a new run)" * name.startswith(AGENT_FILE)
            lines.append(f"{name}: {before} before, {after} now{hint}")
    if lines and Plan.from_json(about["plan"]).cells != request.plan.cells:
        lines.append(
            f"resume a run with the {setting('secret')} (REGLUE_SECRET) that it was begun with"
        )
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
        session = Session(folder, ledger, request, watcher, began)
        try:
            # Before peers are closed: a peer that does not leave delays no result.
            ending = session.play()
            if ending is None:
                session.check_repeatable()
            result = conclude(folder, ledger, ending)
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


def _versions(request: Request) -> dict[str, str]:
    return versions(suite_of(request.plan, request.settings))
