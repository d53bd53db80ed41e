from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import sqlalchemy as sa

from reglue.errors import BadArgument, TokenRefused, UnknownName, UsageError
from reglue_bench.results.facts import FaultCount
from reglue_bench.results.result import Result, parse_result
from reglue_bench.runs.notes import Ending
from reglue_competition.ranking import leaderboard
from reglue_competition.store import Run, Store, Submission, Team, migrate
from reglue_competition.store.database import sqlite_url
from reglue_competition.store.rulings import FORGOTTEN
from reglue_competition.store.schema import TABLES
from tests.error_facts import raises
from tests.reglue_bench.made_results import Play, make_result
from tests.reglue_competition.competitions import definition

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
PERSONAL = ("Ada", "sarsa of Ada", "/home/ada", "appeal by Ada", "answer to Ada", "Ada said so")


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    """One with an open phase."""
    with Store(url) as opened:
        opened.apply(definition())
        opened.open_phase("public", "9f" * 32)
        yield opened


def played(store: Store, team: Team, rate: float) -> Submission:
    """A submission of the team that ended, with a score."""
    found = store.enter(team, f"sarsa of {team.name}", NOW)
    home = f"/home/{team.name.lower()}"
    result = make_result(Play(rate=rate, label=f"sarsa of {team.name}")).model_copy(
        update={
            "faults": [FaultCount(status="agent_error", detail=f"{home}/agent.py", count=1)],
            "ended_early": Ending(status="agent_error", what=f"agent_error: {home}"),
        }
    )
    text, score = result.model_dump_json(by_alias=True), result.score.value
    store.record_run(Run(found.id, 0, "MT10", "ok", score=score, result=text))
    store.set_status(found.id, "finished", f"agent_error: {home}")
    return found


def rows(store: Store) -> str:
    """All that the database holds."""

    def read(connection: sa.Connection) -> str:
        tables = TABLES.sorted_tables
        found = [connection.execute(sa.select(each)).all() for each in tables]
        return str([tuple(row) for each in found for row in each])  # a row's own text is cut off

    return store._database.read(read)


def ranks(store: Store, folder: Path) -> list[tuple[int | None, str, float | None]]:
    """Of the leaderboard."""
    (phase,) = store.phases()
    board = leaderboard(store.definition(), phase, store, folder)
    assert board.left_out == {}
    return [(each.rank, each.team, each.score) for each in board.rows]


def whole(store: Store) -> tuple[Submission, str, str]:
    """Team Ada with all that a team can have: a submission, its token, another's token."""
    ada, eve = store.add_team("Ada"), store.add_team("Eve")
    tokens = store.new_token(ada), store.new_token(eve)
    submission, other = played(store, ada, 0.9), played(store, eve, 0.5)
    store.interrupt(submission.id, "/home/ada")
    store.file_appeal(ada, submission.id, "appeal by Ada")
    store.answer_appeal(store.appeals()[0].id, "answer to Ada")
    store.file_appeal(ada, submission.id, "second appeal by Ada")
    store.file_appeal(eve, other.id, "appeal by Eve")
    store.allow("Ada", "public", 2, "Ada said so")
    return submission, *tokens


def test_nothing_that_is_personal_of_a_forgotten_team_is_in_the_database(store: Store) -> None:
    submission, token, others = whole(store)
    before = rows(store)
    assert all(each in before for each in PERSONAL)
    team = store.team("Ada")
    forgotten = store.forget_team("Ada")
    assert (forgotten.id, forgotten.name) == (team.id, f"team #{team.id}")
    assert forgotten.retired_at is not None
    held = rows(store)
    assert [each for each in PERSONAL if each in held] == []
    assert all(each in held for each in ("Eve", "sarsa of Eve", "appeal by Eve"))
    now = store.submission(submission.id)
    assert (now.team, now.name, now.detail) == (forgotten.name, f"#{submission.id}", "")
    assert [each.team for each in store.appeals()] == ["Eve"]
    with raises(TokenRefused, "revoked"):
        store.bearer(token)
    assert store.bearer(others) == store.team("Eve")
    with raises(UnknownName, "team", got="Ada"):
        store.team("Ada")
    assert store.add_team("Ada").id != team.id


