"""A team changes its token on its page."""

from __future__ import annotations

import html
import re

import pytest
from starlette.testclient import TestClient

from reglue_competition.store import Store
from tests.reglue_competition.page.competition_builder import Made, begin
from tests.reglue_competition.page.conftest import Open, form_token, log_in


@pytest.fixture
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Two teams."""
    found = begin(tmp_path_factory.mktemp("competition"))
    with Store(found.url) as store:
        for team in ("Ada", "Ben"):
            found.teams[team] = store.new_token(store.add_team(team))
    return found


def asked(client: TestClient, address: str, action: str = "") -> tuple[int, str]:
    """The status and the text of the answer to a form of the team's page."""
    form = {"form_token": form_token(client.get("/team")), "action": action}
    answer = client.post(address, data=form)
    return answer.status_code, html.unescape(answer.text)


def test_a_team_makes_a_token_logs_in_with_it_and_revokes_the_rest(
    opened: Open, made: Made
) -> None:
    old, new, other = opened(made), opened(made), opened(made)
    log_in(old, made.teams["Ada"])
    log_in(other, made.teams["Ben"])
    status, text = asked(old, "/team/token")
    shown = re.search(r"<code>(reglue_[\w-]+)</code>", text)
    assert status == 200
    assert shown
    assert shown[1] not in old.get("/team").text  # only once
    assert "<h1>Ada</h1>" in log_in(new, shown[1]).text
    assert "<h1>Ada</h1>" in old.get("/team").text
    status, text = asked(new, "/team/tokens")
    assert (status, "<h1>Ada</h1>" in text) == (200, True)
    assert "<h1>Log in</h1>" in old.get("/team").text  # its session has ended
    assert "<h1>Ben</h1>" in other.get("/team").text


def test_a_token_for_practice_alone_makes_no_other(opened: Open, made: Made) -> None:
    """The phase of practice is `warm-up`."""
    first, second = opened(made), opened(made)
    text = log_in(first, made.teams["Ada"]).text
    assert re.findall(r"Make a [^<]*", text) == [
        "Make a new token",
        "Make a token for warm-up alone",
    ]
    status, text = asked(first, "/team/token", "warm-up")
    shown = re.search(r"<code>(reglue_[\w-]+)</code>", text)
    assert (status, "enters the phase warm-up alone" in text) == (200, True)
    assert shown
    with Store(made.url) as store:
        assert store.phase_of(shown[1]) == "warm-up"
        text = log_in(second, shown[1]).text
        assert re.findall(r"Make a [^<]*", text) == ["Make a new token for warm-up alone"]
        for action in ("", "private", "nowhere"):
            status, text = asked(second, "/team/token", action)
            assert (status, "wanted warm-up" in text) == (409, True)
        status, text = asked(first, "/team/token", "nowhere")
        assert (status, "no phase 'nowhere'" in text) == (409, True)
        store.close_phase("warm-up")
    third = opened(made)
    text = log_in(third, made.teams["Ada"]).text
    assert re.findall(r"Make a [^<]*", text) == ["Make a new token"]


def test_too_many_are_refused(opened: Open, made: Made) -> None:
    client = opened(made)
    log_in(client, made.teams["Ada"])
    found = [asked(client, "/team/token") for _ in range(5)]
    assert [status for status, _ in found] == 4 * [200] + [409]
    assert "wanted fewer than 5" in found[-1][1]


@pytest.mark.parametrize("address", ["/team/token", "/team/tokens"])
def test_nobody_else_may(opened: Open, made: Made, address: str) -> None:
    stranger, organiser, team = opened(made), opened(made), opened(made)
    given = form_token(stranger.get("/team"))
    assert stranger.post(address, data={"form_token": given}).status_code == 403
    assert stranger.post(address, data={}).status_code == 403
    given = form_token(log_in(organiser, made.organiser))
    assert organiser.post(address, data={"form_token": given}).status_code == 403
    log_in(team, made.teams["Ada"])
    assert team.post(address, data={"form_token": given}).status_code == 403  # another browser's
    with Store(made.url) as store:
        assert store.bearer(made.teams["Ada"]) == store.team("Ada")
        assert len(store.tokens()) == 3
