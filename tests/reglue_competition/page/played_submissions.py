"""Submissions of made-up competitions whose runs were really played, and have ledgers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reglue.examples.constant import Constant
from reglue_bench import evaluate
from reglue_competition.definition import Definition
from reglue_competition.store import Store, Submission
from tests.reglue_competition.competitions import definition, phase
from tests.reglue_competition.page.competition_builder import Made, end, enter

HIDDEN = "multi-task:tests.worlds:Corridor"
"""The organiser's own, with tasks that a secret names."""

CART_POLE: dict[str, Any] = {
    "benchmark": "evaluate:cart-pole",
    "options": {"num_episodes": 6, "slots": 2},
}
LEARNING: dict[str, Any] = {
    "benchmark": "online:mountain-car",
    "options": {"runs": 3, "episodes": 4, "episode_limit": 20, "slots": 1},
}


def hidden(secret: int = 0) -> dict[str, Any]:
    """A benchmark of the organiser's, whose names of tasks follow from a secret."""
    solved = {f"vault-{secret}": [1, 3, 0, 2], f"cellar-{secret}": [5, 0, 2, 2]}
    options = {"environment_args": {"solved": solved}, "num_episodes": 4, "slots": 2}
    return {"benchmark": HIDDEN, "options": options}


def hosts(*benchmarks: dict[str, Any], **changes: Any) -> Definition:
    """A competition of one phase that plays these."""
    public = [each if each["benchmark"] != HIDDEN else {"benchmark": HIDDEN} for each in benchmarks]
    return definition(phase("warm-up", benchmarks=public), **changes)


def enter_played(
    store: Store, made: Made, team: str, benchmarks: Sequence[dict[str, Any]], secret: int = 0
) -> Submission:
    """A finished submission of a constant agent in this process, keyed by a secret."""
    submission = enter(store, made, team, f"{team} plays")
    results = [
        evaluate(
            each["benchmark"],
            agent=Constant(),
            out=made.folder / "runs" / submission.id / str(index),
            secret=f"the secret of number {secret}",
            workers=0,
            **each["options"],
        )
        for index, each in enumerate(benchmarks)
    ]
    end(store, submission, *results)
    return submission
