"""Draws the pictures of docs/how-to/rollouts.md and docs/explanation/autoreset.md.

    python -m docs.pictures.rollouts

They show what `reglue.rollouts` returned for two small environments, so a test can compare.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import SyncVectorEnv

from docs.pictures.svg import BLUE, EPISODES, FAINT, INK, RED, Drawing
from reglue.rollouts import (
    Rollout,
    collect_episodes,
    collect_steps,
    transitions,
)
from reglue.spec import Array

FOLDER = Path(__file__).parents[1] / "assets/rollouts"

ROW, CELL, GAP = 46, 184, 46  # pixels: a row's height, a column's width, and between columns
TOP, LEFT = 66, 74


class Toy(gymnasium.Env[Array, Any]):
    """Episodes of `length` steps; the observation is 100 · episode + step, the reward the step."""

    action_space = gymnasium.spaces.Discrete(100)
    observation_space = gymnasium.spaces.Box(0, 1e6, (1,), np.float32)

    def __init__(self, length: int, truncates: bool) -> None:
        self.length, self.truncates = length, truncates
        self.episode, self.time = -1, 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Array, Any]:
        """The next episode."""
        self.episode, self.time = self.episode + 1, 0
        return self._seen(), {}

    def step(self, action: int) -> tuple[Array, float, bool, bool, Any]:
        """Whatever the action."""
        self.time += 1
        ends = self.time == self.length
        reward = float(self.time)
        return self._seen(), reward, ends and not self.truncates, ends and self.truncates, {}

    def _seen(self) -> Array:
        return np.array([100 * self.episode + self.time], np.float32)


def toys(mode: str) -> SyncVectorEnv:
    """Episodes of two steps that terminate, and of four steps that are truncated."""
    return SyncVectorEnv([partial(Toy, 2, False), partial(Toy, 4, True)], autoreset_mode=mode)


def policy(observations: Array) -> Array:
    """Action 10 · step, so that an action can be told from a reward."""
    return (observations[:, 0] % 100).astype(int) * 10


def pictures() -> dict[str, str]:
    """SVG by name."""
    return {
        "rows": str(rows()),
        "episodes": str(episodes()),
        "next-step": str(next_step()),
        "same-step": str(same_step()),
        "epochs": str(epochs()),
        "transitions": str(pairs()),
    }


def rows() -> Drawing:
    """The row that holds an action's reward."""
    rollout = collect_episodes(toys("NextStep"), policy, 1)
    names = ["observation", "action", "reward", "terminated", "done", "cumulated_reward"]
    drawing = Drawing(840, 236, "An action's reward is in the next row")
    for place, name in enumerate(names):
        drawing.text(130 + 125 * place, 34, name, bold=True)
    for row in range(len(rollout["done"])):
        y = 50 + 60 * row
        drawing.text(20, y + 25, f"row {row}", color=FAINT, anchor="start")
        for place, name in enumerate(names):
            x = 130 + 125 * place
            drawing.box(x - 52, y, 104, 38, fill=EPISODES[0])
            value = rollout[name][row, 0].item()
            says = letter(value) if name == "observation" else f"{value:g}"
            says = str(bool(value)) if name in {"terminated", "done"} else says
            drawing.text(x, y + 24, says)
        if not rollout["done"][row, 0]:
            drawing.arrow(255 + 52, y + 28, 380 - 54, y + 70, color=BLUE)
    drawing.text(255, 50 + 60 * 2 + 52, "chosen, not played", size=11, color=FAINT)
    drawing.text(520, 222, "arrows: what an action earned, and where it led", size=11, color=BLUE)
    return drawing


def episodes() -> Drawing:
    """Without autoreset."""
    rollout = collect_episodes(toys("NextStep"), policy, 2)
    drawing = table("collect_episodes: a finished environment waits", rollout, waits=True)
    y = TOP + ROW * len(rollout["done"]) + 14
    for env in range(2):
        total = rollout["cumulated_reward"][-1, env]
        drawing.text(middle(env), y + 8, f"return {total:g}", bold=True)
    return drawing


def next_step() -> Drawing:
    """With autoreset, in the next step."""
    rollout = next(collect_steps(toys("NextStep"), policy, 8))
    return table("NEXT_STEP: the next row is the next episode's first", rollout)


def same_step() -> Drawing:
    """With autoreset, in the same step."""
    rollout = next(collect_steps(toys("SameStep"), policy, 8))
    return table("SAME_STEP, DISABLED: no row for the last observation", rollout)


def epochs() -> Drawing:
    """Two epochs, with the row that they share."""
    both = collect_steps(toys("NextStep"), policy, 4)
    width = left(2) + 10
    drawing = Drawing(2 * width - 20, TOP + 4 * ROW + 40, "Two epochs that share a row")
    for number in range(2):
        rollout = next(both)
        fill(drawing, rollout, width * number, title=f"epoch {number}")
    y = TOP + 3 * ROW + 16
    drawing.arrow(left(2) - GAP + 6, y, width + 26, TOP + 22, color=BLUE)
    drawing.text(width, y + 40, "the last row is the next epoch's first", size=12, color=BLUE)
    return drawing


