"""The request for a run, its beginning, and whether another request may continue it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from env_adapters import SuiteName
from glue_server import EnvironmentCalls
from glue_server.peers.hosts import AgentPeer
from reglue.errors import PlanDiffers, RunExists, setting
from reglue_bench.benchmark.benchmark import suite_of
from reglue_bench.engines.agent_parameters import parameters_of
from reglue_bench.engines.run_identity import AGENT_FILE, identity
from reglue_bench.engines.run_server import RunServer
from reglue_bench.plans.keys import PUBLIC, Submission, cell_key, training_key
from reglue_bench.plans.plan import Plan, difference
from reglue_bench.procedures import TRAINING
from reglue_bench.run_folder import OBSERVED
from reglue_bench.runs.ledger import AGENT_NAME, PARAMETERS, Ledger
from reglue_bench.runs.same_agent import check_same_object
from reglue_bench.runs.trust import SIGNATURE, signature
from reglue_bench.settings import Settings

Retry = Literal["none", "environment", "all"]
"""The faults that are played again when a run is resumed, by whose they are."""

MOST_TRIES = 10
"""The most starts of a unit, as runs that are killed or interrupted in mid-unit are resumed, unless
the user has faults played again. An agent meets its episodes anew each time.
"""


@dataclass(frozen=True, slots=True)
class Request:
    """A run to play: settings, their plan, and the agent object if there is one.

    Of what was played before, the units with a fault of `retry_faults` are played again: of the
    environment alone, where an agent's are final, or of anybody.

    `entrant` is the name of its agent in a bake-off, in which each has its own random seeds.
    A `nonce` sets a submission apart in place of a random one, so that who knows the secret can
    play it again. `peer` is an agent that plays several runs in one session: it is lent, so the
    run does not close it. `server` is where peers have connected already; it is closed when the
    run is over.
    `environment` plays the plan's slots; it is lent, so the run does not close it.
    A run that `is_kept` may be resumed, by the same agent object; the ledger of any other lasts as
    long as its result, and does not wait for the disk.
    `known_suite` is `suite`, where it is known.
    """

    settings: Settings
    plan: Plan
    agent: object | None = None
    peer: AgentPeer | None = None
    entrant: str = ""
    nonce: str = ""
    retry_faults: Retry = "none"
    server: RunServer | None = None
    environment: EnvironmentCalls | None = None
    is_kept: bool = True
    known_suite: SuiteName | None = None

    @property
    def suite(self) -> SuiteName:
        """The suite of the plan's environments on this machine."""
        return self.known_suite or suite_of(self.plan, self.settings)


def is_recorded(folder: Path, request: Request) -> bool:
    """Whether what agents see is recorded: asked for now, or when the run was begun."""
    return bool(request.settings.record) or (folder / OBSERVED).is_file()


def cell_key_of(about: Mapping[str, str]) -> bytes | None:
    """The key of a run's cells, from its ledger's `about`."""
    return bytes.fromhex(about.get("cell key", "")) or None


def begin_or_resume(folder: Path, request: Request, *, within_s: float = 0.0) -> Ledger:
    """The ledger of a new run in `folder`, or of the one there that `request` continues.

    Waits so long for a process that still writes to it. Raises RunBusy, RunDamaged, PlanDiffers,
    NotAnAgent, StorageFailed.
    """
    try:
        return begin(folder, request, within_s=within_s)
    except RunExists:
        ledger = Ledger(folder, within_s=within_s)
    try:
        check_same(ledger, request)
    except BaseException:
        ledger.close()
        raise
    return ledger


def begin(folder: Path, request: Request, *, within_s: float = 0.0) -> Ledger:
    """A new ledger in `folder`. Raises RunExists, RunBusy, NotAnAgent (no such checkpoint)."""
    plan, secret = request.plan, request.settings.secret
    submission = Submission.new(plan.seed, secret, request.entrant, request.nonce)
    cells = None if plan.cells == PUBLIC else cell_key(secret)
    # Only the keys that were derived from the secret are kept, not the secret.
    settings_text = request.settings.without_secrets().model_dump_json()
    keyed = replace(plan, order_key=submission.order.hex())
    if plan.procedure == TRAINING:
        training = training_key(plan.seed, secret, request.settings.training_seed)
        keyed = replace(keyed, training_key=training.hex())
    plan_text = keyed.to_json()
    return Ledger.create(
        folder,
        {
            "settings": settings_text,
            "plan": plan_text,
            SIGNATURE: signature(plan_text, settings_text),
            "secret": submission.starts.hex(),
            "cell key": "" if cells is None else cells.hex(),
            "submission": submission.nonce,
            **identity(request.settings, request.suite),
            **_object_facts(request),
        },
        within_s=within_s,
        is_durable=request.is_kept,
    )


def check_same(
    ledger: Ledger,
    request: Request,
    way_out: str = f"resume it as it was begun, or begin another run, in another {setting('out')}",
) -> None:
    """Raise PlanDiffers, naming each difference, unless `request` continues the run.

    Files of the agent that are new since are noted.
    """
    about = ledger.about
    lines = difference(Plan.from_json(about["plan"]), request.plan)
    now = identity(request.settings, request.suite)
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
    if request.agent is not None:
        check_same_object(ledger, request.agent, request.settings.label)
    for name in new:
        ledger.note(name, now[name])


def _object_facts(request: Request) -> dict[str, str]:
    if request.agent is None or not request.is_kept:
        return {}
    return {PARAMETERS: parameters_of(request.agent).to_json()}
