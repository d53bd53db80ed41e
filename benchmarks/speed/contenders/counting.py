"""Work that shares nothing with anybody: what a second core adds to it is what this machine gives.

`python -m speed.contenders.counting ROUNDS`: prints the seconds that they took.
"""

from __future__ import annotations

import json
import sys
import time

_KEYS, _STEPS = 1024, 300_000


def main(rounds: int) -> None:
    """Count, in a dictionary that fits the core's cache."""
    began = time.perf_counter()
    for _ in range(rounds):
        counts: dict[int, int] = {}
        for step in range(_STEPS):
            counts[step % _KEYS] = step
    sys.stdout.write(json.dumps({"seconds": time.perf_counter() - began}))


if __name__ == "__main__":
    main(int(sys.argv[1]))
