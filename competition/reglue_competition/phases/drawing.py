"""Plans the benchmarks of a phase: goals and cells are drawn by the phase's own secret."""

from __future__ import annotations

import hashlib
import hmac
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from glue_server.rpc.gateways.agent_gateway import AgentGateway
from reglue.errors import UsageError, settings_of
from reglue.spec import TaskSpec
from reglue_bench.benchmark.benchmark import Benchmark
from reglue_bench.benchmark.declared import declared_repeatable
from reglue_bench.plans.keys import cell_key
from reglue_bench.plans.plan import Plan
from reglue_bench.procedures import PROCEDURES, procedure_of
from reglue_bench.procedures.online import EPISODE_LIMIT
from reglue_bench.procedures.procedure import Procedure, shows_tasks
from reglue_bench.results.result import measure_of
from reglue_bench.runs.environment_code import code_sha256
from reglue_bench.settings import AGENT_WAIT, Settings, read_settings
from reglue_competition.definition import BenchmarkEntry, Definition, PhaseDefinition, PlayLimits
from reglue_competition.phases.secrets import Secrets

_BESIDES = 65_536  # bytes that an agent's message may have besides its actions

_SHARE = 0.1  # of `step_s`, that all turns may take on average


@dataclass(frozen=True, slots=True)
class PlannedBenchmark:
    """A benchmark of a phase, with its goals and cells drawn."""

    entry: BenchmarkEntry
    settings: Settings  # with the phase's secret
    plan: Plan

    @property
    def cell_key(self) -> str:
        """The key that draws the seeds of its cells, hexadecimal."""
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


def entry_secret(salt: bytes, submission: str, draw: int) -> str:
    """The secret that draws goals and cells for one submission alone, hexadecimal.

    It follows from the phase's salt, which is revealed after it: anybody can draw them again then.
    `draw` tells the plays of a submission apart, from 1.
    """
    return hmac.digest(salt, f"reglue entry {submission} {draw}".encode(), hashlib.sha256).hex()


def plan_phase(
    definition: Definition, phase: PhaseDefinition, secrets: Secrets | None, folder: Path
) -> list[PlannedBenchmark]:
    """Plan the benchmarks of a phase: the same each time for the same files and secrets.

    Without secrets, goals and cells are public: teams rehearse with them. `folder` is the
    competition's, from which its environments' files are named. Raises UsageError that names the
    phase and the benchmark, for one that cannot be played as the file says.
    """
    secret = None if secrets is None else secrets.phase_secret(phase.name)
    planned = [
        _plan_benchmark(definition, phase, number, secret, folder)
        for number in range(len(phase.benchmarks))
    ]
    if definition.ranking.total == "score":
        _check_units(phase, planned)
    return planned


def calls_server(definition: Definition, phase: PhaseDefinition, folder: Path) -> bool:
    """Whether `plan_phase` waits for another program's server. Raises UsageError."""
    every = [_settings(definition, entry, None, folder) for entry in phase.benchmarks]
    return any(Benchmark.of(each).source.calls_server for each in every)


def _check_units(phase: PhaseDefinition, planned: Sequence[PlannedBenchmark]) -> None:
    """Raise UsageError if scores of other kinds would be added, such as success and returns."""
    if len(planned) == 1:
        return
    for number, each in enumerate(planned, 1):
        measure = measure_of(each.plan.procedure, each.plan.parameters)
        if each.entry.scale is None and not measure.is_rate:
            raise UsageError(
                f"phase {phase.name}, benchmark {number} ({each.entry.benchmark}): is scored by "
                "returns, which do not add up with the scores of others: give it scale = [WORST, "
                "BEST], such as what `admit` prints for a random agent and for your reference, or "
                'let ranking.total = "mean rank" add no scores'
            )


