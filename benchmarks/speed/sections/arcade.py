"""The arcade's games, beside an Atari game of ale-py with frames of the same size."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from env_adapters.arcade import GAMES, Arcade
from env_adapters.gymnasium.library import make
from speed.harness import Claim, Measure, Scale, Section, Series, Watch, interleave

PEER = "ALE/Pong-v5"
SLOWEST = "the slowest game"


def metric(scale: Scale, watch: Watch) -> Section:
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
        series=(*series, Series(SLOWEST, "steps/s", tuple(map(min, zip(*ours, strict=True))))),
        claims=(
            Claim("8", "the slowest game of the arcade, steps/s", SLOWEST, wanted=20_000.0),
            Claim("8", "pong, of the Atari's", "pong", PEER),
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
