"""Logins, sessions, forms that other sites send, and the headers of every answer."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from reglue.net.join_string import JoinString
from reglue_competition.page.security import HEADERS, LoginLimit
from reglue_competition.store import Store
from tests.reglue_competition.page.competition_builder import Made, begin
from tests.reglue_competition.page.conftest import PUBLIC, Open, form_token, log_in


@pytest.mark.parametrize(
    "path",
    [*PUBLIC, "/nothing", "/submissions/0", "/static/page.css", "/static/nothing", "/healthz"],
)
def test_every_answer_has_the_headers_that_guard_it(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS
    assert "unsafe" not in answer.headers["content-security-policy"]


def test_an_answer_to_a_failure_has_them_too(made: Made, opened: Open) -> None:
    client = opened(made)
    client.app_state["site"].snapshot = None
    answer = client.get("/")
    assert answer.status_code == 500
    assert answer.headers["content-security-policy"] == HEADERS["content-security-policy"]


def test_pages_hold_neither_styles_nor_scripts_inline(client: TestClient, made: Made) -> None:
    log_in(client, made.organiser)
    for path in (*PUBLIC, f"/submissions/{made.submissions['failed']}"):
        text = client.get(path).text
        assert not re.search(r"<style|<[^>]+ style=|<[^>]+ on\w+=|<script(?! src=)", text), path
        assert not re.search(r'(?:src|href)="(?!/|#)', text), path


def test_a_wrong_token_is_refused_in_the_stores_words(client: TestClient) -> None:
    answer = log_in(client, "reglue_nothing")
    assert answer.status_code == 403
    assert "the token is wrong" in answer.text
    assert "Log in" in client.get("/organiser").text


def test_a_team_may_give_its_whole_join_string(client: TestClient, made: Made) -> None:
    whole = str(JoinString("127.0.0.1:1", made.teams["Ada"], b"DER" * 700, "reglue"))
    assert log_in(client, whole).url.path == "/team"
    for broken in ("reglue://[::1", "reglue://h:1?ca=x", "reglue://"):
        assert "the token is wrong" in log_in(client, broken).text


def test_an_expired_token_is_refused(tmp_path: Path, opened: Open) -> None:
    made = begin(tmp_path)
    with Store(made.url) as store:
        team = store.add_team("Ada")
        token = store.new_token(team, datetime.now(UTC) - timedelta(seconds=1))
    assert "the token expired" in log_in(opened(made), token).text


def test_a_token_that_is_revoked_ends_its_sessions(tmp_path: Path, opened: Open) -> None:
    made = begin(tmp_path)
    client = opened(made)
    assert log_in(client, made.organiser).url.path == "/organiser"
    assert "Health" in client.get("/organiser").text
    with Store(made.url) as store:
        store.revoke(store.tokens()[0].id)
    assert "Health" not in client.get("/organiser").text


def test_a_team_is_no_organiser(client: TestClient, made: Made) -> None:
    log_in(client, made.teams["Ada"])
    page = client.get("/team")
    assert "Health" not in client.get("/organiser").text
    path = f"/organiser/submissions/{made.submissions['waits']}"
    answer = client.post(path, data={"form_token": form_token(page), "action": "cancel"})
    assert answer.status_code == 403


def test_the_cookie_is_for_this_site_alone_and_another_after_logging_in(
    client: TestClient, made: Made
) -> None:
    before = client.get("/team").headers["set-cookie"]
    given = form_token(client.get("/team"))
    data = {"form_token": given, "token": made.organiser}
    after = client.post("/login", data=data, follow_redirects=False).headers["set-cookie"]
    assert before.split(";")[0] != after.split(";")[0]
    for cookie in (before, after):
        assert {"HttpOnly", "SameSite=strict", "Path=/"} <= set(cookie.split("; "))


@pytest.mark.parametrize("path", ["/login", "/logout", "/organiser/phases/warm-up"])
@pytest.mark.parametrize("given", [{}, {"form_token": "0" * 64}], ids=["none", "wrong"])
def test_a_form_of_another_site_is_refused(
    client: TestClient, made: Made, path: str, given: dict[str, str]
) -> None:
    log_in(client, made.organiser)
    answer = client.post(path, data=given | {"action": "close", "token": made.organiser})
    assert answer.status_code == 403
    assert "form is too old" in answer.text
    assert "Health" in client.get("/organiser").text


def test_one_browsers_form_token_does_not_do_for_another(made: Made, opened: Open) -> None:
    mine, theirs = opened(made), opened(made)
    log_in(mine, made.organiser)
    log_in(theirs, made.teams["Ada"])
    given = form_token(theirs.get("/team"))
    answer = mine.post("/organiser/phases/warm-up", data={"form_token": given, "action": "close"})
    assert answer.status_code == 403


def test_an_address_may_try_ten_tokens_a_minute(client: TestClient, made: Made) -> None:
    answers = [log_in(client, "wrong").text for _ in range(LoginLimit.TRIES)]
    assert all("the token is wrong" in each for each in answers)
    assert "too many tokens" in log_in(client, made.organiser).text


def test_a_large_form_or_one_without_a_length_is_refused(client: TestClient) -> None:
    assert client.post("/login", data={"token": "x" * 40_000}).status_code == 413
    assert client.post("/login", content=iter([b"token=x"])).status_code == 411


def test_logging_out_ends_the_session(client: TestClient, made: Made) -> None:
    page = log_in(client, made.teams["Ada"])
    cookie = client.cookies["reglue"]
    client.post("/logout", data={"form_token": form_token(page)})
    client.cookies.set("reglue", cookie)
    assert "Log in" in client.get("/team").text