def run_s(plan: Plan, play: PlayLimits, *, horizon: int) -> float:
    """Seconds that an agent may take from one `agent_init` on: `play.run_s`, or by its episodes.

    That is a tenth of `step_s` for each turn of episodes that all last to their end; with the time
    for `agent_init`, the first turn and each adaptation, and the bank. `horizon` is the
    environments', in steps; 0: they have none. Raises UsageError if no end is known, as by the
    limit that online benchmarks have by default.
    """
    if play.run_s is not None:
        return play.run_s
    procedure, parameters = procedure_of(plan), plan.parameters
    limit = int(parameters.get("episode_limit") or 0)
    ends = (horizon, limit if limit < EPISODE_LIMIT else 0, int(parameters.get("steps") or 0))
    longest = min((n for n in ends if n), default=0)
    steps = _most_steps(plan, procedure, longest)
    if not steps:
        raise UsageError(
            "its episodes have no known limit: give options.episode_limit, or play.run_s"
        )
    turns = math.ceil(steps / plan.slots / procedure.agents) + longest
    adapted = (
        int(parameters.get("adaptation_steps") or 0) + 1 if "adaptation_steps" in parameters else 0
    )
    calls = 2 + 2 * adapted * procedure.units
    return math.ceil(calls * play.first_step_s + play.bank_s + turns * _SHARE * play.step_s)


def place_s(plan: Plan, run_s: float) -> float:
    """Seconds that the agent of one submission may take for a benchmark, in all."""
    return procedure_of(plan).agents * run_s


def _plan_benchmark(
    definition: Definition, phase: PhaseDefinition, number: int, secret: str | None, folder: Path
) -> PlannedBenchmark:
    entry = phase.benchmarks[number]
    place = f"phase {phase.name}, benchmark {number + 1} ({entry.benchmark})"
    with settings_of(place, entry.options):
        settings = _settings(definition, entry, secret, folder)
        resolved = Benchmark.of(settings).resolve(settings.secret)
        plan, spec = resolved.plan, resolved.spec
        assert spec is not None, "no competition waits for environments"
        seconds = run_s(plan, definition.play, horizon=spec.horizon)
    settings = settings.model_copy(update={"run_budget": seconds})
    _check_actions(place, plan, spec)
    _check_failure(place, plan)
    if not declared_repeatable(plan) and phase.cells == "shared":
        raise UsageError(
            got=f"{place}: an environment that says that it is not repeatable",
            wanted="one whose cells decide its episodes, as teams are compared on the same ones; "
            'or cells = "own" in the phase, so that their scores are compared',
        )
    if shows_tasks(plan) and not definition.agents_see.tasks:
        raise UsageError(
            f"{place}: shows agents which task they play, but agents_see.tasks is false: give "
            "one_hot = false (or omit reveal_tasks and instruction) in its options, or "
            "agents_see.tasks = true"
        )
    return PlannedBenchmark(entry, settings, plan)


def _check_failure(place: str, plan: Plan) -> None:
    """Raise UsageError if the worth of an episode in which the agent failed is unknown."""
    is_by_return = plan.is_by_return or not PROCEDURES[plan.procedure].judges_success
    if is_by_return and "worst_performance" not in plan.parameters:
        raise UsageError(
            f"{place}: is scored by returns, so an episode that an agent did not finish has no "
            "score, and a failed submission neither: give options.worst_performance"
        )


def _check_actions(place: str, plan: Plan, spec: TaskSpec) -> None:
    """Raise UsageError if an answer of all slots is larger than what the server takes."""
    a_slot = sum(each.row_bytes for each in spec.actions)
    most = AgentGateway.most_received_bytes
    if plan.slots * a_slot > most - _BESIDES:
        raise UsageError(
            f"{place}: options.slots",
            got=f"{plan.slots} slots, each with an action of {a_slot} bytes",
            wanted=(
                f"at most {(most - _BESIDES) // a_slot}, as agents may send {most} bytes a turn"
            ),
        )


def _settings(
    definition: Definition, entry: BenchmarkEntry, secret: str | None, folder: Path
) -> Settings:
    play, sees = definition.play, definition.agents_see
    settings = read_settings(
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
    source = Benchmark.of(settings).source
    visibility: dict[str, bool] = {}
    if sees.tasks and source.is_metaworld:
        visibility["reveal_tasks"] = True
    if not sees.rewards and PROCEDURES[source.procedure].hides_rewards:
        visibility["hide_rewards"] = True
    if not sees.success_ends:
        visibility["hide_success_ends"] = True
    return settings.model_copy(update=visibility)


def _most_steps(plan: Plan, procedure: Procedure, longest: int) -> int:
    """The most steps of all units; `longest` is the most of an episode."""
    if steps := int(plan.parameters.get("steps") or 0):
        return procedure.units * steps
    return longest * sum(len(procedure.cells(unit)) for unit in range(procedure.units))
