"""Plays an episode of ordinary actions, to see what an environment shows and whether it ends."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from env_adapters import Cell
from glue_server import EpisodeRunner, LocalPort, Order, Outcome, Timeouts
from reglue.agents.agent import Agent
from reglue.messages.agent_messages import Ends, Phase, Starts, Steps
from reglue.rng import Rng
from reglue.spec import Arrays, TaskSpec
from reglue_bench.benchmark.benchmark import suite_of
from reglue_bench.engines.run_environments import make_environment
from reglue_bench.plans.keys import cell_key
from reglue_bench.plans.plan import Plan
from reglue_bench.procedures import procedure_of
from reglue_bench.procedures.procedure import or_default
from reglue_bench.settings import Settings


@dataclass(frozen=True, slots=True)
class Shown:
    """Findings about an episode."""

    observations: int
    nan: int  # how many of them held NaN
    horizon: int  # steps to truncation, as the environment declares it; 0: no limit


def ordinary_play(plan: Plan, settings: Settings, folder: Path, *, steps: int) -> Shown:
    """Play the plan's first cell for `steps` steps at most, by actions within their domains.

    `folder` is for what workers print. Raises UsageError, EnvironmentFault.
    """
    looks = _Looks()
    [cell] = cells_of(plan, settings, [0])
    order = Order(0, 0, cell, start_seed=0, max_steps=steps)
    spec, _ = play_alone(looks, [order], plan, settings, folder / "ordinary.log")
    return Shown(looks.seen, looks.nan, spec.horizon)


def cells_of(plan: Plan, settings: Settings, units: Iterable[int]) -> list[Cell]:
    """The first cell of each of these units of a plan."""
    procedure, key = procedure_of(plan), cell_key(settings.secret)
    return [plan.order(unit, procedure.cell(unit, 0), b"", key).cell for unit in units]


def play_alone(
    agent: Agent, orders: Iterable[Order], plan: Plan, settings: Settings, log_file: Path
) -> tuple[TaskSpec, list[Outcome]]:
    """Play episodes of a plan's suite in one slot, outside of any run, with a frozen agent.

    `log_file` is for what workers print. Raises UsageError, EnvironmentFault.
    """
    environment = make_environment(
        suite_of(plan, settings),
        1,
        workers=min(1, or_default(settings.workers, 1)),
        log_file=log_file,
        timeout_s=settings.environment_timeout,
    )
    left = iter(orders)
    with closing(environment):
        glue = EpisodeRunner(LocalPort(agent, log_file.stem), environment, timeouts=Timeouts())
        glue.init()
        glue.freeze()
        outcomes = list(glue.play(lambda _slot: next(left, None), Phase.EVALUATE))
        glue.cleanup()
    return glue.spec, outcomes


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
