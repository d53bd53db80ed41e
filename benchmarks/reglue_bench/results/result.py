"""What a run says at its end: the shape of `result.json`."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PlainSerializer,
    SerializationInfo,
    TypeAdapter,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)
from pydantic_core import to_json

from reglue.errors import StorageFailed, UsageError
from reglue_bench.results.episodes import EpisodeRow, Episodes
from reglue_bench.results.whole_file import write_whole

Interval = tuple[float, float]

Isolation = Literal["in process", "none", "remote", "user", "bubblewrap", "container"]
"""What kept an agent from the benchmark's files and memory, the weakest first.

`in process`: an object in the driver's own process. `none`: a program with the driver's
rights. `remote`: it dialled in by itself, so its host knows. Else a sandbox.
"""

_AT_ONCE = 100  # episodes that are made into text


def _packed(given: Any, read: ValidatorFunctionWrapHandler) -> array[float]:
    return given if isinstance(given, array) and given.typecode == "d" else array("d", read(given))


def _unpacked(numbers: array[float], info: SerializationInfo) -> Any:
    return (each for each in numbers) if info.mode_is_json() else numbers.tolist()


Numbers: TypeAlias = Annotated[
    Sequence[float], WrapValidator(_packed), PlainSerializer(_unpacked, return_type=Any)
]
"""Kept as an array of float64: there may be one for each episode of a run."""


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="null")


class AgentIdentity(_Record):
    """Which agent was judged; runs that differ in `training_seed` alone are one agent."""

    name: str  # as the agent calls itself
    label: str  # as the report calls it
    checkpoint_sha256: str | None = None
    training_seed: int | None = None
    isolation: Isolation | None = None  # None: no agent has come, or an older version's result


class Intervals(_Record):
    """95 % confidence intervals of success rates, 0 to 1."""

    method: str
    mean_success_rate: Interval
    success_rate_per_task: dict[str, Interval]


class Rates(_Record):
    """Success rates, 0 to 1."""

    mean_success_rate: float
    success_rate_per_task: dict[str, float]


class UpstreamScore(_Record):
    """What `metaworld.evaluation` makes of the same episodes: see `first_finished`."""

    mean_success_rate: float
    mean_returns: float | None  # over episodes that count; None if none does
    success_rate_per_task: dict[str, float]


class Coverage(_Record):
    """How much of the plan, and of the benchmark's goals, was played."""

    cells_planned: int  # evaluation episodes; runs of an online benchmark
    cells_completed: int
    goals_planned: int  # distinct (task, variant)
    goals_total: int  # what the benchmark has
    episodes_planned: dict[str, dict[int, int]] = {}  # of each task's variants; empty online


class StepCounts(_Record):
    """Environment steps: in rows that count, and all that were simulated."""

    counted: int
    executed: int


class Seconds(_Record):
    """Where the time went, summed over the sessions of a run."""

    wall: float
    agent: float  # waiting for the agent
    environment: float  # waiting for environments
    glue: float  # the rest


class FaultCount(_Record):
    """Episodes of any phase that ended by the same fault."""

    status: str
    detail: str  # the first line of what happened
    count: int


class Ending(_Record):
    """What ended a run before its plan was played."""

    status: str  # whose fault: agent_error, agent_timeout, agent_disconnected, interrupted, …
    what: str  # for people


class LearningRun(_Record):
    """One independent run of an agent that learns."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    run: int
    attempt: int = Field(alias="try")
    status: str  # ok: played to its end; whose fault it ended by; missing
    performance: float | None
    """Mean over what is measured; the plan's worst one if the agent's own fault ended the run;
    None if it is missing, an environment ended it, or no worst one is known."""
    episodes: int  # that were begun
    steps: int
    successes: int  # episodes in which the task's flag was up; 0 where there is no such flag
    line: list[float]  # return of each episode; or mean reward of each bin of steps
    episode_steps: list[int]  # of each episode; empty where a run is counted in steps


class Curve(_Record):
    """Means over the completed runs, point by point."""

    at: list[int]  # the episode, from 1; or the last step of a bin
    mean: list[float]
    interval95: list[Interval]  # Student's, of each mean; empty below two runs


class OnlineScore(_Record):
    """How an agent did while it learned, over independent runs."""

    counted_in: Literal["episodes", "steps"]
    quota: int  # of each run
    metric: str  # all, or final:N
    fresh_agent: Literal["process", "agent_init"]  # what makes the agent of a run naive
    performance: float | None  # mean over all planned runs; None where one has none: see `withheld`
    interval95: Interval | None  # Student's, over all planned runs; None below two
    withheld: str = ""  # why there is no performance, for people
    worst_performance: float | None = None  # of runs that ended by the agent's own fault
    completed_only: float | None  # mean over the runs played to their end; not to be ranked
    runs: list[LearningRun]  # all that were planned
    curve: Curve  # of the lines of completed runs
    episode_steps: Curve | None  # None where a run is counted in steps

    @property
    def completed(self) -> list[LearningRun]:
        """The runs that were played to their end."""
        return [run for run in self.runs if run.status == "ok"]

    @property
    def given_up(self) -> list[LearningRun]:
        """The runs that the agent's own fault ended: scored, but not by what they earned."""
        return [run for run in self.runs if run.status != "ok" and run.performance is not None]


