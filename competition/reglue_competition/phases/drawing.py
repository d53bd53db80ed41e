"""What a phase plays: the plan of each of its benchmarks, drawn by the phase's own secret."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass, replace
from pathlib import Path

from glue_server.rpc.gateways.agent_gateway import AgentGateway
from reglue.errors import UsageError, settings_of
from reglue.spec import TaskSpec
from reglue_bench.planning.file import read_custom
from reglue_bench.planning.names import BenchmarkName, is_custom
from reglue_bench.planning.resolve import make_plan, suite_of
from reglue_bench.plans.keys import cell_key
from reglue_bench.plans.plan import Plan
from reglue_bench.procedures import PROCEDURES
from reglue_bench.procedures.procedure import shows_tasks
from reglue_bench.settings import AGENT_WAIT, Settings, read_settings
from reglue_competition.definition import BenchmarkEntry, Definition, PhaseDefinition
from reglue_competition.phases.code import code_sha256
from reglue_competition.phases.secrets import Secrets
from reglue_competition.phases.time_limits import place_s, run_s

_BESIDES = 65_536  # bytes that an agent's message may have besides its actions


@dataclass(frozen=True, slots=True)
class Drawn:
    """A benchmark of a phase, with its goals and cells drawn."""

    entry: BenchmarkEntry
    settings: Settings  # with the phase's secret
    plan: Plan

    @property
    def cell_key(self) -> str:
        """What draws the seeds of its cells, hexadecimal."""
        return (cell_key(self.settings.secret) or b"").hex()

    @property
    def code(self) -> str:
        """The SHA-256 of its environments' code, hexadecimal; empty if all are Reglue's."""
        return code_sha256(self.plan, self.settings)

    @property
    def place_s(self) -> float:
        """Seconds that a submission's agent may take for it, in all."""
        assert self.settings.run_budget is not None
        return place_s(self.plan, self.settings.run_budget)

    def of_entry(self, secret: str) -> Drawn:
        """With the goals and cells of an entry's own secret. Raises UsageError."""
        settings = self.settings.model_copy(update={"secret": secret})
        return replace(self, settings=settings, plan=make_plan(settings))


def entry_secret(salt: bytes, submission: str, draw: int) -> str:
    """Draws the goals and cells that one submission alone plays, hexadecimal.

    It follows from the phase's salt, which is revealed after it: anybody can draw them again then.
    `draw` tells the plays of a submission apart, from 1.
    """
    return hmac.digest(salt, f"reglue entry {submission} {draw}".encode(), hashlib.sha256).hex()


def plans_of(
    definition: Definition, phase: PhaseDefinition, secrets: Secrets | None, folder: Path
) -> list[Drawn]:
    """What a phase plays, in its order: the same each time, for the same files and secrets.

    Without secrets goals and cells are everybody's: what teams rehearse with. `folder` is the
    competition's, from which its environments' files are named. Raises UsageError that names the
    phase and the benchmark, for one that cannot be played as the file says.
    """
    secret = None if secrets is None else secrets.phase_secret(phase.name)
    return [
        _drawn(definition, phase, number, secret, folder) for number in range(len(phase.benchmarks))
    ]


def _drawn(
    definition: Definition, phase: PhaseDefinition, number: int, secret: str | None, folder: Path
) -> Drawn:
    entry = phase.benchmarks[number]
    place = f"phase {phase.name}, benchmark {number + 1} ({entry.benchmark})"
    with settings_of(place, entry.options):
        settings = _settings(definition, entry, secret, folder)
        plan = make_plan(settings)
        spec = suite_of(plan, settings).build().spec
        seconds = run_s(plan, definition.play, horizon=spec.horizon)
    settings = settings.model_copy(update={"run_budget": seconds})
    _check_actions(place, plan, spec)
    _check_failure(place, plan)
    if shows_tasks(plan) and not definition.agents_see.tasks:
        raise UsageError(
            f"{place}: shows agents which task they play, but agents_see.tasks is false: give "
            "one_hot = false (or reveal_tasks = false) in its options, or agents_see.tasks = true"
        )
    return Drawn(entry, settings, plan)


def _check_failure(place: str, plan: Plan) -> None:
    """Raise UsageError where nobody can say what an episode is worth that the agent failed in."""
    is_by_return = plan.is_by_return or not PROCEDURES[plan.procedure].judges_success
    if is_by_return and "worst_performance" not in plan.parameters:
        raise UsageError(
            f"{place}: is judged by returns, and what an episode is worth that an agent did not "
            "finish is not known, so a failed submission would have no score: give "
            "options.worst_performance"
        )


def _check_actions(place: str, plan: Plan, spec: TaskSpec) -> None:
    """Raise UsageError where an answer of all slots is larger than what the server takes."""
    a_slot = sum(each.row_bytes for each in spec.actions)
    most = AgentGateway.most_received_bytes
    if plan.slots * a_slot > most - _BESIDES:
        raise UsageError(
            f"{place}: options.slots: got {plan.slots} slots, each with an action of {a_slot} "
            f"bytes; wanted at most {(most - _BESIDES) // a_slot}, as agents may send {most} "
            "bytes a turn"
        )


def _settings(
    definition: Definition, entry: BenchmarkEntry, secret: str | None, folder: Path
) -> Settings:
    play, sees = definition.play, definition.agents_see
    asked = read_settings(
        **entry.options,
        benchmark=entry.benchmark,
        directory=str(folder.absolute()),
        secret=secret,
        agent=AGENT_WAIT,
        sandbox="none",  # agents run with their teams
        keep_rewards=True,
        repeat_check=False,  # `admit` has checked more
        connect_timeout=play.connect_timeout_s,
        reconnect_window=play.reconnect_window_s,
        first_step_timeout=play.first_step_s,
        step_timeout=play.step_s,
        bank=play.bank_s,
        late="fault" if play.late == "fault" else "default-action",
        turn_every=play.turn_grid_s or 0.0,
    )
    name = BenchmarkName.parse(asked.benchmark)
    told: dict[str, bool] = {}
    if sees.tasks and name.is_metaworld:
        told["reveal_tasks"] = True
    if not sees.rewards and PROCEDURES[_procedure(name, asked)].hides_rewards:
        told["hide_rewards"] = True
    if not sees.success_ends:
        told["hide_success_ends"] = True
    return asked.model_copy(update=told)


def _procedure(name: BenchmarkName, settings: Settings) -> str:
    if is_custom(name.name):
        return read_custom(Path(settings.directory) / name.name, settings).about.procedure
    return name.procedure
