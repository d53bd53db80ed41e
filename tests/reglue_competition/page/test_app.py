"""The page's content, by its reader."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from markupsafe import escape
from starlette.testclient import TestClient

from reglue_competition.page.app import Page
from reglue_competition.page.site import Site
from reglue_competition.store import Store
from tests.reglue_competition.competitions import definition, phase
from tests.reglue_competition.page.competition_builder import (
    COMMITMENT,
    HOSTILE,
    TASK,
    Made,
    begin,
    end,
    enter,
    in_practice,
    play,
    whole,
)
from tests.reglue_competition.page.conftest import PUBLIC, Open, log_in
from tests.waiting import until


def test_the_leaderboard_has_scores_intervals_and_shared_ranks(client: TestClient) -> None:
    text = client.get("/").text
    rows = re.findall(r'<td class="rank"[^>]*>(\S+?)<span class="equal">(=?)</span>', text)
    assert rows == [
        ("1", "="),
        ("1", "="),
        ("3", "="),
        ("3", "="),
        ("5", "="),
        ("5", "="),
        ("5", "="),
    ]
    for shown in ("93.7 %", "82.9 to 97.6 %", "Kanerva Lab", "cannot be told apart", COMMITMENT):
        assert shown in text
    assert text.count('<rect class="band"') == 7


def test_a_leaderboard_shows_what_goes_on(client: TestClient) -> None:
    text = client.get("/").text
    assert "2 of 2: hidden benchmark 2, 14 of 36 episodes" in text
    assert 'max="36" value="14"' in text
    assert "in the queue" in text


def test_a_submission_that_waits_for_its_round_says_when_that_begins(
    tmp_path: Path, opened: Open
) -> None:
    rounds = in_practice(play={"round_every_s": 86_400.0})
    made = begin(tmp_path, rounds)
    with Store(made.url) as store:
        entered = enter(store, made, "Team A", "agent").queued_at
        text = opened(made).get("/").text
    day = entered.replace(hour=0, minute=0) + timedelta(days=1)
    assert f"in the queue, for the round that begins at {day:%Y-%m-%d %H:%M} UTC" in text
    rules = opened(made).get("/rules").text
    assert "every 24 h" in rules


def test_who_runs_agents_and_within_which_limits(tmp_path: Path, opened: Open) -> None:
    image = f"sha256:{16 * 'beef'}"
    made = begin(tmp_path, definition(phase(agents="submitted"), images={"memory_gib": 2.5}))
    with Store(made.url) as store:
        entered = store.enter(store.add_team("A"), "a", datetime.now(UTC), image=image)
        client = opened(made)
        rules, page = client.get("/rules").text, client.get(f"/submissions/{entered.id}").text
    for shown in ("its team hands it in", "2.5 GiB, with", "256", "8 GiB"):
        assert shown in rules
    assert image in page


def test_rules_of_agents_that_connect_name_no_container(client: TestClient) -> None:
    assert "Who runs an agent" not in client.get("/rules").text


def test_a_long_queue_is_cut(tmp_path: Path, opened: Open) -> None:
    made = begin(tmp_path)
    with Store(made.url) as store:
        for n in range(12):
            enter(store, made, f"Team {n}", f"agent {n}")
        text = opened(made).get("/").text
    assert "agent 9" in text
    assert "agent 10" not in text
    assert "2 more are in the queue." in text


def test_a_phase_that_has_not_begun_says_when_it_does(client: TestClient) -> None:
    text = client.get("/phases/private").text
    assert "opens 2100-01-01 00:00 UTC" in text
    assert "This phase has not begun." in text
    assert client.get("/phases/nothing").status_code == 404


def test_the_rules_say_what_happens_at_each_limit(client: TestClient) -> None:
    text = client.get("/rules").text
    for shown in (
        "default action",
        "2 min",
        "counts as failure",
        "Agents stay with you.",
        "1 in all",
    ):
        assert shown in text


def test_names_of_strangers_are_text(client: TestClient, made: Made) -> None:
    log_in(client, made.organiser)
    failed = f"/submissions/{made.submissions['failed']}"
    for path in ("/", failed, "/organiser"):
        text = client.get(path).text
        assert "<script>alert" not in text
        assert escape(HOSTILE) in text


def test_a_submissions_public_page_hides_what_is_hidden(client: TestClient, made: Made) -> None:
    for name in ("failed", "Ada 1", "broken", "cancelled"):
        text = client.get(f"/submissions/{made.submissions[name]}").text
        for hidden in (
            TASK,
            "maze",
            "hidden.py",
            "3.1.1",
            "agent_error",
            "alert(1)</script> failed",
        ):
            assert hidden not in text, (name, hidden)
    text = client.get(f"/submissions/{made.submissions['failed']}").text
    assert "the agent failed or answered wrongly" in text
    assert "Its agent failed." in text


def test_public_pages_are_the_same_under_two_secrets(tmp_path: Path, opened: Open) -> None:
    texts = []
    for secret in (1, 2):
        folder = tmp_path / str(secret)
        folder.mkdir()
        made = whole(folder, secret=secret)
        client = opened(made)
        pages = [*PUBLIC, *(f"/submissions/{id_}" for id_ in made.submissions.values())]
        names = {id_: name for name, id_ in made.submissions.items()}
        texts.append([_without_chance(client.get(path).text, names) for path in pages])
    assert texts[0] == texts[1]


def _without_chance(text: str, names: dict[str, str]) -> str:
    """Without ids and forms' tokens, which are random, and the time."""
    for id_, name in names.items():
        text = text.replace(id_, name)
    text = re.sub(r'name="form_token" value="[^"]+"', "", text)
    return re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", "TIME", text)


