"""What the glue is asked to play, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass

from env_adapters import Cell


@dataclass(frozen=True, slots=True)
class Order:
    """An episode to play; `unit` and `k` say where in the plan it stands."""

    unit: int
    k: int
    cell: Cell
    start_seed: int  # for the agent, opaque, 64 bits
    max_steps: int = 0  # cut the episode off after so many steps; 0 means no limit


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of an order."""

    order: Order
    status: str  # ok, or whose fault it was: see reglue_bench.results.result.EpisodeRow
    success: bool = False  # the task's flag was up at some step
    return_: float = 0.0  # sum of rewards in the order of steps, task units
    steps: int = 0
    clipped: int = 0  # steps whose action lay out of bounds
    actions: bytes = b""  # every action as on the wire, step by step
    rewards: bytes = b""  # every reward, little-endian float64, step by step
    detail: str = ""  # what happened, for people, where status is not ok
