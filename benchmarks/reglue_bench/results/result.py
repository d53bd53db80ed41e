"""The result of a run: the shape of `result.json`."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self, TypeVar

from pydantic import BaseModel, Field, JsonValue, PrivateAttr, ValidationError, field_validator

from env_adapters.named_objects import imported
from glue_server import LOST
from reglue.error_message import brief
from reglue.errors import BadArgument, EnvironmentFault, StorageFailed, UsageError
from reglue_bench.float_range import FloatArray
from reglue_bench.formatting import plural, signed, value, values
from reglue_bench.plans.plan import difference, json_difference, title_of
from reglue_bench.procedures import PROCEDURES
from reglue_bench.results.episodes import EpisodeRow, Episodes
from reglue_bench.results.facts import (
    AgentIdentity,
    Coverage,
    Event,
    FaultCount,
    Record,
    Recorded,
    Seconds,
    StepCounts,
)
from reglue_bench.results.result_tables import frame_of, frame_with_intervals, notebook_table
from reglue_bench.results.scores import (
    CurvePoint,
    PerformanceScore,
    ReturnScore,
    Score,
    Success,
    SuccessScore,
    TaskScore,
    TrainingProgress,
    UnitScore,
)
from reglue_bench.results.whole_file import whole_file
from reglue_bench.run_folder import LEDGER
from reglue_bench.runs.notes import Ending, Repeat
from reglue_bench.statistics import Inference, Interval

_Score = TypeVar("_Score", SuccessScore, ReturnScore, PerformanceScore)

VERSION: Literal[1] = 1

_PLAYED = {"benchmark", "environment_args", "procedure", "parameters", "seed", "slots"}
"""Fields of a result that say what was played."""

NO_SCORE = frozenset({"missing", EnvironmentFault.status, LOST})
"""Statuses of a planned cell with unknown outcome: it was not played, or an environment failed
by itself. Any other that is not `ok` is a failure, and counts as one."""


class Result(BaseModel):
    """The facts of a run, and its score. Rows are in the run's ledger: see `episodes`."""

    model_config = Record.model_config

    schema_version: Literal[1] = VERSION  # of what these fields are and mean
    benchmark: str  # its name
    environment_args: dict[str, JsonValue] = {}  # what was changed of the environment of that name
    procedure: str  # how it was played: multi-task, meta-learning, online, …
    parameters: dict[str, bool | int | float | str | list[str] | None]  # of the procedure and suite
    seed: int  # of the goals and of all randomness
    slots: int  # episodes that were played at once
    plan_sha256: str  # runs of one plan share it, hexadecimal
    goals_sha256: str  # runs whose tasks have the same goals and horizon share it, hexadecimal
    agent: AgentIdentity  # which agent was judged
    complete: bool  # every planned cell has a row, and no environment failed: see NO_SCORE
    ended_early: Ending | None = None  # what ended the run before its plan was played
    privileged: list[str]  # what the agent received although the benchmark hides it
    score: Score = Field(discriminator="kind")  # of the kind that its measure reads
    training: TrainingProgress | None = None  # of an agent that was trained first
    coverage: Coverage  # how much of the plan was played
    status_counts: dict[str, int]  # of evaluation episodes (online: runs), with `missing`
    faults: list[FaultCount] = []  # of all phases, the commonest first
    episodes_succeeded: int = 0  # of all phases
    episodes_cut_off: int = 0  # of all phases: how many reached the run's --episode-limit
    episodes_retried: int = 0  # of all phases: how many rows are of a second or later try
    recorded: Recorded | None = None  # of runs with --record
    clipped_steps: int  # steps whose action was out of bounds and was clipped
    defaulted_steps: int = 0  # steps whose action came too late, so that a default was played
    steps: StepCounts  # environment steps
    seconds: Seconds  # time spent
    versions: dict[str, str]  # of the packages that decide a row's bits
    machines: list[str] = []  # on which agents played: name, processor, on which bits depend too
    environments_on: list[str] = []  # the machines of --environments ray; empty: agents' own
    environments_in: list[str] = []  # this process, 2 workers, …; empty: beside each agent
    repeats: tuple[Repeat, ...] = ()  # at the run's end, one each of who was tried again
    events: list[Event] = []  # during the run, over all sessions; they changed no row
    _episodes: Any = PrivateAttr(None)  # Episodes, or what is iterated like them

    @property
    def episodes(self) -> Episodes:
        """A row for each episode, in the order of units and cells; may be iterated repeatedly.

        Raises UsageError if there is no ledger to read them from.
        """
        if self._episodes is None:
            raise UsageError(
                f"{self.agent.label} on {self.benchmark}: this needs the run's episodes, which are "
                "in its ledger.sqlite; got result.json alone, which holds the score"
            )
        episodes: Episodes = self._episodes
        return episodes

    @property
    def judged(self) -> Iterable[EpisodeRow]:
        """The episodes that are judged; raises as `episodes`."""
        return (row for row in self.episodes if row.phase == "evaluate")

    @property
    def repeatable(self) -> bool | None:
        """Whether what was tried again at the run's end was the same to the bit.

        The environment plays an episode again, by its actions; a frozen agent answers its first
        turns again. False: scores cannot be repeated, because of one of them. None: not known.
        """
        answers = [each.repeatable for each in self.repeats]
        if False in answers:
            return False
        return None if None in answers or not answers else True

    @property
    def has_episodes(self) -> bool:
        """Whether there is a ledger to read them from."""
        return self._episodes is not None

    def differences(self, other: Result, *, called: tuple[str, str]) -> list[str]:
        """Differences between what it and `other` played, one line each, as of their plans.

        Without ledgers, which hold these, only as far as the results say.
        """
        ours, theirs = self._episodes, other._episodes
        if isinstance(ours, Episodes) and isinstance(theirs, Episodes):
            return difference(ours.plan, theirs.plan, called=called)
        dumps = (each.model_dump(mode="json", include=_PLAYED) for each in (self, other))
        return json_difference(*dumps, called=called)

    @field_validator("environment_args", mode="before")
    @classmethod
    def _as_json(cls, arguments: object) -> object:
        """The words for NaN and infinity, which JSON lacks: `nan`, `-inf`."""
        return json.loads(json.dumps(arguments), parse_constant=lambda name: str(float(name)))

    def with_episodes(self, episodes: Iterable[EpisodeRow]) -> Self:
        """The same result, with these rows."""
        copy = self.model_copy()
        copy._episodes = episodes
        return copy

    @property
    def title(self) -> str:
        """The benchmark, and its environment as far as the name does not say it."""
        return title_of(self.benchmark, self.parameters, self.environment_args)

    @property
    def measure(self) -> Measure:
        """The measure by which it is judged."""
        return measure_of(self.procedure, self.parameters)

    @property
    def scores(self) -> list[TaskScore]:
        """A table of the score and of what else is known of each task, and of all."""
        return [*self.score.table(self.coverage.episodes_planned, self.measure.name)]

    @property
    def curves(self) -> list[CurvePoint]:
        """A table of the curves of agents that learn: while they are judged, or trained."""
        judged = self.score.curves if isinstance(self.score, PerformanceScore) else ()
        return [*judged, *(self.training.curves if self.training else ())]

    @property
    def units(self) -> list[UnitScore]:
        """A table of what a comparison pairs: a row for each judged episode that has ended, or for
        each run of an agent that learns.

        Raises UsageError if they are episodes, and there is no ledger to read them from.
        """
        return [*self.measure.read(self)]

    def to_pandas(self, table: Literal["scores", "curves", "units"] = "scores") -> Any:
        """A table as a DataFrame. Of `scores`: task (empty: over all tasks), what, score, low and
        high of its 95 % interval (NaN: there is too little to tell), n, unit. Of `curves`: curve,
        at, counted_in, value, low, high, n. Of `units`: task (empty: of an agent that learns),
        variant, number, seed, value (NaN: what counts is not known), status.

        Raises MissingExtra without pandas, BadArgument for another table, and what `units` raises.
        """
        match table:
            case "units":
                frame = frame_of(UnitScore._fields, self.units)
                return frame.astype({"seed": "Int64", "value": float})
            case "scores":
                return frame_with_intervals(TaskScore, self.scores)
            case "curves":
                return frame_with_intervals(CurvePoint, self.curves)
        raise BadArgument(got=brief(table), wanted="'scores', 'curves' or 'units'")

    def __repr__(self) -> str:
        """The headline, as a Python or IPython prompt shows it."""
        return f"<Result: {str(self).splitlines()[0]}>"

    def _repr_html_(self) -> str:
        """HTML that a notebook shows."""
        return notebook_table(str(self), self.scores)

    @property
    def score_by_task(self) -> dict[str, TaskScore]:
        """The score of each task that has one."""
        name = self.measure.name
        return {row.task: row for row in self.scores if row.task and row.what == name}

    @property
    def interval95(self) -> Interval | None:
        """The 95 % interval of the score; None for too few episodes or equal returns."""
        return self.score.interval95

    @property
    def mean_success_rate(self) -> float:
        """Mean over tasks, 0 to 1. Raises UsageError if no success is known."""
        return self._success.mean_success_rate

    @property
    def success_rate_per_task(self) -> Mapping[str, float]:
        """Over planned episodes, 0 to 1. Raises UsageError if no success is known."""
        return self._success.success_rate_per_task

    @property
    def mean_return(self) -> float | None:
        """Mean over tasks; None if it is not known. Raises UsageError for runs that learn."""
        return self._returns.mean_return

    @property
    def returns_per_task(self) -> Mapping[str, float | None]:
        """The mean return of each task. Raises UsageError for runs that learn."""
        return self._returns.returns_per_task

    @property
    def performance(self) -> float | None:
        """Mean over runs that learn; None if it is withheld. Raises UsageError for others."""
        return self.score_as(PerformanceScore).performance

    @property
    def caveats(self) -> list[str]:
        """Caveats of the score and its interval, a line each."""
        doubts = [str(each) for each in self.repeats if not each.repeatable]
        return [*self._of_one_variant(), *doubts]

    def _of_one_variant(self) -> list[str]:
        """That all episodes of a goal count as one, if no task has a second variant."""
        goals = [of.values() for of in self.coverage.episodes_planned.values()]
        are_alone = all(len(of) == 1 for of in goals) and any(max(of) > 1 for of in goals)
        if not (are_alone and isinstance(self.score, SuccessScore)):
            return []
        procedure, _, environment = self.benchmark.partition(":")
        other = f"evaluate:{environment if procedure == 'multi-task' else ''}"
        whose = "its episodes" if len(goals) == 1 else "the episodes of each"
        return [f"{plural(len(goals), 'goal')}: {whose} count as one; {other} counts each"]

    def score_as(self, kind: type[_Score]) -> _Score:
        """The score, which is of that type. Raises UsageError if it is not."""
        if not isinstance(self.score, kind):
            raise self._judged_otherwise(kind.model_fields["kind"].default)
        return self.score

    @property
    def _success(self) -> SuccessScore | Success:
        score = self.score
        success = score.success if isinstance(score, ReturnScore) else score
        if success is None or isinstance(success, PerformanceScore):
            raise self._judged_otherwise("success")
        return success

    @property
    def _returns(self) -> SuccessScore | ReturnScore:
        if isinstance(self.score, PerformanceScore):
            raise self._judged_otherwise("return")
        return self.score

    def _judged_otherwise(self, wanted: str) -> UsageError:
        return UsageError(
            f"{self.benchmark} is judged by its {self.measure.name}: its result has no {wanted}"
        )

    def __str__(self) -> str:
        """The headline: who, on what, the score and its interval; then a line for each fault and
        caveat, and what ended the run early.
        """
        score, measure = self.score, self.measure
        amount = "no score" if score.value is None else measure.amount(score.value)
        text = f"{self.agent.label} on {self.title}: {measure.name} {amount}"
        if score.interval95 is not None:
            text += f", 95 % interval {measure.amounts(score.interval95)}"
        coverage, what = self.coverage, measure.planned
        if coverage.cells_completed < coverage.cells_planned:
            text += f" ({coverage.cells_completed} of {coverage.cells_planned} {what} played)"
        else:
            text += f" ({coverage.cells_planned} {what})"
        lines, ending = [text, *map(str, self.faults), *self.caveats], self.ended_early
        if ending is not None and ending.status not in {fault.status for fault in self.faults}:
            lines.append(f"ended early, {ending}")
        return "\n".join(lines)

    def write(self, folder: Path) -> Path:
        """Write `result.json` into a run's folder, whole or not at all. Raises StorageFailed."""
        path = folder / "result.json"
        try:
            with whole_file(path, mode=0o600) as file:
                file.write(f"{self.model_dump_json(by_alias=True, indent=1)}\n".encode())
        except OSError as error:
            raise StorageFailed(
                f"{path} cannot be written: {error.strerror}; what was committed is kept: "
                f"`reglue report {folder}` draws it, `reglue bench --resume {folder}` continues"
            ) from error
        return path


