"""`python -m interval_coverage`: the table of RESULTS.md."""

from __future__ import annotations

import argparse

from interval_coverage.simulated import CHEAP, DEAR, SIZES, coverage


def main() -> None:
    """Print the coverage of each interval for each number of goals, runs or seeds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=4_000, help="experiments a figure")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    print(f"| interval, 95 % | {' | '.join(f'n = {n}' for n in SIZES)} |")
    print(f"| --- |{' ---: |' * len(SIZES)}")
    for draws, trials in ((CHEAP, arguments.trials), (DEAR, max(1, arguments.trials // 2))):
        for name, draw in draws.items():
            coverages = [coverage(draw, n, trials=trials, seed=arguments.seed) for n in SIZES]
            cells = ["none" if each is None else f"{100 * each:.1f} %" for each in coverages]
            print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
