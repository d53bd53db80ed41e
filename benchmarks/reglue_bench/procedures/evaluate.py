"""Evaluation of a frozen policy: its mean return over episodes of known seeds.

What Stable-Baselines3's `evaluate_policy` does with an environment that is reset with the same
seeds; the returns are equal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

from reglue.errors import UsageError, setting
from reglue_bench.plan_settings import PlanSettings
from reglue_bench.plans.keys import PUBLIC
from reglue_bench.plans.plan import Parameter, Plan, PlanCell
from reglue_bench.procedures.multi_task import MultiTask
from reglue_bench.procedures.procedure import or_default

DEFAULT_EPISODES = 100

REHEARSED_STEPS = 50

_SEEDS = 2**31  # some environments' own generators take no more


class Evaluate(MultiTask):
    """A unit is one episode, played to the environment's own end: success does not end it.

    Episode n of a task is reset with the plan's seed + n, so that all runs of one seed play the
    same episodes, whatever their number; with a secret the seeds are keyed. It plays variant n mod
    V.
    """

    about = "a frozen agent's mean return over seeded episodes"
    compares_goals = False
    counted_by: ClassVar[str] = "reglue_bench.terminal.tally:ReturnTally"

    @classmethod
    def parameters(
        cls, settings: PlanSettings, variants: Mapping[str, int]
    ) -> dict[str, Parameter]:
        """100 episodes of each task, or one for each variant if there are more."""
        most = max(DEFAULT_EPISODES, *variants.values())
        episodes = or_default(settings.num_episodes, most)
        with_defaults = settings.model_copy(update={"num_episodes": episodes})
        return super().parameters(with_defaults, variants)

    @classmethod
    def of(cls, plan: Plan) -> Self:
        """Raises UsageError for resets by larger seeds than all environments take."""
        episodes = int(plan.parameters["num_episodes"])
        last = plan.seed + episodes - 1
        if last >= _SEEDS and plan.cells == PUBLIC:
            raise UsageError(
                got=(
                    f"{setting('seed', plan.seed)} and {episodes} episodes, whose last "
                    f"is reset with seed {last}"
                ),
                wanted=f"a seed below {_SEEDS - episodes + 1}",
            )
        return super().of(plan)

    @classmethod
    def judged_by(cls, *, tells_success: bool) -> dict[str, Parameter]:
        """Judge by the return, and report success beside it."""
        return {"judged_by": "return", "tells_success": tells_success}

    @classmethod
    def rehearsal(cls, plan: Plan) -> dict[str, object]:
        """Enough short episodes to use each slot twice."""
        return {**super().rehearsal(plan), "episode_limit": REHEARSED_STEPS}

    def cells(self, unit: int) -> Sequence[PlanCell]:
        episode, place = divmod(unit, len(self._tasks))
        task = self._tasks[place]
        repeat, variant = divmod(episode, self._variants[task])
        return (PlanCell(0, task, variant, repeat, "evaluate", reset=episode),)

    @classmethod
    def measured_by(cls, _parameters: Mapping[str, Any]) -> str:
        """The mean return over episodes of known seeds."""
        return "reglue_bench.renderers.kinds:SEEDED_RETURN"
