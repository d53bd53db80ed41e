"""Every classic environment, played; `main` goes on from kept states in another process."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from typing import Any

import numpy as np

from env_adapters import Cell, SuiteName
from env_adapters.classic.sample_model import ClassicWorld
from env_adapters.suites import suite_name
from reglue.messages.agent_messages import Phase
from reglue.rng import Rng

Bits = tuple[str, float, bool, bool, bool]

SUITES = {
    "gridworld": suite_name("gridworld"),
    "gridworld with more": suite_name(
        "gridworld", {"kings_moves": True, "stochastic_wind": True, "horizon": 200}
    ),
    "mountain-car": suite_name("mountain-car"),
    "mountain-car with a horizon": suite_name("mountain-car", {"horizon": 150}),
    "access-control": suite_name("access-control"),
}
"""By a name for tests."""


def world(name: str) -> ClassicWorld[Any]:
    made = SUITES[name].build().world()
    assert isinstance(made, ClassicWorld)
    return made


def cell_of(name: str, seed: int = 3, repeat: int = 4) -> Cell:
    (task,) = SUITES[name].build().variants
    return Cell(task, 0, seed, repeat, Phase.TRAIN)


def random_actions(name: str, count: int, seed: int = 0) -> list[int]:
    domain: Any = SUITES[name].build().spec.actions[0].domain
    rng = Rng(seed)
    return [rng.below(domain.n) for _ in range(count)]


def play(player: ClassicWorld[Any], actions: Iterable[int]) -> list[Bits]:
    """Every bit of these steps, up to the end of the episode."""
    bits: list[Bits] = []
    for action in actions:
        step = player.step({"action": np.array(action)})
        seen = step.observation["observation"].tobytes().hex()
        bits.append((seen, step.reward, step.terminated, step.truncated, step.success))
        if step.terminated or step.truncated:
            break
    return bits


def main() -> None:
    """Each line of the input is a job: a suite, a state, actions; the output is their bits."""
    for line in sys.stdin:
        job = json.loads(line)
        player: Any = SuiteName(job["factory"], job["config"]).build().world()
        player.set_state(bytes.fromhex(job["state"]))
        print(json.dumps(play(player, job["actions"])))