def pairs() -> Drawing:
    """The pairs that are kept."""
    rollout = next(collect_steps(toys("NextStep"), policy, 5))
    kept = transitions(rollout)
    n = kept["done"].shape[1]
    table_width = left(2)
    drawing = Drawing(table_width + 400, TOP + max(5 * ROW, 30 * n) + 24, "Pairs of rows")
    fill(drawing, rollout, 0, title="the rollout")
    x = table_width + 30
    drawing.text(x + 145, 30, f"transitions: shape (2, {n}, …)", bold=True)
    for place, name in enumerate(("observation[0]", "action[0]", "reward[1]", "observation[1]")):
        drawing.text(x + 25 + 80 * place, TOP - 12, name, size=11, color=FAINT)
    for k in range(n):
        first, second = (letter(kept["observation"][end, k, 0]) for end in range(2))
        y = TOP + 30 * k
        says = (first, f"{kept['action'][0, k]}", f"{kept['reward'][1, k]:g}", second)
        for place, value in enumerate(says):
            fill_color = color(kept["observation"][0, k, 0]) if place in {0, 3} else "white"
            drawing.box(x + 80 * place, y, 50, 24, fill=fill_color)
            drawing.text(x + 25 + 80 * place, y + 17, value, size=12)
        if kept["done"][1, k]:
            flag = "terminated" if kept["terminated"][1, k] else "truncated"
            drawing.text(x + 296, y + 17, flag, size=10, color=RED, anchor="start")
    return drawing


def table(says: str, rollout: Rollout, *, waits: bool = False) -> Drawing:
    """A rollout of two environments."""
    n = len(rollout["done"])
    drawing = Drawing(left(2) + 20, TOP + ROW * n + (30 if waits else 0), says)
    fill(drawing, rollout, 0, waits=waits)
    return drawing


def fill(
    drawing: Drawing, rollout: Rollout, x: float, *, title: str = "", waits: bool = False
) -> None:
    """Draw the rows, and an arrow for each transition."""
    drawing.text(x + (left(0) + left(2) - GAP) / 2, 20, title, bold=True)
    for env, says in enumerate(("episodes of 2 steps", "episodes of 4 steps")):
        drawing.text(x + middle(env), 40, f"environment {env}", bold=True, size=12)
        drawing.text(x + middle(env), 56, says, size=11, color=FAINT)
    times = len(rollout["done"])
    for row in range(times):
        y = TOP + ROW * row
        drawing.text(x + LEFT - 14, y + 20, f"row {row}", color=FAINT, anchor="end", size=12)
        for env in range(2):
            cell(drawing, rollout, row, env, x + left(env), waits=waits)
            if row + 1 < times:
                step(drawing, rollout, row, env, x + left(env), waits=waits)


def cell(drawing: Drawing, rollout: Rollout, row: int, env: int, x: float, *, waits: bool) -> None:
    """One environment's row: observation, reward, and how the episode ended."""
    y = TOP + ROW * row
    seen = rollout["observation"][row, env, 0]
    waiting = waits and row > 0 and rollout["done"][row - 1, env]
    arrived = rollout.arrivals("observation")[row, env, 0]
    drawing.box(x, y, CELL, 30, fill="white" if waiting else color(arrived), dashed=bool(waiting))
    if arrived != seen:  # the next episode's already
        drawing.box(x, y, 36, 30, fill=color(seen))
    drawing.text(x + 18, y + 20, letter(seen), bold=True, color=FAINT if waiting else INK)
    reward = rollout["reward"][row, env]
    drawing.text(x + 44, y + 20, f"reward {reward:g}", size=11, anchor="start", color=INK)
    if waiting:
        drawing.text(x + CELL - 8, y + 20, "waits", size=11, color=FAINT, anchor="end")
    elif rollout["done"][row, env]:
        flag = "terminated" if rollout["terminated"][row, env] else "truncated"
        drawing.text(x + CELL - 6, y + 20, flag, size=11, color=RED, anchor="end")
        if rollout.finals is not None:
            final(drawing, rollout, row, env, x)


def final(drawing: Drawing, rollout: Rollout, row: int, env: int, x: float) -> None:
    """The last observation, which no row shows."""
    y = TOP + ROW * row
    seen = rollout.arrivals("observation")[row, env, 0]
    drawing.box(x + CELL + 6, y + 3, 30, 24, fill=color(seen), dashed=True)
    drawing.text(x + CELL + 21, y + 20, letter(seen), size=11, bold=True)


def step(drawing: Drawing, rollout: Rollout, row: int, env: int, x: float, *, waits: bool) -> None:
    """The transition to the next row: blue if it is kept, crossed out if not."""
    y = TOP + ROW * row
    if not rollout.ends[row, env]:
        end = rollout.finals is not None and rollout["done"][row + 1, env]
        from_x, to_x = (x + CELL - 12, x + CELL + 12) if end else (x + 18, x + 18)
        drawing.arrow(from_x, y + 31, to_x, y + ROW + (2 if end else -1), color=BLUE)
    elif not waits:
        drawing.cross(x + 18, y + 38)


def letter(observation: float) -> str:
    """Episode and step: A0, A1, …, B0."""
    return f"{'ABCDEFGH'[int(observation) // 100]}{int(observation) % 100}"


def color(observation: float) -> str:
    """The color of an observation's episode."""
    return EPISODES[int(observation) // 100 % len(EPISODES)]


def left(env: int) -> float:
    """The left edge of a column."""
    return LEFT + env * (CELL + GAP)


def middle(env: int) -> float:
    """The middle of a column."""
    return left(env) + CELL / 2


def main() -> None:
    """Write all of them."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, picture in pictures().items():
        (FOLDER / f"{name}.svg").write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    main()