def test_events_stay_and_name_a_forgotten_team_by_its_new_name(store: Store) -> None:
    whole(store)
    before = store.events(limit=1000)
    forgotten = store.forget_team("Ada")
    after = store.events(limit=1000)
    for old, new in zip(before, after, strict=False):
        assert (new.id, new.at, new.kind, new.run) == (old.id, old.at, old.kind, old.run)
        assert new.team == (forgotten.name if old.team == "Ada" else old.team)
    new_kinds = [each.kind for each in after[len(before) :]]
    assert new_kinds == ["team retired", "token revoked", "team forgotten"]


def test_scores_and_ranks_stay_when_a_team_is_forgotten(store: Store, tmp_path: Path) -> None:
    submission, *_ = whole(store)
    before = ranks(store, tmp_path)
    assert [name for _, name, _ in before] == ["Ada", "Eve"]
    forgotten = store.forget_team("Ada")
    new_names = {"Ada": forgotten.name, "Eve": "Eve"}
    assert ranks(store, tmp_path) == [(rank, new_names[name], s) for rank, name, s in before]
    (run,) = store.runs(submission.id)
    result: Result = parse_result(run.result, "a run")
    assert result.agent.label == f"#{submission.id}"
    assert [(each.status, each.count) for each in result.faults] == [("agent_error", 1)]


def test_a_ruling_on_a_forgotten_team_stands_without_its_reason(store: Store) -> None:
    submission, *_ = whole(store)
    store.rule(submission.id, "off the board", "Ada said so")
    store.forget_team("Ada")
    ruling = store.rulings()[submission.id]
    assert (ruling.standing, ruling.why) == ("off the board", FORGOTTEN)
    assert "Ada" not in rows(store)


def test_a_team_is_not_forgotten_while_it_waits_or_plays(store: Store) -> None:
    team = store.add_team("Ada")
    waits = store.enter(team, "sarsa", NOW)
    before = rows(store)
    for _ in range(2):
        with raises(UsageError, "Ada", waits.id):
            store.forget_team("Ada")
        assert store.team("Ada").retired_at is None
    assert rows(store) == before
    store.set_status(waits.id, "cancelled")
    store.forget_team("Ada")


def test_a_team_is_forgotten_again_by_its_new_name(store: Store) -> None:
    """Also one that was retired before."""
    submission, *_ = whole(store)
    store.retire_team("Ada")
    name = store.forget_team("Ada").name
    store.rule(submission.id, "unranked", "it was Ada")
    assert store.forget_team(name).name == name
    assert "Ada" not in rows(store)
    with raises(UnknownName, "team", got="Ada"):
        store.forget_team("Ada")


@pytest.mark.parametrize("name", ["team #1", "Team #77", "Теаm #1"])
def test_nobody_takes_the_name_of_a_forgotten_team(store: Store, name: str) -> None:
    with raises(BadArgument, repr(name)):
        store.add_team(name)
    store.add_team("team #one")


def test_what_is_deleted_is_overwritten_in_sqlites_file(tmp_path: Path) -> None:
    file = tmp_path / "competition.sqlite"
    migrate(sqlite_url(file))
    with Store(sqlite_url(file)) as store:
        store.apply(definition())
        store.open_phase("public", "9f" * 32)
        whole(store)
    assert b"appeal by Ada" in file.read_bytes()
    with Store(sqlite_url(file)) as store:
        store.forget_team("Ada")
    held = file.read_bytes()
    assert [each for each in PERSONAL if each.encode() in held] == []
    assert list(tmp_path.iterdir()) == [file]
