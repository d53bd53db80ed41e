"""The log of an image's agent: its readers, its length, and the parts left out."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from glue_server.processes.sandboxes.launch import Used
from reglue_competition.page.views.agent_log import MOST_BYTES
from reglue_competition.store import SCORED, Store
from tests.reglue_competition.competitions import definition, phase
from tests.reglue_competition.page.competition_builder import Made, begin, end, play
from tests.reglue_competition.page.conftest import Open, log_in

MIB = 2**20
IMAGE = f"sha256:{16 * 'beef'}"


def printed(made: Made, folder: Path, text: bytes, image: str | None = IMAGE) -> str:
    """A finished submission whose agent has printed that: its id. Eve is of another team."""
    with Store(made.url) as store:
        for team in ("Ada", "Eve"):
            made.teams[team] = store.new_token(store.add_team(team))
        entered = store.enter(store.team("Ada"), "x", datetime.now(UTC), image=image)
        end(store, entered, play(0.9))
    runs = folder / "runs" / entered.folder
    runs.mkdir(parents=True)
    (runs / "agent.log").write_bytes(text)
    return entered.id


@pytest.mark.parametrize("kind", ["practice", "public", "private"])
def test_its_team_reads_it_unless_it_may_tell_what_is_hidden(
    tmp_path: Path, opened: Open, kind: str
) -> None:
    made = begin(tmp_path, definition(phase(kind=kind, agents="submitted")))
    of = f"/submissions/{printed(made, tmp_path, b'an observation')}"
    stranger, team, other, organiser = (opened(made) for _ in range(4))
    log_in(team, made.teams["Ada"])
    log_in(other, made.teams["Eve"])
    log_in(organiser, made.organiser)

    def readers() -> list[bool]:
        """Flags of those who may read it; the link is on their pages."""
        may = []
        for client in (stranger, team, other, organiser):
            found = client.get(f"{of}/log")
            may.append(found.status_code == 200)
            assert (f"{of}/log" in client.get(of).text) == may[-1]
            assert ("an observation" in found.text) == may[-1]
        return may

    assert readers() == [False, kind != "private", False, True]
    with Store(made.url) as store:
        store.close_phase("public")
    (tmp_path / "reveals").mkdir()
    (tmp_path / "reveals" / "public.json").write_text("{}")
    for client in (stranger, team, other, organiser):
        client.app_state["site"].look()
    assert readers() == [False, True, False, True]


@pytest.mark.parametrize("kind", ["public", "private"])
def test_how_it_failed_and_what_it_used_tell_nothing_of_what_is_hidden(
    tmp_path: Path, opened: Open, kind: str
) -> None:
    made = begin(tmp_path, definition(phase(kind=kind, agents="submitted")))
    of = printed(made, tmp_path, b"")
    with Store(made.url) as store:
        store.set_status(of, "failed", "agent_error: saw 0.25", SCORED, used=Used(90.5, MIB))
    team, organiser = opened(made), opened(made)
    log_in(team, made.teams["Ada"])
    log_in(organiser, made.organiser)
    exact, words = "90.5 s of a processor and 1 MiB", "saw 0.25"

    def told() -> str:
        team.app_state["site"].look()
        page = organiser.get(f"/submissions/{of}").text
        assert words in page
        assert exact in page
        return str(team.get(f"/submissions/{of}").text)

    page = told()
    assert (words in page) == (exact in page) == (kind == "public")
    assert "agent_error" in page
    assert ("up to 128 s of a processor and 1 MiB" in page) == (kind == "private")
    with Store(made.url) as store:
        store.close_phase("public")
        store.reveal_phase("public")
    page = told()
    assert words in page
    assert exact in page


@pytest.fixture
def made(tmp_path: Path) -> Made:
    return begin(tmp_path, definition(phase(agents="both")))


def test_its_end_is_shown_as_text_that_hides_nothing(
    tmp_path: Path, opened: Open, made: Made
) -> None:
    lines = b"<script>\x1b[2J\x00\xff\r\n" + 300_000 * b"x" + b"\nthe end\n"
    of = printed(made, tmp_path, lines)
    client = opened(made)
    log_in(client, made.teams["Ada"])
    found = client.get(f"/submissions/{of}/log")
    assert found.headers["content-type"] == "text/plain; charset=utf-8"
    assert found.headers["x-content-type-options"] == "nosniff"
    cut, rest = found.text.split("\n", 1)
    assert cut == f"… {len(lines) - MOST_BYTES:,} bytes before this are left out"
    assert rest.endswith("x\nthe end\n")
    assert len(rest) == MOST_BYTES


def test_what_could_command_a_terminal_is_left_out(
    tmp_path: Path, opened: Open, made: Made
) -> None:
    of = printed(made, tmp_path, "a\x1b[2J\x07b\r\nс\u202ed\n".encode() + b"\xff\n")
    client = opened(made)
    log_in(client, made.teams["Ada"])
    assert client.get(f"/submissions/{of}/log").text == "a[2Jb\nсd\n�\n"


@pytest.mark.parametrize(("text", "image"), [(b"", IMAGE), (b"ours", None)])
def test_where_there_is_none_no_link_leads_to_it(
    tmp_path: Path, opened: Open, made: Made, text: bytes, image: str | None
) -> None:
    """It printed nothing, or its agent connected."""
    of = f"/submissions/{printed(made, tmp_path, text, image)}"
    client = opened(made)
    log_in(client, made.organiser)
    assert client.get(f"{of}/log").status_code == 404
    assert f"{of}/log" not in client.get(of).text
