"""What an environment's process on another machine is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from reglue_bench.engines.files import sent_along
from reglue_bench.plans.plan import Plan
from reglue_bench.settings import Settings

PROCESS = "reglue_bench.placement.environment_process"


@dataclass(frozen=True, slots=True)
class EnvironmentTold:
    """Which environment to make, and where to connect."""

    settings: Mapping[str, Any]  # of Settings, without secrets and agent
    plan: str  # JSON, as the ledger has it
    join: str  # the join string, with a token of its own
    facts: Mapping[str, str] = field(default_factory=dict)  # that must hold there too: see `facts`
    files: Mapping[str, int] = field(default_factory=dict)  # name -> bytes of it in `bodies`
    bodies: bytes = b""  # of files, one after another: a frame's body

    @classmethod
    def of(cls, plan: Plan, settings: Settings) -> EnvironmentTold:
        """Without `join`, which each process has of its own. Raises UsageError: too many files."""
        nobody: dict[str, Any] = {"agent": None, "agent_cmd": None, "agent_args": {}}
        own = settings.without_secrets().model_copy(update=nobody)
        return cls(
            settings=own.model_dump(mode="json"),
            plan=plan.to_json(),
            join="",
            **sent_along(own, plan),
        )

    def to_json(self) -> dict[str, Any]:
        """As a frame's head."""
        return {each.name: getattr(self, each.name) for each in fields(self)[:-1]}
