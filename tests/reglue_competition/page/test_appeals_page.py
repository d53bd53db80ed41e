"""Appeals, and the organiser's view of whether all is well."""

from __future__ import annotations

from pathlib import Path

import httpx2
import pytest
from markupsafe import escape
from starlette.testclient import TestClient

from reglue_competition.page.security import LoginLimit
from reglue_competition.store import Store, Submission
from tests.reglue_competition.page.competition_builder import (
    HOSTILE,
    Made,
    begin,
    end,
    enter,
    play,
)
from tests.reglue_competition.page.conftest import Open, form_token, log_in


@pytest.fixture
def made(tmp_path: Path) -> Made:
    """A competition with nobody in it."""
    return begin(tmp_path)


def ended(store: Store, made: Made, team: str = "Ada") -> Submission:
    found = enter(store, made, team, "x")
    end(store, found, play(0.9), play(0.8))
    return found


def test_a_team_appeals_and_reads_the_answer(made: Made, opened: Open) -> None:
    with Store(made.url) as store:
        submission = ended(store, made)
    team, organiser = opened(made), opened(made)
    log_in(team, made.teams["Ada"])
    path = f"/submissions/{submission.id}"
    filed = send(team, path, f"{path}/appeals", f"It was\nyour fault. {HOSTILE}")
    assert filed.url.path == path
    assert f"your fault. {escape(HOSTILE)}" in filed.text
    assert '<textarea id="appeal"' not in filed.text  # one at a time
    assert "your fault" in team.get("/team").text
    page = log_in(organiser, made.organiser)
    assert f"your fault. {escape(HOSTILE)}" in page.text
    with Store(made.url) as store:
        (appeal,) = store.appeals()
    send(organiser, "/organiser", f"/organiser/appeals/{appeal.id}", "We look into it.")
    assert "None waits for an answer." in organiser.get("/organiser").text
    for where in (path, "/team"):
        assert "We look into it." in team.get(where).text
    assert "your fault" not in opened(made).get(path).text  # nobody else's


def test_only_the_submissions_team_appeals_and_only_the_organiser_answers(
    made: Made, opened: Open
) -> None:
    with Store(made.url) as store:
        submission = ended(store, made)
        ended(store, made, "Eve")
        store.file_appeal(store.team("Ada"), submission.id, "unfair")
        (appeal,) = store.appeals()
    client = opened(made)
    path = f"/submissions/{submission.id}/appeals"
    for token in (made.teams["Eve"], made.organiser):
        log_in(client, token)
        assert send(client, "/rules", path, "mine").status_code == 403
    log_in(client, made.teams["Ada"])
    answered = send(client, "/team", f"/organiser/appeals/{appeal.id}", "granted")
    assert answered.status_code == 403
    assert client.post(path, data={"text": "unfair"}).status_code == 403  # another site's form
    with Store(made.url) as store:
        assert len(store.appeals()) == 1
        assert store.appeals()[0].is_open


def test_an_appeal_that_is_refused_says_why(made: Made, opened: Open) -> None:
    with Store(made.url) as store:
        submission = ended(store, made)
    client = opened(made)
    log_in(client, made.teams["Ada"])
    path = f"/submissions/{submission.id}"
    for text, why in ((" ", "wanted 1 to 2,000"), ("x" * 2001, "ot a text of 2,001 characters")):
        refused = send(client, path, f"{path}/appeals", text)
        assert (refused.status_code, why in refused.text) == (409, True)


def test_a_team_that_sends_forms_without_end_is_stopped_before_the_database(
    made: Made, opened: Open
) -> None:
    with Store(made.url) as store:
        submission, other = ended(store, made), ended(store, made, "Eve")
    client, eve = opened(made), opened(made)
    log_in(client, made.teams["Ada"])
    found = {"form_token": form_token(client.get("/team")), "text": " "}
    path = f"/submissions/{submission.id}/appeals"
    answers = [client.post(path, data=found).status_code for _ in range(LoginLimit.TRIES + 1)]
    assert answers == [409] * LoginLimit.TRIES + [429]
    log_in(eve, made.teams["Eve"])
    there = f"/submissions/{other.id}"
    assert send(eve, there, f"{there}/appeals", "unfair").url.path == there


def test_the_organiser_sees_whether_all_is_well(made: Made, opened: Open) -> None:
    with Store(made.url) as store:
        submission = enter(store, made, "Ada", "x")
        store.note("submission interrupted", team="Ada", submission=submission.id, why="killed")
        client = opened(made)
        text = log_in(client, made.organiser).text
        for what, told in (
            ("database", "answers"),
            ("waiting", "1"),
            ("interrupted, 24 h", "1"),
            ("last backup", "never"),
        ):
            assert f"<dt>{what}</dt><dd>{told}</dd>" in text
        store.note("backed up", bytes=1)
    assert "<dt>last backup</dt><dd>0 s ago</dd>" in client.get("/organiser").text.replace(
        "1 s", "0 s"
    )


def send(client: TestClient, page: str, path: str, text: str) -> httpx2.Response:
    """A form of a page."""
    given = client.get(page)
    found = form_token(given) if "form_token" in given.text else form_token(client.get("/team"))
    return client.post(path, data={"form_token": found, "text": text})
