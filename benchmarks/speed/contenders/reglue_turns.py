"""Reglue: a glue with the light environment, and a Python agent in its own process."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import cast

from glue_server import Glue
from reglue.net.transport import Transport
from speed.contender import serve
from speed.light import Suite

AGENT = "speed.light:Still"


def main(transport: Transport, shape: str, slots: int) -> None:
    """`transport` as of a Glue; `shape` is light or image."""
    suite = Suite(image=shape == "image")
    with Glue(environment=suite, agent=AGENT, slots=slots, transport=transport) as rl:
        rl.init()

        def metric(steps: int, routine: str = "step") -> dict[str, float]:
            """Seconds for so many steps of every slot."""
            play: Callable[[], object] = {
                "step": lambda: [rl.step() for _ in range(steps)],
                "episode": lambda: rl.episode(steps),
            }[routine]
            rl.start()
            rl.step()
            began = time.perf_counter()
            play()
            return {"seconds": time.perf_counter() - began, "steps": steps * slots}

        serve(metric)


if __name__ == "__main__":
    main(cast(Transport, sys.argv[1]), sys.argv[2], int(sys.argv[3]))
