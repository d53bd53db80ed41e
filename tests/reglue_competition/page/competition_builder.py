"""A competition's folder as it is in mid-phase, made up: teams, submissions and results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from reglue_bench.results.facts import FaultCount
from reglue_bench.results.result import Result
from reglue_competition.definition import Definition
from reglue_competition.store import Run, Store, Submission, migrate
from reglue_competition.store.database import sqlite_url
from tests.reglue_bench.made_results import MT10, Play, make_result
from tests.reglue_competition.competitions import definition, phase, private

COMMITMENT = "9f" * 32
HOSTILE = """<script>alert(1)</script>"><b>&amp;"""
TASK = "hidden-task-of-this-secret"
PUBLIC_TASKS = MT10[:3]

TWO = [
    {"benchmark": "MT10", "weight": 3.0},
    {"benchmark": "multi-task:tasks/hidden.py:Maze"},
]


@dataclass
class Made:
    """The folder, and how to come in."""

    folder: Path
    organiser: str = ""  # tokens
    teams: dict[str, str] = field(default_factory=dict)
    submissions: dict[str, str] = field(default_factory=dict)  # ids by name

    @property
    def url(self) -> str:
        """Of the database."""
        return sqlite_url(self.folder / "competition.sqlite")


def in_practice(**changes: Any) -> Definition:
    """Two phases; the first plays two benchmarks."""
    text = "Ten tasks of manipulation, and a maze that nobody has seen.\n\nAgents stay with you."
    made = {
        "title": "Manipulation 2026",
        "ranking": {"teams": 2},
        "page": {"about": text, "rules": "One account a team.", "contact": "hosts@example.org"},
    }
    return definition(
        phase("warm-up", kind="practice", benchmarks=TWO), private(), **made | changes
    )


def begin(folder: Path, of: Definition | None = None) -> Made:
    """A folder with an open phase, and nobody in it."""
    made = Made(folder)
    migrate(made.url)
    with Store(made.url) as store:
        store.apply(of or in_practice())
        store.open_phase(store.phases()[0].name, COMMITMENT)
        made.organiser = store.new_token(None)
    return made


def enter(store: Store, made: Made, team: str, name: str) -> Submission:
    """A submission; the team is added the first time."""
    known = {each.name: each for each in store.teams()}
    if team not in known:
        known[team] = store.add_team(team)
        made.teams[team] = store.new_token(known[team])
    found = store.enter(known[team], name, datetime.now(UTC))
    made.submissions[name] = found.id
    return found


def end(store: Store, submission: Submission, *results: Result, status: str = "finished") -> None:
    """It has played these."""
    store.set_status(submission.id, "playing")
    for index, result in enumerate(results):
        record(store, submission, index, result)
    store.set_status(submission.id, status, "agent_error: " + HOSTILE if status == "failed" else "")  # type: ignore[arg-type]


def record(store: Store, submission: Submission, index: int, result: Result) -> None:
    """A run has ended."""
    score, interval = result.score.value, result.interval95
    store.record_run(
        Run(
            submission=submission.id,
            index=index,
            benchmark=result.benchmark,
            status="ok",
            owner="",
            score=score,
            low=interval[0] if interval else None,
            high=interval[1] if interval else None,
            result=result.model_dump_json(by_alias=True),
            transcript_sha256=None,
        )
    )


def play(rate: float, secret: int = 0, **more: Any) -> Result:
    """A result whose tasks, seed and plan follow from a secret."""
    tasks = [f"{TASK}-{secret}-{n}" for n in range(3)]
    asked = Play(
        rate=rate,
        tasks=tasks,
        goals=12,
        seed=7,
        plan=f"{secret:064x}",
        goals_hash=f"{secret + 1:064x}",
    )
    result = make_result(replace(asked, **more))
    return result.model_copy(update={"seed": 1000 + secret, "versions": {"numpy": f"2.{secret}"}})


def faulty(rate: float, words: str, **more: Any) -> Result:
    """One whose agent failed in some episodes, with those words."""
    result = play(rate, faulty=0.3, **more)
    faults = [
        FaultCount(status="agent_error", detail=words, count=3),
        FaultCount(status="environment_error", detail=f"{words} of the environment", count=1),
    ]
    return result.model_copy(update={"faults": faults})


SCORES: Mapping[str, float] = {
    "Ada": 0.93,
    "Kanerva Lab": 0.9,
    "Tabula Rasa": 0.71,
    "Gradient Ascenders of the Very Long Name": 0.68,
    "Sutton's Bitter Lesson": 0.45,
    "naïve": 0.2,
}


def whole(folder: Path, *, secret: int = 0) -> Made:
    """All kinds of submissions at once."""
    made = begin(folder)
    with Store(made.url) as store:
        for team, rate in SCORES.items():
            submission = enter(store, made, team, f"{team} 1")
            results = [
                play(rate, secret, label=team, tasks=PUBLIC_TASKS),
                play(rate - 0.05, secret, label=team, seed=9),
            ]
            end(store, submission, *results)
        for status, team in (("failed", HOSTILE), ("broken", "Ada"), ("cancelled", "naïve")):
            words = f"{HOSTILE} {status}"
            known = {"tasks": PUBLIC_TASKS, "label": "x"}
            one = faulty(0.4, words, secret=secret, missing=9, **known)
            end(store, enter(store, made, team, status), one, status=status)
        store.file_appeal(store.team("Ada"), made.submissions["broken"], f"Unfair.\n{HOSTILE}")
        enter(store, made, "Ada", "waits")
        playing = enter(store, made, "Tabula Rasa", "plays")
        store.set_status(playing.id, "playing")
        progress = {"index": 1, "done": 14, "total": 36, "counted_in": "episodes"}
        store.set_progress(playing.id, progress)
    return made