def read_result(folder: Path | str) -> Result:
    """The score in a run's folder, or in a result.json, with the rows of the ledger beside it.

    Raises UsageError if there is none or it is broken.
    """
    folder = Path(folder)
    path = folder / "result.json" if folder.is_dir() else folder
    try:
        result = parse_result(path.read_bytes(), str(path))
        has_ledger = (path.parent / LEDGER).is_file()
        return result.with_episodes(Episodes(path.parent)) if has_ledger else result
    except OSError as error:
        if not folder.exists():
            raise UsageError(f"no such folder: {folder}") from error
        if path.exists():
            raise UsageError(f"{path} cannot be read: {error.strerror}") from error
        raise UsageError(f"{folder} holds no run: neither a ledger nor a result.json") from error


def parse_result(text: str | bytes, name: str) -> Result:
    """The result in the JSON of a file of that name.

    Raises UsageError if it is broken, or of another version.
    """
    try:
        return Result.model_validate_json(text)
    except ValidationError as error:
        for each in error.errors(include_url=False):
            if each["loc"] == ("schema_version",):
                raise UsageError(
                    f"{name}: got version {brief(each['input'])} of a result, wanted {VERSION}: it "
                    "takes the version of Reglue that wrote it, which its `versions` name"
                ) from error
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"])) or "the file"
        more = f", and {error.error_count() - 1} problems more" * (error.error_count() > 1)
        raise UsageError(
            f"{name} is not a result of this version: {place}: {first['msg']}{more}; wanted a "
            "run's folder, or its result.json"
        ) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """A kind of score by which runs are judged and compared.

    Runs with equal measures are compared. `Renderer` adds texts and plots.
    """

    name: str  # of the score: success, mean return, performance
    unit: str  # by which two runs are paired: goal, episode, run
    least: int  # of these that an interval takes
    enough: str  # the same as text, such as "five goals"
    entrant: str = "run"  # what is compared: runs, or the agents that play them
    planned: str = "episodes"  # what a plan is made of

    amount: Callable[[float], str] = value  # formats a score
    amounts: Callable[[Interval], str] = values  # formats an interval
    difference: Callable[[float], str] = signed  # formats a difference of scores
    is_rate: bool = False  # 0 to 1

    # Of two runs.
    read: Callable[[Result], Iterable[UnitScore]]  # the table of a run's units
    alike: Callable[[Result], Hashable]  # equal of runs whose units can be paired
    by_seed: bool = False  # units are paired by their environments' seeds, else by their numbers
    infer: Callable[[Mapping[str, FloatArray]], Inference]  # from differences by task
    improves: bool = True  # units are independent, so a probability of improvement is meaningful
    least_p: Callable[[int], float] = lambda _pairs: 0.0
    """The p-value of this many units if they differ as far as possible."""


def measure_of(procedure: str, parameters: Mapping[str, Any]) -> Measure:
    """The measure of plans of this procedure and these parameters.

    Raises UnknownName, and CannotLoad for another package's.
    """
    where = PROCEDURES[procedure].measured_by(parameters)
    measure: Measure = imported("measure", where, Measure)
    return measure
