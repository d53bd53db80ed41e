"""What a run says at its end: the shape of `result.json`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, ValidationError

from reglue.errors import StorageFailed, UsageError
from reglue_bench.procedures import PROCEDURES
from reglue_bench.results.episodes import EpisodeRow, Episodes
from reglue_bench.results.whole_file import whole_file
from reglue_bench.runs.ledger import FILE as LEDGER

if TYPE_CHECKING:
    from reglue_bench.kinds import Kind

Interval = tuple[float, float]

Isolation = Literal["in process", "none", "remote", "user", "bubblewrap", "container"]
"""What kept an agent from the benchmark's files and memory, the weakest first.

`in process`: an object in the driver's own process. `none`: a program with the driver's
rights. `remote`: it connected by itself, so its host decides. Else a sandbox.
"""


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
    """95 % confidence intervals of what a run is judged by; None: there is too little to tell."""

    method: str
    mean: Interval | None  # of the mean over tasks
    per_task: dict[str, Interval | None]


class Rates(_Record):
    """Success rates, 0 to 1."""

    mean_success_rate: float
    success_rate_per_task: dict[str, float]


class UpstreamScore(_Record):
    """What `metaworld.evaluation` makes of the same episodes: see `upstream`."""

    mean_success_rate: float
    mean_returns: float | None  # over episodes that count; None if none does
    success_rate_per_task: dict[str, float]


class Coverage(_Record):
    """How much of the plan, and of the benchmark's goals, was played."""

    cells_planned: int  # evaluation episodes; runs of an online benchmark
    cells_completed: int
    cells_succeeded: int = 0  # of the completed
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
    interval95: Interval
    intervals95_per_task: Mapping[str, Interval]
    completed_only: Rates


class Result(_Record):
    """A run's score. Denominators are planned cells: a missing one is a failure.

    An online benchmark is scored in `online`: the figures of success and of returns of
    judged episodes are None or empty. Rows are in the run's ledger: see `episodes`.
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
    intervals95: Intervals | None  # of success, or of returns if judged by them; None online
    completed_only: Rates | None
    before_adaptation: Rates | None
    online: OnlineScore | None = None
    upstream: UpstreamScore | None = None  # of runs with --estimator metaworld
    coverage: Coverage
    status_counts: dict[str, int]  # of evaluation cells (online: runs), `missing` among them
    faults: list[FaultCount] = []  # of all phases, the commonest first
    episodes_succeeded: int = 0  # of all phases
    episodes_retried: int = 0  # of all phases: their row is of a second or later try
    clipped_steps: int
    steps: StepCounts
    seconds: Seconds
    versions: dict[str, str]
    _episodes: Iterable[EpisodeRow] | None = PrivateAttr(None)

    @property
    def episodes(self) -> Iterable[EpisodeRow]:
        """A row for each episode, in the order of units and cells; iterate as often as you like.

        Raises UsageError if there is no ledger to read them from.
        """
        if self._episodes is None:
            raise UsageError(
                f"{self.agent.label} on {self.benchmark}: this needs the run's episodes, which are "
                "in its ledger.sqlite; got result.json alone, which holds the score"
            )
        return self._episodes

    @property
    def has_episodes(self) -> bool:
        """Whether there is a ledger to read them from."""
        return self._episodes is not None

    def with_episodes(self, episodes: Iterable[EpisodeRow]) -> Self:
        """The same result, with these rows."""
        found = self.model_copy()
        found._episodes = episodes
        return found

    @property
    def kind(self) -> Kind:
        """What it is judged by."""
        return PROCEDURES[self.procedure].kind(self)

    @property
    def score(self) -> tuple[float | None, Interval | None]:
        """What it is judged by, and its 95 % interval; None where there is none."""
        return self.kind.score(self)

    @property
    def success(self) -> Success:
        """The figures of success, which are all there. Raises UsageError where there are none."""
        rate, intervals, completed = self.mean_success_rate, self.intervals95, self.completed_only
        if rate is None or intervals is None or intervals.mean is None or completed is None:
            raise UsageError(f"{self.benchmark} is scored by returns, not by success")
        per_task = {task: each for task, each in intervals.per_task.items() if each is not None}
        return Success(rate, intervals.mean, per_task, completed)

    def write(self, folder: Path) -> Path:
        """Write `result.json` into a run's folder, whole or not at all. Raises StorageFailed."""
        path = folder / "result.json"
        text = self.model_dump_json(by_alias=True, indent=1) + "\n"
        try:
            with whole_file(path, mode=0o600) as file:
                file.write(text.encode())
        except OSError as error:
            raise StorageFailed(
                f"{path} cannot be written: {error.strerror}; what was committed is kept: "
                f"`reglue report {folder}` draws it, `reglue bench --resume {folder}` goes on"
            ) from error
        return path


def read_result(folder: Path | str) -> Result:
    """The score in a run's folder, or in a result.json, with the rows of the ledger beside it.

    Raises UsageError where there is none or it is broken.
    """
    folder = Path(folder)
    path = folder / "result.json" if folder.is_dir() else folder
    try:
        result = Result.model_validate_json(path.read_bytes())
        has_ledger = (path.parent / LEDGER).is_file()
        return result.with_episodes(Episodes(path.parent)) if has_ledger else result
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
