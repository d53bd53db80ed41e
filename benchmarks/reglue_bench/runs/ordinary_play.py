"""Plays an episode of ordinary actions, to see what an environment shows and whether it ends."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from glue_server import EpisodeRunner, LocalPort, Order, Timeouts
from reglue.agents.agent import Agent
from reglue.messages.agent_messages import Ends, Phase, Starts, Steps
from reglue.rng import Rng
from reglue.spec import Arrays, TaskSpec
from reglue_bench.engines.run_environments import make_environment
from reglue_bench.planning.resolve import suite_of
from reglue_bench.plans.keys import cell_key
from reglue_bench.plans.plan import Plan
from reglue_bench.procedures import procedure_of
from reglue_bench.procedures.procedure import or_default
from reglue_bench.settings import Settings


@dataclass(frozen=True, slots=True)
class Shown:
    """What an episode showed."""

    observations: int
    nan: int  # how many of them held NaN
    horizon: int  # steps to truncation, as the environment declares it; 0: no limit


def ordinary_play(plan: Plan, settings: Settings, folder: Path, *, steps: int) -> Shown:
    """Play the plan's first cell for `steps` steps at most, by actions within their domains.

    `folder` is for what workers print. Raises UsageError, EnvironmentFault.
    """
    environment = make_environment(
        suite_of(plan, settings),
        1,
        workers=min(1, or_default(settings.workers, 1)),
        log_file=folder / "ordinary.log",
        timeout_s=settings.environment_timeout,
    )
    procedure = procedure_of(plan)
    order = plan.order(0, procedure.cell(0, 0), b"", cell_key(settings.secret))
    orders = [Order(0, 0, order.cell, start_seed=0, max_steps=steps)]
    looks = _Looks()
    with closing(environment):
        glue = EpisodeRunner(LocalPort(looks, "looks"), environment, timeouts=Timeouts())
        glue.init()
        glue.freeze()
        for _ in glue.play(lambda _: orders.pop() if orders else None, Phase.EVALUATE):
            pass
        glue.cleanup()
    return Shown(looks.seen, looks.nan, glue.spec.horizon)


class _Looks(Agent):
    """Samples actions, and counts what it sees."""

    def agent_init(self, spec: TaskSpec) -> None:
        self._rng = np.random.Generator(Rng(0).bits)
        self.seen = self.nan = 0

    def agent_start(self, observations: Arrays, starts: Starts) -> Arrays:
        return self._look(observations)

    def agent_step(
        self, rewards: npt.NDArray[np.float64], observations: Arrays, steps: Steps
    ) -> Arrays:
        return self._look(observations)

    def agent_end(self, rewards: npt.NDArray[np.float64], observations: Arrays, ends: Ends) -> None:
        self._look(observations)

    def _look(self, observations: Arrays) -> Arrays:
        self.seen += 1
        self.nan += any(np.isnan(rows).any() for rows in observations.values())
        return {tensor.name: tensor.sample(self._rng)[None] for tensor in self.spec.actions}
