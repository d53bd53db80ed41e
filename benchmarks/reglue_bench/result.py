"""What a run says at its end: the shape of `result.json`."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from reglue.errors import UsageError

Interval = tuple[float, float]


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="null")


class AgentIdentity(_Record):
    """Which agent was judged; runs that differ in `training_seed` alone are one agent."""

    name: str  # as the agent calls itself
    label: str  # as the report calls it
    checkpoint_sha256: str | None = None
    training_seed: int | None = None


class Intervals(_Record):
    """95 % confidence intervals of success rates, 0 to 1."""

    method: str
    mean_success_rate: Interval
    success_rate_per_task: dict[str, Interval]


class Rates(_Record):
    """Success rates, 0 to 1."""

    mean_success_rate: float
    success_rate_per_task: dict[str, float]


class Coverage(_Record):
    """How much of the plan, and of the benchmark's goals, was played."""

    cells_planned: int  # evaluation episodes
    cells_completed: int
    goals_planned: int  # distinct (task, variant)
    goals_total: int  # what the benchmark has


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


class EpisodeRow(_Record):
    """The outcome of one cell; the unit's last complete try."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    unit: int
    k: int
    attempt: int = Field(alias="try")
    task: str
    variant: int
    repeat: int
    phase: Literal["train", "adapt", "evaluate_before", "evaluate"]
    status: Literal[
        "ok",
        "agent_error",
        "agent_timeout",
        "agent_disconnected",
        "agent_abandoned",
        "environment_error",
    ]
    success: bool
    return_: float = Field(alias="return")
    steps: int


class Result(_Record):
    """A run's score. Denominators are planned cells: a missing one is a failure."""

    benchmark: str
    procedure: str
    parameters: dict[str, bool | int | float | str | list[str] | None]
    seed: int
    slots: int
    plan_sha256: str
    goals_sha256: str  # runs that share it mean the same by a task's variant
    agent: AgentIdentity
    complete: bool  # every planned cell has a row
    ended_early: Ending | None = None
    baseline: list[str]  # what this run was told that the benchmark hides; empty: nothing
    mean_success_rate: float
    mean_returns: float | None  # over episodes that were played; None if none was
    success_rate_per_task: dict[str, float]
    returns_per_task: dict[str, float | None]
    episode_returns_per_task: dict[str, list[float]]
    intervals95: Intervals
    completed_only: Rates
    before_adaptation: Rates | None
    coverage: Coverage
    status_counts: dict[str, int]  # of evaluation cells, `missing` among them
    faults: list[FaultCount] = []  # of all phases, the commonest first
    clipped_steps: int
    steps: StepCounts
    seconds: Seconds
    versions: dict[str, str]
    episodes: list[EpisodeRow]

    def write(self, folder: Path) -> Path:
        """Write `result.json` into a run's folder, whole or not at all."""
        path = folder / "result.json"
        draft = path.with_suffix(".json.tmp")
        draft.write_text(self.model_dump_json(by_alias=True, indent=1) + "\n", encoding="utf-8")
        draft.replace(path)
        return path


def read_result(folder: Path) -> Result:
    """The result of a run's folder. Raises UsageError where there is none or it is broken."""
    path = folder / "result.json" if folder.is_dir() else folder
    try:
        return Result.model_validate_json(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(
            f"{folder} holds no result.json; `reglue bench --resume {folder}` finishes a run"
        ) from error
    except ValidationError as error:
        raise UsageError(f"{path} is not a result of this version: {error}") from error
