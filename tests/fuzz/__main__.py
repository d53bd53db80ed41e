"""`python -m tests.fuzz --seconds 60`: looks for more, with another seed each time."""

from __future__ import annotations

import argparse
import secrets
import sys
import time

from tests.fuzz.fuzzing import explore, keep
from tests.fuzz.targets import TARGETS


def main() -> None:
    """Fuzz every target in turn; `--keep` adds what the corpus lacks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="in all")
    parser.add_argument("--seed", type=int, default=secrets.randbits(32))
    parser.add_argument("--keep", action="store_true", help="add inputs with new outcomes")
    options = parser.parse_args()
    for name in TARGETS:
        until = time.monotonic() + options.seconds / len(TARGETS)
        found = explore(name, seed=options.seed, until=until)
        sys.stdout.write(f"{name}: {len(found)} new outcomes (--seed {options.seed})\n")
        if options.keep:
            keep(name, found)


if __name__ == "__main__":
    main()