def test_a_team_sees_its_own_submissions_and_what_went_wrong(
    client: TestClient, made: Made
) -> None:
    log_in(client, made.teams[HOSTILE])
    mine = client.get("/team").text
    assert made.submissions["failed"] in mine
    assert made.submissions["broken"] not in mine
    text = html.unescape(client.get(f"/submissions/{made.submissions['failed']}").text)
    assert f"<code>{HOSTILE} failed</code>" in text
    assert "of the environment" not in text


def test_a_team_sees_all_its_submissions_the_newest_first(tmp_path: Path, opened: Open) -> None:
    made = begin(tmp_path)
    with Store(made.url) as store:
        ids = [enter(store, made, "Ada", name).id for name in ("x", "y", "z")]
    client = opened(made)
    log_in(client, made.teams["Ada"])
    shown = re.findall(r'<a href="/submissions/(\w+)">', client.get("/team").text)
    assert shown == ids[::-1]


def test_a_team_sees_nothing_more_of_another_than_anybody(client: TestClient, made: Made) -> None:
    paths = [f"/submissions/{id_}" for name, id_ in made.submissions.items() if name != "naïve 1"]
    anybody = [client.get(path).text for path in paths]
    log_in(client, made.teams["Kanerva Lab"])
    of_others = [
        path for path in paths if path != f"/submissions/{made.submissions['Kanerva Lab 1']}"
    ]
    for path, text in zip(paths, anybody, strict=True):
        if path in of_others:
            assert client.get(path).text == text


def test_what_broke_stands_beside_the_score(client: TestClient, made: Made) -> None:
    board = client.get("/").text
    assert re.search(r">Ada</a> <span [^>]*>1 broken<", board)
    assert not re.search(r">Kanerva Lab</a> <span [^>]*>\d+ broken<", board)
    scored = html.unescape(client.get(f"/submissions/{made.submissions['Ada 1']}").text)
    assert "Broken submissions of this team in this phase: 1." in scored


def test_what_an_environment_said_goes_to_the_organiser_alone(tmp_path: Path, opened: Open) -> None:
    made = begin(tmp_path)
    with Store(made.url) as store:
        submission = enter(store, made, "Ada", "x")
        store.set_status(submission.id, "broken", "the maze of task 7 fell over")
    client = opened(made)
    path = f"/submissions/{submission.id}"
    log_in(client, made.teams["Ada"])
    assert "the maze" not in client.get(path).text + client.get("/team").text
    log_in(client, made.organiser)
    assert "the maze" in client.get(path).text


def test_the_rules_show_the_key_of_transcripts(client: TestClient) -> None:
    assert "5f" * 32 in client.get("/rules").text


