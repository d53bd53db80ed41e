"""The declaration of an environment that connects by itself, from which its plan is made."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Self

from env_adapters import SuiteName
from reglue.errors import PlanDiffers
from reglue.messages.environment_messages import EnvironmentHello, EnvironmentReady
from reglue_bench.plans.environment_facts import EnvironmentFacts
from reglue_bench.plans.plan import Plan, difference

WAIT = "wait"
"""The environment's name in `online:wait`: one that connects by itself."""


@dataclass(frozen=True, slots=True)
class Declared:
    """An environment's declaration of itself."""

    name: str  # from its hello
    spec_sha256: str  # of its TaskSpec, hexadecimal; slots are the plan's and not in it
    variants: Mapping[str, int]  # its tasks, in their order, and how many variants each has
    reward_low: float = -math.inf  # of one step
    horizon: int = 0  # steps to truncation; 0: no limit
    continuing: bool = False
    tells_success: bool = True
    repeatable: bool = True

    @classmethod
    def of(cls, hello: EnvironmentHello, ready: EnvironmentReady) -> Self:
        """The declaration in the environment's hello and its answer to env_init."""
        spec = json.dumps(asdict(ready.spec.with_slots(1)), separators=(",", ":"))
        digest = hashlib.sha256(spec.encode()).hexdigest()
        return cls(
            hello.environment,
            digest,
            dict(ready.variants),
            ready.spec.reward_range[0],
            ready.spec.horizon,
            ready.spec.continuing,
            ready.tells_success,
            ready.repeatable,
        )

    @classmethod
    def in_plan(cls, plan: Plan) -> Self:
        """The declaration in a run's plan. Raises PlanDiffers if the plan has none."""
        if not is_remote(plan):
            raise PlanDiffers(
                f"this run was begun with another benchmark: {plan.benchmark}, whose "
                "environment does not connect by itself"
            )
        config = plan.suite.config
        low = config["reward_low"]
        return cls(
            str(config["name"]),
            str(config["spec_sha256"]),
            plan.variants,
            -math.inf if low is None else float(low),
            int(config["horizon"]),
            continuing=bool(config.get("continuing", False)),
            tells_success=bool(config.get("tells_success", True)),
            repeatable=declared_repeatable(plan),
        )

    @property
    def suite(self) -> SuiteName:
        """The plan's entry for an environment that connects, in place of a suite that we build."""
        config = {
            "name": self.name,
            "spec_sha256": self.spec_sha256,
            "reward_low": self.reward_low if math.isfinite(self.reward_low) else None,
            "horizon": self.horizon,
            "variants": dict(self.variants),
        }
        if self.continuing:
            config["continuing"] = True
        if not self.tells_success:
            config["tells_success"] = False
        if not self.repeatable:
            config["repeatable"] = False
        return SuiteName(WAIT, config)

    @property
    def facts(self) -> EnvironmentFacts:
        """The facts of which a plan is made."""
        return EnvironmentFacts(
            suite=self.suite,
            variants=self.variants,
            reward_low=self.reward_low,
            horizon=self.horizon,
            continuing=self.continuing,
            tells_success=self.tells_success,
            repeatable=self.repeatable,
            parameters={"environment": self.name},
        )


def declared_repeatable(plan: Plan) -> bool:
    """False if the plan's environment says that its cells do not decide its episodes."""
    said = plan.suite.config if is_remote(plan) else plan.parameters
    return bool(said.get("repeatable", True))


def is_remote(plan: Plan) -> bool:
    """Whether the plan's environment connects by itself."""
    return plan.suite.factory == WAIT


def check_declared(plan: Plan, declared: Declared) -> None:
    """Raise PlanDiffers, naming each difference, unless the plan is made of that."""
    now = replace(plan, suite=declared.suite)
    if lines := difference(plan, now):
        raise PlanDiffers(
            "the environment that connected is not the one that this run was begun with; "
            + "; ".join(lines)
        )
