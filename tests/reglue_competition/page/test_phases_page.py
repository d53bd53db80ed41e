"""Phases on the page: what is shown of them while they are open, closed, and revealed."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from reglue_competition.store import Store
from tests.reglue_competition.competitions import definition, phase, practice, private
from tests.reglue_competition.page.competition_builder import (
    COMMITMENT,
    TWO,
    Made,
    begin,
    end,
    enter,
    play,
)
from tests.reglue_competition.page.conftest import Open, form_token, log_in


def test_the_organiser_cancels_plays_again_closes_and_opens(tmp_path: Path, opened: Open) -> None:
    made = begin(tmp_path)
    with Store(made.url) as store:
        waiting = enter(store, made, "Ada", "waiting")
        broken = enter(store, made, "Ada", "broken")
        store.set_status(broken.id, "broken", "the disk was full")
        client = opened(made)
        given = {"form_token": form_token(log_in(client, made.organiser))}
        cancel = f"/organiser/submissions/{waiting.id}"
        assert client.post(cancel, data=given | {"action": "cancel"}).url.path == "/organiser"
        assert store.submission(waiting.id).cancel_asked
        again = f"/organiser/submissions/{broken.id}"
        client.post(again, data=given | {"action": "play again"})
        assert store.submission(broken.id).status == "waiting"
        assert client.post(again, data=given | {"action": "play again"}).status_code == 409
        assert client.post(again, data=given | {"action": "delete"}).status_code == 400
        client.post("/organiser/phases/warm-up", data=given | {"action": "close"})
        assert [each.state for each in store.phases()] == ["closed", "planned"]
        page = client.post("/organiser/phases/private", data=given | {"action": "open"})
        assert [each.open_asked for each in store.phases()] == [False, True]
        assert page.url.path == "/organiser"


def test_a_transcript_is_its_teams_once_the_phase_is_over(tmp_path: Path, opened: Open) -> None:
    made = begin(tmp_path)
    with Store(made.url) as store:
        submission = enter(store, made, "Ada", "x")
        other = enter(store, made, "Eve", "y")
        end(store, submission, play(0.9), play(0.8))
        store.record_run(replace(store.runs(submission.id)[0], transcript_sha256="5a" * 32))
        (tmp_path / "transcripts").mkdir()
        (tmp_path / "transcripts" / f"{submission.id}-0.reglue").write_bytes(b"signed")
        client = opened(made)
        assert "5a" * 32 in client.get(f"/submissions/{submission.id}").text  # of what is to come
        path = f"/submissions/{submission.id}/transcripts/0"
        log_in(client, made.teams["Ada"])
        assert client.get(path).status_code == 404
        store.close_phase("warm-up")
        client.app_state["site"].look()
        assert client.get(path).status_code == 404  # the other's agent could be told
        store.set_status(other.id, "withdrawn")
        client.app_state["site"].look()
        answer = client.get(path)
        assert answer.content == b"signed"
        assert "attachment" in answer.headers["content-disposition"]
        assert path in client.get(f"/submissions/{submission.id}").text
        for wrong in ("1", "..%2F..%2Fcompetition.sqlite", "-1"):
            assert (
                client.get(f"/submissions/{submission.id}/transcripts/{wrong}").status_code == 404
            )
        log_in(client, made.teams["Eve"])
        assert client.get(path).status_code == 404


def test_what_a_phase_hid_can_be_had_once_it_is_closed_and_revealed(
    tmp_path: Path, opened: Open
) -> None:
    made = begin(tmp_path)
    client, path = opened(made), "/phases/warm-up/reveal"
    (tmp_path / "reveals").mkdir()
    (tmp_path / "reveals" / "warm-up.json").write_text("{}")
    assert client.get(path).status_code == 404
    with Store(made.url) as store:
        store.close_phase("warm-up")
    client.app_state["site"].look()
    assert client.get(path).json() == {}
    assert path in client.get("/").text
    assert client.get("/phases/..%2F..%2Fx/reveal").status_code == 404


@pytest.mark.parametrize("looks_at", ["page", "transcript", "nothing", "another's"])
def test_a_phase_is_opened_again_until_a_team_sees_what_it_played(
    tmp_path: Path, opened: Open, looks_at: str
) -> None:
    made = begin(tmp_path)
    with Store(made.url) as store:
        submission = enter(store, made, "Ada", "x")
        end(store, submission, play(0.9), play(0.8))
        (tmp_path / "transcripts").mkdir()
        (tmp_path / "transcripts" / f"{submission.id}-0.reglue").write_bytes(b"rewards")
        team, organiser = opened(made), opened(made)
        theirs = f"/submissions/{submission.id}"
        log_in(team, made.teams["Ada"])
        team.get(theirs)  # while it is open, this tells nothing of its goals
        given = {"form_token": form_token(log_in(organiser, made.organiser))}
        there = "/organiser/phases/warm-up"
        assert organiser.post(there, data=given | {"action": "close"}).status_code == 200
        for client in (team, organiser):
            client.app_state["site"].look()
        organiser.get(theirs)
        if looks_at == "page":
            team.get(theirs)
        if looks_at == "transcript":
            team.get(f"{theirs}/transcripts/0")
        if looks_at == "another's":
            opened(made).get(theirs)  # anybody sees scores alone
        done = organiser.post(there, data=given | {"action": "reopen"})
        if looks_at in ("page", "transcript"):
            assert (done.status_code, "team Ada has seen" in done.text) == (409, True)
        else:
            assert (done.status_code, store.phases()[0].state) == (200, "open")


def test_a_page_that_is_behind_shows_nothing_of_a_phase_that_is_open_again(
    tmp_path: Path, opened: Open
) -> None:
    made = begin(tmp_path)
    with Store(made.url) as store:
        submission = enter(store, made, "Ada", "x")
        end(store, submission, play(0.9), play(0.8))
        (tmp_path / "transcripts").mkdir()
        (tmp_path / "transcripts" / f"{submission.id}-0.reglue").write_bytes(b"rewards")
        store.close_phase("warm-up")
        team = opened(made)
        log_in(team, made.teams["Ada"])
        store.reopen_phase("warm-up")  # its snapshot does not say so yet
        theirs = f"/submissions/{submission.id}"
        assert team.get(f"{theirs}/transcripts/0").status_code == 409
        assert team.get(theirs).status_code == 409
        team.app_state["site"].look()
        assert team.get(f"{theirs}/transcripts/0").status_code == 404
        assert team.get(theirs).status_code == 200


@pytest.fixture
def two_open(tmp_path: Path) -> Made:
    """A competition whose public phase and one of practice are open."""
    made = begin(tmp_path, definition(practice(quotas={"in_all": 2}), phase(), private()))
    with Store(made.url) as store:
        store.open_phase("public", COMMITMENT)
        made.teams["Ada"] = store.new_token(store.add_team("Ada"))
    return made


def test_practice_beside_another_phase_is_not_what_the_page_begins_with(
    two_open: Made, opened: Open
) -> None:
    client = opened(two_open)
    assert "<h1>public</h1>" in client.get("/").text
    assert "<h1>practice</h1>" in client.get("/phases/practice").text
    text = log_in(client, two_open.teams["Ada"]).text
    assert "practice: you may still enter 1 of 1 at once and 2 of 2 in this phase." in text
    assert "public: you may enter as many as you like." in text


def test_the_organiser_opens_a_phase_beside_which_only_practice_is_open(
    two_open: Made, opened: Open
) -> None:
    client = opened(two_open)
    given = form_token(log_in(client, two_open.organiser))

    def may(action: str) -> list[str]:
        words = re.findall(rf">{action} (\w+)</button>", client.get("/organiser").text)
        return [str(each) for each in words]

    assert (may("Open"), may("Close")) == ([], ["practice", "public"])
    form = {"form_token": given, "action": "close"}
    client.post("/organiser/phases/public", data=form)
    assert (may("Open"), may("Reopen")) == (["private"], ["public"])
    client.post("/organiser/phases/practice", data=form)
    assert (may("Open"), may("Reopen")) == (["private"], ["practice", "public"])


STATES = ("playing", "over", "revealed")  # of a phase, one after another


@pytest.mark.parametrize("transcripts", ["public", "team"])
@pytest.mark.parametrize(
    ("kind", "board", "shown"),
    [
        ("public", None, "playing"),
        ("private", "public", "playing"),
        ("public", "after_close", "over"),
        ("public", "organiser", "revealed"),
        ("private", None, "revealed"),
    ],
)
def test_a_phase_says_who_sees_its_scores(
    tmp_path: Path, opened: Open, kind: str, board: str | None, shown: str, transcripts: str
) -> None:
    """On no page and in no file before: neither others' scores nor one's own."""
    only = phase("warm-up", kind=kind, benchmarks=TWO, board=board)
    made = begin(tmp_path, definition(only, page={"transcripts": transcripts}))
    with Store(made.url) as store:
        submission = enter(store, made, "Ada", "x")
        end(store, submission, play(0.9312), play(0.8123))
        (tmp_path / "transcripts").mkdir()
        (tmp_path / "transcripts" / f"{submission.id}-0.reglue").write_bytes(b"rewards")
        anybody, team, organiser = opened(made), opened(made), opened(made)
        log_in(team, made.teams["Ada"])
        log_in(organiser, made.organiser)
        theirs = f"/submissions/{submission.id}"
        for state in STATES:
            if state == "over":
                store.close_phase("warm-up")
            if state == "revealed":
                (tmp_path / "reveals").mkdir()
                (tmp_path / "reveals" / "warm-up.json").write_text("{}")
            is_final = state == "revealed"
            for client in (anybody, team, organiser):
                client.app_state["site"].look()
            assert ("this is final" in anybody.get("/").text) == is_final
            is_shown = STATES.index(state) >= STATES.index(shown)
            for path in ("/", theirs):
                for client in (anybody, team):
                    text = client.get(path).text
                    assert has_score(text) == is_shown, state
                    assert ("Scores are shown when" in text) != is_shown, state
                assert has_score(organiser.get(path).text)
            assert has_score(team.get("/team").text) == is_shown
            may_have = is_shown and state != "playing"
            file = f"{theirs}/transcripts/0"
            codes = [each.get(file).status_code for each in (anybody, team, organiser)]
            is_public = state == "revealed" and transcripts == "public"
            assert codes == [200 if is_public else 404, 200 if may_have else 404, 200]


def has_score(text: str) -> bool:
    return re.search(r'data-column="score">[^<]*\d', text) is not None
