"""Leaderboards: a submission of each team, its score over benchmarks, and shared ranks.

`leaderboard` reads a phase from the store; `rank` needs results alone.
"""

from reglue_competition.ranking.comparisons import Comparisons
from reglue_competition.ranking.ranks import Ranked, rank, rule
from reglue_competition.ranking.scored_submissions import (
    HOW_CHOSEN,
    ChosenBy,
    RankedBenchmark,
    ScoredSubmission,
    choose_submissions,
)
from reglue_competition.ranking.standings import (
    Chosen,
    Leaderboard,
    Row,
    RunScore,
    chosen,
    leaderboard,
    result_of_run,
)

__all__ = [
    "HOW_CHOSEN",
    "Chosen",
    "ChosenBy",
    "Comparisons",
    "Leaderboard",
    "Ranked",
    "RankedBenchmark",
    "Row",
    "RunScore",
    "ScoredSubmission",
    "choose_submissions",
    "chosen",
    "leaderboard",
    "rank",
    "result_of_run",
    "rule",
]
