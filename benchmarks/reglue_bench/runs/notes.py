"""What a run notes beside its rows."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel


class Repeat(BaseModel, frozen=True, extra="forbid"):
    """What came of playing an episode again at the run's end, or of asking the agent again."""

    who: Literal["environment", "agent"]
    repeatable: bool | None  # it did the same to the bit; None: it could not be tried
    what: str  # what was tried again; where it first differs; or why nothing was


class Ending(BaseModel, frozen=True, extra="forbid"):
    """What ended a run before its plan was played."""

    status: str  # whose fault: agent_error, agent_timeout, agent_disconnected, interrupted, …
    what: str  # the error, or how to continue
