"""Notes of a run beside its rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel

from glue_server import LocalEnvironmentPort
from reglue.errors import setting
from reglue_bench.runs.ledger import ENDED_EARLY
from reglue_bench.settings import Settings


class Repeat(BaseModel, frozen=True, extra="forbid"):
    """The result of playing an episode again at the run's end, or of asking the agent again."""

    who: Literal["environment", "agent"]
    repeatable: bool | None  # it did the same to the bit; None: it could not be tried
    what: str  # what was tried again; where it first differs; or why nothing was
    declared: bool = False  # not repeatable by its own declaration: nothing was tried

    def __str__(self) -> str:
        """The reason why somebody is not repeatable, with advice; or why it is not known."""
        if self.repeatable is None:
            return f"the {self.who} is not known to be repeatable: {self.what}"
        if self.repeatable:
            return f"the {self.who} is repeatable: {self.what}"
        if self.declared:
            return f"not repeatable: {self.what}"
        how, advice = _BLAMES[self.who]
        return f"not repeatable, because of the {self.who}: {how}; {self.what}; {advice}"


_BLAMES = {
    "environment": (
        "it did not play the same actions alike",
        "have it draw all random numbers from the seed of reset (of its cell), and keep nothing "
        "from one episode to the next",
    ),
    "agent": (
        "it did not answer its first turns alike when it was asked them again",
        "have it draw all random numbers from its start seeds (starts.seeds), and keep nothing "
        "from one episode to the next while it is frozen",
    ),
}


class Ending(BaseModel, frozen=True, extra="forbid"):
    """The reason why a run ended before its plan was played."""

    status: str  # whose fault: agent_error, agent_timeout, agent_disconnected, interrupted, …
    what: str  # the error, or how to continue

    def __str__(self) -> str:
        """`agent_error: KeyError`, or `interrupted; …`."""
        return self.what if self.what.startswith(self.status) else f"{self.status}: {self.what}"


def ending_of(about: Mapping[str, str]) -> Ending | None:
    """The early end of a run's last session, from its ledger's `about`."""
    text = about.get(ENDED_EARLY)
    return Ending.model_validate_json(text) if text else None


def limits_text(settings: Settings, where: str) -> str:
    """The limits on a step of environments that are played `where`, and of an agent."""
    if where == LocalEnvironmentPort.where:
        environment = (
            "an environment in this process has no time limit, and only Ctrl-C ends one that hangs "
            f"({setting('workers', 1)} limits its time)"
        )
    else:
        environment = (
            f"an environment may take {settings.environment_timeout:g} s for a step "
            "(environment timeout)"
        )
    if not (settings.agent or settings.agent_cmd):
        return f"{environment}; an agent in this process has none"
    return (
        f"{environment}; an agent {settings.step_timeout:g} s (step timeout), "
        f"{settings.first_step_timeout:g} s for its first (first step timeout)"
    )