@pytest.mark.parametrize("publishes", [True, False])
def test_replays_are_shown_when_the_organiser_publishes_them(
    tmp_path: Path, opened: Open, *, publishes: bool
) -> None:
    made = begin(tmp_path, in_practice(page={"replays": publishes}))
    with Store(made.url) as store:
        submission = enter(store, made, "Ada", "x")
        end(store, submission, play(0.9), play(0.8))
        (tmp_path / "replays").mkdir()
        (tmp_path / "replays" / f"{submission.id}-1.mp4").write_bytes(b"video")
        client = opened(made)
        path = f"/submissions/{submission.id}/replays/1"
        assert client.get(path).status_code == 404
        store.close_phase("warm-up")
        client.app_state["site"].look()
        assert client.get(path).status_code == (200 if publishes else 404)
        assert (path in client.get(f"/submissions/{submission.id}").text) == publishes


def test_a_submission_that_ends_comes_into_the_leaderboard(tmp_path: Path) -> None:
    made = begin(tmp_path)
    with (
        Store(made.url) as store,
        Store(made.url) as read,
        TestClient(Page(Site(tmp_path, read)).app()) as client,
    ):
        assert "Nobody has a score yet." in client.get("/").text
        end(store, enter(store, made, "Ada", "x"), play(0.9), play(0.8))
        until(lambda: "/submissions/" in client.get("/").text, "it is in the leaderboard")


def test_a_result_that_cannot_be_read_is_left_out_and_the_leaderboard_goes_on(
    tmp_path: Path, opened: Open, caplog: pytest.LogCaptureFixture
) -> None:
    """Also after the phase is closed; the organiser is told whose it is, and what is wrong."""
    made = begin(tmp_path)
    with Store(made.url) as store:
        end(store, enter(store, made, "Ada", "a"), play(0.9), play(0.8))
        broken = enter(store, made, "Bob", "b")
        end(store, broken, play(0.9), play(0.8))
        damaged = store.runs(broken.id)[1]
        store.record_run(replace(damaged, result=damaged.result.replace("0.", "null,0.", 1)))
        client = opened(made)
        site: Site = client.app_state["site"]
        end(store, enter(store, made, "Cleo", "c"), play(0.4), play(0.3))
        store.close_phase("warm-up")
        site.look()
        site.rank()
        board = site.snapshot.boards["warm-up"]
        assert [row.team for row in board.rows] == ["Ada", "Cleo"]
        assert list(board.left_out) == [broken.id]
        assert f"submission {broken.id} is left out" in caplog.text
        log_in(client, made.organiser)
        text = client.get("/organiser").text
        assert f"Bob, {broken.id}: run 1 of submission {broken.id} is not a result" in text
        page = client.get(f"/submissions/{broken.id}")
        assert page.status_code == 200
        assert "result that cannot be read" in page.text


def test_a_database_that_is_away_leaves_the_last_figures(tmp_path: Path) -> None:
    made = begin(tmp_path)
    with Store(made.url, patience_s=0.2) as store:
        end(store, enter(store, made, "Ada", "x"), play(0.9), play(0.8))
        site = Site(tmp_path, store)
        site.rank()
        file, aside = tmp_path / "competition.sqlite", tmp_path / "aside"
        store.close()
        for path in tmp_path.glob("competition.sqlite-*"):
            path.unlink()
        file.rename(aside)
        site.look()
        assert site.snapshot.is_away
        assert site.snapshot.boards["warm-up"].rows
        aside.rename(file)
        site.look()
        assert not site.snapshot.is_away


def test_a_team_reads_what_it_may_still_enter(tmp_path: Path, opened: Open) -> None:
    made = begin(tmp_path, in_practice(quotas={"a_day": 3}))
    with Store(made.url) as store:
        enter(store, made, "Ada", "x")
        client = opened(made)
        text = log_in(client, made.teams["Ada"]).text
        assert "warm-up: you may still enter 0 of 1 at once and 2 of 3 today (UTC)." in text
        store.close_phase("warm-up")
        assert "Nothing can be entered: no phase is open" in client.get("/team").text


def test_news_stand_above_the_leaderboard_the_newest_first(tmp_path: Path, opened: Open) -> None:
    made = begin(tmp_path)
    with Store(made.url) as store:
        for number in range(7):
            store.tell(f"News {number} {HOSTILE}")
        client = opened(made)
        text = client.get("/").text
        told = re.findall(r"<dd>News (\d) ([^<]*)</dd>", text)
        assert told == [(str(number), str(escape(HOSTILE))) for number in (6, 5, 4, 3, 2)]
        store.remove_news(store.news()[0].id)
        client.app_state["site"].look()
        assert "News 6" not in client.get("/").text
        assert 'id="news"' not in client.get("/rules").text
