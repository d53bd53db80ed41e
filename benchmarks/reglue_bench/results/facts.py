"""Facts of a run beside its score: parts of `result.json`."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

Isolation = Literal["in process", "none", "remote", "user", "bubblewrap", "container"]
"""Kinds of isolation of an agent from the benchmark's files and memory, the weakest first.

`in process`: an object in the driver's own process. `none`: a program with the driver's
rights. `remote`: it connected by itself, so its host decides. Else a sandbox.
"""


class Record(BaseModel):
    """A part of a result, as JSON has it."""

    # JSON has no NaN and no infinity: what is written can be read.
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class AgentIdentity(Record):
    """The agent that was judged; runs that differ in `training_seed` alone are one agent."""

    name: str  # the agent's own name
    label: str  # its name in reports
    checkpoint_sha256: str | None = None  # of the file that `checkpoint` names, hexadecimal
    training_seed: int | None = None  # of this checkpoint
    isolation: Isolation | None = None  # what isolated it; None: no agent has come


class Coverage(Record):
    """The part of the plan, and of the benchmark's goals, that was played."""

    cells_planned: int  # evaluation episodes; online: runs
    cells_completed: int  # played to their end
    cells_succeeded: int = 0  # of the completed
    goals_planned: int  # distinct (task, variant)
    goals_total: int  # distinct (task, variant) of the benchmark
    episodes_planned: dict[str, dict[int, int]] = {}  # by task and variant; empty online


class StepCounts(Record):
    """Environment steps."""

    counted: int  # in the rows
    executed: int  # all that were simulated, also in tries that do not count


class Seconds(Record):
    """Time spent, summed over the sessions of a run."""

    wall: float  # in all
    agent: float  # waiting for the agent
    environment: float  # waiting for environments
    glue: float  # the rest


class FaultCount(Record):
    """Episodes of any phase that ended by the same fault."""

    status: str  # agent_error, agent_timeout, environment_error, crashed, …
    detail: str  # the first line of the error
    count: int  # of episodes

    def __str__(self) -> str:
        """`3 × environment_error: ZeroDivisionError: division by zero`."""
        return f"{self.count} × {self.status}" + f": {self.detail}" * bool(self.detail)


class Recorded(Record):
    """The part of a run's episodes with steps, of all phases, that its dataset holds."""

    episodes: int  # that are in it
    lost: int  # that are not: the disk was full, or they were played without --record


class Event(Record):
    """Something that happened during a run and changed no row."""

    what: str  # such as: a process died, or an observation lay outside of its bounds
    count: int  # how often
