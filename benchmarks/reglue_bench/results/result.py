"""The result of a run: the shape of `result.json`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, PrivateAttr, ValidationError

from reglue.errors import EnvironmentFault, StorageFailed, UsageError
from reglue_bench.plans.plan import difference, json_difference, title_of
from reglue_bench.procedures import PROCEDURES
from reglue_bench.results.episodes import EpisodeRow, Episodes
from reglue_bench.results.measure import MEASURES, Interval, Measure
from reglue_bench.results.whole_file import whole_file
from reglue_bench.run_folder import LEDGER
from reglue_bench.runs.notes import Ending, Repeat

_PLAYED = {"benchmark", "environment_args", "procedure", "parameters", "seed", "slots"}
"""Fields of a result that say what was played."""

NO_SCORE = frozenset({"missing", EnvironmentFault.status})
"""Statuses of a planned cell of which nothing is known: it was not played, or an environment failed
by itself. Any other that is not `ok` is a failure, and counts as one."""

Isolation = Literal["in process", "none", "remote", "user", "bubblewrap", "container"]
"""What kept an agent from the benchmark's files and memory, the weakest first.

`in process`: an object in the driver's own process. `none`: a program with the driver's
rights. `remote`: it connected by itself, so its host decides. Else a sandbox.
"""


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="null")


class AgentIdentity(_Record):
    """Which agent was judged; runs that differ in `training_seed` alone are one agent."""

    name: str  # the agent's own name
    label: str  # its name in reports
    checkpoint_sha256: str | None = None  # of the file that `checkpoint` names, hexadecimal
    training_seed: int | None = None  # of this checkpoint
    isolation: Isolation | None = None  # what isolated it; None: no agent has come


class Intervals(_Record):
    """95 % confidence intervals of the score; None: too few goals or episodes."""

    method: str  # how they are computed
    mean: Interval | None  # of the mean over tasks
    per_task: dict[str, Interval | None]  # of each task's score


class Rates(_Record):
    """Success rates, 0 to 1."""

    mean_success_rate: float  # mean over tasks
    success_rate_per_task: dict[str, float]


class UpstreamScore(_Record):
    """The score that `metaworld.evaluation` gives the same episodes: see `upstream`."""

    mean_success_rate: float  # mean over tasks, 0 to 1
    mean_return: float | None  # over the episodes that count; None if there are none
    success_rate_per_task: dict[str, float]


class Coverage(_Record):
    """How much of the plan, and of the benchmark's goals, was played."""

    cells_planned: int  # evaluation episodes; online: runs
    cells_completed: int  # played to their end
    cells_succeeded: int = 0  # of the completed
    goals_planned: int  # distinct (task, variant)
    goals_total: int  # distinct (task, variant) of the benchmark
    episodes_planned: dict[str, dict[int, int]] = {}  # by task and variant; empty online


class StepCounts(_Record):
    """Environment steps."""

    counted: int  # in the rows
    executed: int  # all that were simulated, also in tries that do not count


class Seconds(_Record):
    """Time spent, summed over the sessions of a run."""

    wall: float  # in all
    agent: float  # waiting for the agent
    environment: float  # waiting for environments
    glue: float  # the rest


class FaultCount(_Record):
    """Episodes of any phase that ended by the same fault."""

    status: str  # agent_error, agent_timeout, environment_error, crashed, …
    detail: str  # the first line of the error
    count: int  # of episodes

    def __str__(self) -> str:
        """`3 × environment_error: ZeroDivisionError: division by zero`."""
        return f"{self.count} × {self.status}: {self.detail}"


class Recorded(_Record):
    """What a run's dataset holds of the episodes that have steps, of all phases."""

    episodes: int  # that are in it
    lost: int  # that are not: the disk was full, or they were played without --record


class Event(_Record):
    """Something that befell a run and did not change its rows."""

    what: str  # such as: a process died, or an observation lay outside of its bounds
    count: int  # how often


