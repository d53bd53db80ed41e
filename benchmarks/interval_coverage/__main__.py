"""`python -m interval_coverage`: the table of RESULTS.md."""

from __future__ import annotations

import argparse

from interval_coverage.boards import BOARDS, TEAMS, false_ranks
from interval_coverage.simulated import CHEAP, DEAR, SIZES, coverage


def main() -> None:
    """Print the coverage of each interval, and how often boards of equal teams tell them apart."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=4_000, help="experiments a figure")
    parser.add_argument(
        "--boards",
        type=int,
        default=200,
        help="boards of 20 teams a figure; a tenth as many of 200",
    )
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    print(f"| interval, 95 % | {' | '.join(f'n = {n}' for n in SIZES)} |")
    print(f"| --- |{' ---: |' * len(SIZES)}")
    for draws, trials in ((CHEAP, arguments.trials), (DEAR, max(1, arguments.trials // 2))):
        for name, draw in draws.items():
            coverages = [coverage(draw, n, trials=trials, seed=arguments.seed) for n in SIZES]
            cells = ["none" if each is None else f"{100 * each:.1f} %" for each in coverages]
            print(f"| {name} | {' | '.join(cells)} |", flush=True)
    print(f"\n| boards of equal teams | {' | '.join(f'{n} teams' for n in TEAMS)} |")
    print(f"| --- |{' ---: |' * len(TEAMS)}")
    for name, (values, judged_by) in BOARDS.items():
        for own in (False, True):
            found = [
                false_ranks(
                    values,
                    teams,
                    judged_by=judged_by,
                    own=own,
                    boards=max(1, arguments.boards * TEAMS[0] // teams),
                    seed=arguments.seed,
                )
                for teams in TEAMS
            ]
            cells = [f"{100 * each:.1f} %" for each in found]
            print(
                f"| {name}, {'own' if own else 'shared'} cells | {' | '.join(cells)} |", flush=True
            )


if __name__ == "__main__":
    main()