class Success(NamedTuple):
    """What a benchmark that judges a frozen agent comes to; rates are 0 to 1."""

    rate: float  # mean over tasks, of planned episodes
    intervals95: Intervals
    completed_only: Rates


class Result(_Record):
    """A run's score. Denominators are planned cells: a missing one is a failure.

    An online benchmark is scored in `online`: the figures of success and of returns of
    judged episodes are None or empty, and its episodes are in the ledger alone.
    """

    benchmark: str
    procedure: str
    parameters: dict[str, bool | int | float | str | list[str] | None]
    seed: int
    slots: int
    plan_sha256: str
    goals_sha256: str  # runs that share it mean the same by a task's variant, and its horizon
    agent: AgentIdentity
    complete: bool  # every planned cell has a row
    ended_early: Ending | None = None
    baseline: list[str]  # what this run was told that the benchmark hides; empty: nothing
    mean_success_rate: float | None
    mean_returns: float | None  # mean of `returns_per_task`; None where one of them is
    success_rate_per_task: dict[str, float]
    returns_per_task: dict[str, float | None]
    """Over planned episodes: one that was not played to its end is worth the plan's worst
    performance; None where there is such an episode and no worst one is known."""
    episode_returns_per_task: dict[str, Numbers]  # of the episodes that were played to their end
    intervals95: Intervals | None
    completed_only: Rates | None
    before_adaptation: Rates | None
    online: OnlineScore | None = None
    upstream: UpstreamScore | None = None  # of runs with --estimator metaworld
    coverage: Coverage
    status_counts: dict[str, int]  # of evaluation cells (online: runs), `missing` among them
    faults: list[FaultCount] = []  # of all phases, the commonest first
    clipped_steps: int
    steps: StepCounts
    seconds: Seconds
    versions: dict[str, str]
    episodes: Episodes

    @property
    def is_by_return(self) -> bool:
        """Whether episodes were judged by returns: the environment never tells of success."""
        return self.parameters.get("judged_by") == "return"

    @property
    def success(self) -> Success:
        """The figures of success, which are all there. Raises UsageError where there are none."""
        if self.mean_success_rate is None or self.intervals95 is None or not self.completed_only:
            raise UsageError(f"{self.benchmark} is scored by returns, not by success")
        return Success(self.mean_success_rate, self.intervals95, self.completed_only)

    def write(self, folder: Path) -> Path:
        """Write `result.json` into a run's folder, whole or not at all. Raises StorageFailed."""
        path = folder / "result.json"
        try:
            write_whole(path, self._json(), mode=0o600)
        except OSError as error:
            raise StorageFailed(
                f"{path} cannot be written: {error.strerror}; what was committed is kept: "
                f"`reglue report {folder}` draws it, `reglue bench --resume {folder}` goes on"
            ) from error
        return path

    def _json(self) -> Iterator[bytes | memoryview]:
        """As `model_dump_json`, but the episodes, which come last, some at a time."""
        head = to_json(self, indent=1, exclude={"episodes"}, inf_nan_mode="null")
        yield memoryview(head)[: -len("\n}")]
        yield b',\n "episodes": ['
        rows = TypeAdapter(list[EpisodeRow])
        for first in range(0, len(self.episodes), _AT_ONCE):
            some = self.episodes[first : first + _AT_ONCE]
            text = rows.dump_json(some, by_alias=True, indent=1)
            yield b"," * (first > 0) + text[1:-2].replace(b"\n", b"\n ")
        yield b"\n ]\n}\n" if self.episodes else b"]\n}\n"


def read_result(folder: Path) -> Result:
    """The result of a run's folder. Raises UsageError where there is none or it is broken."""
    path = folder / "result.json" if folder.is_dir() else folder
    try:
        return Result.model_validate_json(path.read_bytes())
    except OSError as error:
        if not folder.exists():
            raise UsageError(f"there is no folder {folder}") from error
        if path.exists():
            raise UsageError(f"{path} cannot be read: {error.strerror}") from error
        raise UsageError(f"{folder} holds no run: neither a ledger nor a result.json") from error
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"])) or "the file"
        more = f", and {error.error_count() - 1} problems more" * (error.error_count() > 1)
        raise UsageError(
            f"{path} is not a result of this version: {place}: {first['msg']}{more}; wanted a "
            "run's folder, or its result.json"
        ) from error