class LearningRun(_Record):
    """One independent run of an agent that learns."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    run: int  # its number, from 0
    attempt: int = Field(alias="try")  # how often it was played before
    status: str  # ok: played to its end; missing; or the fault that ended it
    performance: float | None
    """Mean of what is measured; the plan's worst performance if the agent's own fault or a crash
    ended the run; None if the run is missing, an environment ended it, or no worst performance is
    known."""
    episodes: int  # that were begun
    steps: int  # in all episodes
    successes: int  # episodes with success; 0 if the environment never reports it
    line: list[float]  # return of each episode; or mean reward of each bin of steps
    episode_steps: list[int]  # of each episode; empty if runs are counted in steps


class Curve(_Record):
    """Means over the completed runs, point by point."""

    at: list[int]  # the episode, from 1; or the last step of a bin
    mean: list[float]  # over the completed runs
    interval95: list[Interval]  # Student's, of each mean; empty below two runs


class OnlineScore(_Record):
    """How an agent did while it learned, over independent runs."""

    counted_in: Literal["episodes", "steps"]  # what `quota` counts
    quota: int  # how long each run is
    metric: str  # what is measured: all, or final:N
    fresh_agent: Literal["process", "agent_init"]  # what makes each run's agent naive
    performance: float | None  # mean over all planned runs; None: see `withheld`
    interval95: Interval | None  # Student's, over all planned runs; None below two
    withheld: str = ""  # why there is no performance
    worst_performance: float | None = None  # of runs that were not played to their end
    completed_only: float | None  # mean over the runs played to their end; not to be ranked
    runs: list[LearningRun]  # all that were planned
    curve: Curve  # of the completed runs' lines
    episode_steps: Curve | None  # steps of each episode; None if runs are counted in steps

    @property
    def completed(self) -> list[LearningRun]:
        """The runs that were played to their end."""
        return [run for run in self.runs if run.status == "ok"]

    @property
    def given_up(self) -> list[LearningRun]:
        """The runs that the agent's own fault or a crash ended, scored as the worst."""
        return [run for run in self.runs if run.status != "ok" and run.performance is not None]


class StepCurve(_Record):
    """Episodes that were played to their end, by steps of training."""

    at: list[int]  # of each point: the last step of a bin, or the steps before a checkpoint
    episodes: list[int]  # of each point
    mean_return: list[float | None]  # of each point's episodes; None: there are none
    success_rate: list[float | None]  # 0 to 1; empty if the environment never reports success


class TrainingScore(_Record):
    """How an agent did while it trained, before it was frozen and judged."""

    steps: int  # that it was to train for, over all slots
    steps_taken: int
    episodes: int  # that it trained on
    episodes_abandoned: int  # by the agent, which is no fault here; their steps count
    curve: StepCurve  # of the episodes that it trained on, without those that were cut short
    checkpoints: StepCurve | None  # of the fixed episodes in between; None: there are none


class Success(NamedTuple):
    """The figures of success; rates are 0 to 1."""

    rate: float  # mean over tasks, of planned episodes
    interval95: Interval
    intervals95_per_task: Mapping[str, Interval]
    completed_only: Rates


