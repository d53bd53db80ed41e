"""Meta-World's evaluations as a benchmark program plays them, and as `reglue bench` does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from env_adapters.suites import suite_name
from reglue.agents.agent import Agent
from reglue.client import connect
from reglue.environments.slot_worlds import Worlds
from reglue.examples.expert import ExpertAgent
from reglue.examples.reach_adapt import ReachAdapt
from reglue.messages.environment_messages import Play, Played
from reglue.spec import TaskSpec
from reglue_bench.results.result import read_result
from tests.agent_clients.client_programs import run
from tests.glue_server.hubs import a_hub
from tests.reglue_bench.cli.commands import command

SEED = 3


@dataclass(frozen=True)
class Evaluation:
    """An agent that succeeds with some goals and fails with others, each time the same."""

    program: tuple[str, ...]  # arguments of metaworld_evaluation
    environment: str
    config: Mapping[str, Any]
    agent: Callable[[], Agent]
    bench: str  # arguments of `reglue bench` beside the environment


EVALUATIONS = {
    "meta-learning": Evaluation(
        ("meta-learning", "2", "1"),
        "ML1:reach-wall-v3",
        {"split": "test"},
        ReachAdapt,
        "--agent reach_adapt --num-evals 2 --meta-batch-size 1 --adaptation-episodes 1",
    ),
    "multi-task": Evaluation(
        ("multi-task", "1"),
        "MT10",
        {"one_hot": True},
        partial(ExpertAgent, task="push-v3"),
        "--agent expert --agent-arg task=push-v3 --num-episodes 1",
    ),
}


@dataclass
class Row:
    """An episode, as ledgers have it."""

    task: str
    variant: int
    phase: str
    success: bool = False
    steps: int = 0
    return_: float = 0.0


class Noted(Worlds):
    """Worlds in one slot that keep the rows of their episodes."""

    def env_init(self, slots: int) -> TaskSpec:
        self.rows: list[Row] = []
        return super().env_init(slots)

    def play(self, play: Play) -> Played:
        played = super().play(play)
        for success, reward in zip(played.success, played.rewards, strict=True):
            row = self.rows[-1]
            row.success |= bool(success)
            row.steps += 1
            row.return_ += float(reward)
        self.rows += [
            Row(cell.task, cell.variant, cell.phase.name.lower()) for cell in play.starts.values()
        ]
        return played


def plays_as_the_command(procedure: str, folder: Path, *program: str) -> None:
    """Raise AssertionError unless metaworld_evaluation, started so, plays the goals that `reglue
    bench` plays, with the same outcome of each.
    """
    evaluation = EVALUATIONS[procedure]
    words = f"{evaluation.environment} {evaluation.bench} --seed {SEED} --workers 0 --out run"
    assert command(f"reglue bench {words}", folder).code == 0
    driven = [
        Row(each.task, each.variant, each.phase, each.success, each.steps, each.return_)
        for each in read_result(folder / "run").episodes
    ]
    suite = suite_name(evaluation.environment, {**evaluation.config, "seed": SEED}).build()
    with ThreadPoolExecutor(2) as pool, a_hub() as (server, _):
        noted = Noted(suite)
        for role, peer in (("environment", noted), ("agent", evaluation.agent())):
            pool.submit(connect, peer, server.address, server.tokens[role])
        where = {"REGLUE_ADDRESS": server.address, "REGLUE_TOKEN": server.tokens["experiment"]}
        rate = float(run(*program, *evaluation.program, environment=where))
    assert noted.rows == driven
    judged = [row.success for row in driven if row.phase == "evaluate"]
    assert {*judged} == {False, True}
    assert rate == pytest.approx(sum(judged) / len(judged), abs=1e-5)
