"""The cost of a step and a reset of Meta-World, and of steps of the arcade's games."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from env_adapters.arcade import GAMES, Arcade
from env_adapters.gymnasium_library import make
from speed.launches import Claim, Measure, Scale, Section, Series, Watch, interleave, run

WORLD, FAST, PLAIN = "reglue's World ÷ floor", "reglue's step ÷ floor", "metaworld's step ÷ floor"
FLOOR, STEP = "floor", "a step of reglue's World"
KNOWN, SLOWEST = "reset, known goal", "reset, known goal, the slowest task"
FIRST = "reset, a goal's first"

CLAIMS = (
    Claim(
        "a step of a run's World ÷ its physics, median of 50 tasks",
        WORLD,
        means="1 is the physics alone",
    ),
    Claim("our step ÷ its physics, without what a World adds", FAST),
    Claim("metaworld's step ÷ its physics", PLAIN),
    Claim(
        "reset to a known goal, slowest task, µs",
        SLOWEST,
        means="a goal's first reset takes milliseconds, and is cached",
    ),
)


def steps(scale: Scale, watch: Watch) -> Section:
    """Measure steps and resets of all 50 tasks; a sample a task."""
    watch("all tasks, in a process of its own")
    tasks, repetitions = scale.of(50, 3), scale.of(7, 2)
    measured = run("speed.contenders.metaworld_costs", str(tasks), str(repetitions)).found
    steps, resets = measured["steps"], measured["resets"]

    def ratios(name: str, side: str) -> Series:
        return Series(name, "×", tuple(row[side] / row["floor"] for row in steps))

    known = tuple(row["known"] for row in resets)
    return Section(
        title="Steps and resets of Meta-World",
        about="CPU time. The floor is 5 × mj_step and mj_forward on the same states; a sample is "
        "a task's median, expert actions with noise. Resets take turns between two goals.",
        series=(
            ratios(WORLD, "world"),
            ratios(FAST, "fast"),
            ratios(PLAIN, "plain"),
            Series(FLOOR, "µs", tuple(row["floor"] for row in steps)),
            Series(STEP, "µs", tuple(row["world"] for row in steps)),
            Series(KNOWN, "µs", known),
            Series(SLOWEST, "µs", (max(known),)),
            Series(FIRST, "µs", tuple(row["first"] for row in resets)),
        ),
        claims=CLAIMS,
    )


PEER = "ALE/Pong-v5"
SLOWEST_GAME = "the slowest game"


def arcade(scale: Scale, watch: Watch) -> Section:
    """Random actions; resets are within."""
    steps = scale.of(8000, 200)
    makers: dict[str, Callable[[], Any]] = {game: partial(Arcade, game) for game in GAMES}
    # A frame a step, in colour, as the arcade's: the emulator skips none.
    makers[PEER] = partial(make, PEER, {"frameskip": 1})
    contenders = {name: _rate(maker(), steps) for name, maker in makers.items()}
    series = interleave(contenders, "steps/s", rounds=scale.rounds(5), watch=watch)
    ours = [each.samples for each in series if each.name != PEER]
    return Section(
        title="The arcade",
        about="CPU time of one core, frames of (84, 84, 3) and (210, 160, 3), resets within.",
        series=(*series, Series(SLOWEST_GAME, "steps/s", tuple(map(min, zip(*ours, strict=True))))),
        claims=(
            Claim("the slowest game of the arcade, steps/s", SLOWEST_GAME),
            Claim(
                "the arcade's pong, beside Atari's",
                "pong",
                PEER,
                is_peer=True,
                means="another game of the same kind, not the same pictures",
            ),
        ),
    )


def _rate(env: Any, steps: int) -> Measure:
    def measured() -> float:
        actions = np.random.default_rng(0).integers(6, size=steps).tolist()
        env.reset(seed=0)
        began = time.process_time()
        for action in actions:
            _, _, terminated, truncated, _ = env.step(action)
            if terminated or truncated:
                env.reset()
        return steps / (time.process_time() - began)

    return measured