class Result(_Record):
    """A run's score. Denominators are planned cells: a missing one is a failure.

    An online benchmark is scored in `online`: the figures of success and of returns of
    judged episodes are None or empty. Rows are in the run's ledger: see `episodes`.
    """

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
    privileged: list[str]  # what the agent was told that the benchmark hides; empty: nothing
    mean_success_rate: float | None  # mean of `success_rate_per_task`; None if not judged by it
    mean_return: float | None  # mean of `returns_per_task`; None if one of them is None
    success_rate_per_task: dict[str, float]  # over planned episodes, 0 to 1
    returns_per_task: dict[str, float | None]
    """Mean over a task's goals of each goal's planned episodes. An episode that was not played to
    its end counts as the plan's worst performance; None if there is such an episode and no worst
    performance is known."""
    intervals95: Intervals | None  # of success, or of returns if judged by them; None online
    success_intervals95: Intervals | None = None  # of success that is told beside the score
    completed_only: Rates | None  # success over the episodes that were played to their end
    before_adaptation: Rates | None  # success before adapting, if that was judged
    online: OnlineScore | None = None  # the score of an online benchmark
    training: TrainingScore | None = None  # of an agent that was trained first
    upstream: UpstreamScore | None = None  # of runs with --estimator metaworld
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
    repeats: tuple[Repeat, ...] = ()  # at the run's end, one each of who was tried again
    events: list[Event] = []  # what befell the run and changed no row, over all sessions
    _episodes: Iterable[EpisodeRow] | None = PrivateAttr(None)

    @property
    def episodes(self) -> Iterable[EpisodeRow]:
        """A row for each episode, in the order of units and cells; may be iterated repeatedly.

        Raises UsageError if there is no ledger to read them from.
        """
        if self._episodes is None:
            raise UsageError(
                f"{self.agent.label} on {self.benchmark}: this needs the run's episodes, which are "
                "in its ledger.sqlite; got result.json alone, which holds the score"
            )
        return self._episodes

    @property
    def repeatable(self) -> bool | None:
        """Whether what was tried again at the run's end was the same to the bit.

        The environment plays an episode again, by its actions; a frozen agent answers its first
        turns again. False: scores cannot be repeated, because of one of them. None: not known.
        """
        found = [each.repeatable for each in self.repeats]
        if False in found:
            return False
        return None if None in found or not found else True

    @property
    def has_episodes(self) -> bool:
        """Whether there is a ledger to read them from."""
        return self._episodes is not None

    def differences(self, other: Result, *, called: tuple[str, str]) -> list[str]:
        """What it played that `other` did not, one line each, as of their plans.

        Without ledgers, which hold these, only as far as the results say.
        """
        ours, theirs = self._episodes, other._episodes
        if isinstance(ours, Episodes) and isinstance(theirs, Episodes):
            return difference(ours.plan, theirs.plan, called=called)
        said = (each.model_dump(mode="json", include=_PLAYED) for each in (self, other))
        return json_difference(*said, called=called)

    def with_episodes(self, episodes: Iterable[EpisodeRow]) -> Self:
        """The same result, with these rows."""
        found = self.model_copy()
        found._episodes = episodes
        return found

    @property
    def title(self) -> str:
        """The benchmark, and its environment as far as the name does not say it."""
        return title_of(self.benchmark, self.parameters, self.environment_args)

    @property
    def measured_by(self) -> str:
        """The name of its measure: a key of MEASURES, and of renderers."""
        return PROCEDURES[self.procedure].measured_by(self.parameters)

    @property
    def measure(self) -> Measure:
        """What it is judged by."""
        return MEASURES[self.measured_by]

    @property
    def score(self) -> tuple[float | None, Interval | None]:
        """What it is judged by, and its 95 % interval; None if there is none."""
        return self.measure.score(self)

    @property
    def interval95(self) -> Interval | None:
        """The 95 % interval of the score; None for too few episodes or equal returns."""
        return self.score[1]

    def __str__(self) -> str:
        """The headline: who, on what, the score and its interval; then a line for each fault."""
        (score, interval), measure = self.score, self.measure
        told = "no score" if score is None else measure.amount(score)
        words = f"{self.agent.label} on {self.title}: {measure.name} {told}"
        if interval is not None:
            words += f", 95 % interval {measure.amounts(interval)}"
        coverage, what = self.coverage, measure.planned
        if coverage.cells_completed < coverage.cells_planned:
            words += f" ({coverage.cells_completed} of {coverage.cells_planned} {what} played)"
        else:
            words += f" ({coverage.cells_planned} {what})"
        return "\n".join([words, *map(str, self.faults)])

    @property
    def success(self) -> Success:
        """The figures of success. Raises UsageError if success is not the score."""
        rate, intervals, completed = self.mean_success_rate, self.intervals95, self.completed_only
        is_score = self.parameters.get("judged_by") != "return"
        if (
            not is_score
            or rate is None
            or intervals is None
            or intervals.mean is None
            or completed is None
        ):
            raise UsageError(
                f"{self.benchmark} is judged by its {self.measure.name}, not by success"
            )
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
