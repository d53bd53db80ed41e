from __future__ import annotations

import csv
import io
import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography import x509

from reglue.errors import TokenRefused
from reglue.net.join_string import join_string
from reglue_competition.competition_folder import CompetitionFolder
from reglue_competition.store import Organiser
from tests.reglue_competition.cli.conftest import Say

GIVEN = "0123456789abcdef" * 3


def test_a_team_gets_a_join_string_that_holds_all_it_needs(folder: Path, say: Say) -> None:
    done = say("competition", "team", "add", str(folder), "Team A")
    assert done.returncode == 0, done.stderr
    told = join_string(done.stdout.split()[-1])
    found = CompetitionFolder.read(folder)
    assert told.address == "127.0.0.1:4096"
    assert told.authority == found.secrets().tls.authority
    with found.store() as store:
        assert store.bearer(told.token) == store.team("Team A")
    for file in folder.rglob("*"):
        assert not file.is_file() or told.token.encode() not in file.read_bytes()


def test_a_team_gets_a_certificate_where_agents_have_to_show_one(
    folder: Path, say: Say, tmp_path: Path
) -> None:
    file = folder / "competition.toml"
    file.write_text(file.read_text().replace("# client_certificates", "client_certificates"))
    told = json.loads(say("competition", "team", "add", str(folder), "Team Ä", "--json").stdout)
    own = Path(told["certificate"])
    assert own.parent == folder / "certificates"
    more = ["--certificate", str(tmp_path / "second.pem")]
    done = say("competition", "token", "new", str(folder), "Team Ä", *more)
    assert "the team sets REGLUE_CERT to that file" in done.stdout
    for path in (own, tmp_path / "second.pem"):
        assert path.stat().st_mode & 0o777 == 0o600
        made = x509.load_pem_x509_certificate(path.read_bytes())
        assert made.subject.rfc4514_string() == "CN=Team Ä"
        assert b"PRIVATE KEY" in path.read_bytes()
    (folder / "secrets" / "authority.key.pem").unlink()
    done = say("competition", "team", "add", str(folder), "Team B")
    assert (done.returncode, "whose key is elsewhere" in done.stderr) == (2, True)
    assert "Team B" not in say("competition", "team", "list", str(folder)).stdout


def test_a_mistake_in_a_flag_adds_no_team(folder: Path, say: Say) -> None:
    words = ["competition", "team", "add", str(folder), "Team A"]
    for flag in (["--advertise", "x"], ["--advertise", "a:0"], ["--expires", "tomorrow"]):
        done = say(*words, *flag)
        assert done.returncode == 2, done.stdout
    assert json.loads(say("competition", "team", "list", str(folder), "--json").stdout) == []


def test_a_teams_token_may_come_from_the_environment(
    folder: Path, say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The output holds all but the token, and a second time is as the first."""
    words = ["competition", "team", "add", str(folder), "A", "--token-env", "TOKEN_A"]
    done = say(*words)
    assert (done.returncode, "$TOKEN_A holds no token" in done.stderr) == (2, True)
    monkeypatch.setenv("TOKEN_A", GIVEN)
    done, again = say(*words), say(*words)
    assert done.returncode == again.returncode == 0, done.stderr
    assert done.stdout == again.stdout
    assert GIVEN not in done.stdout
    found = CompetitionFolder.read(folder)
    told = join_string(done.stdout.split()[-1], token=GIVEN)
    assert told.authority == found.secrets().tls.authority
    with found.store() as store:
        assert store.bearer(told.token) == store.team("A")
    monkeypatch.setenv("TOKEN_A", GIVEN[1:])
    done = say(*words)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert GIVEN[1:] not in done.stderr


def test_the_organisers_token_may_come_from_the_environment(
    tmp_path: Path, say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OWN", GIVEN)
    made = str(tmp_path / "treasures")
    done = say("competition", "init", made, "--token-env", "OWN")
    again = say("competition", "token", "new", made, "--organiser", "--token-env", "OWN")
    assert done.returncode == again.returncode == 0, done.stderr + again.stderr
    assert GIVEN not in done.stdout + again.stdout
    assert "reglue_" not in done.stdout + again.stdout
    with CompetitionFolder.read(Path(made)).store() as store:
        assert isinstance(store.bearer(GIVEN), Organiser)
        assert len(store.tokens()) == 1


def test_tokens_are_rotated_and_revoked(folder: Path, say: Say) -> None:
    old = json.loads(say("competition", "team", "add", str(folder), "A", "--json").stdout)
    more = ["--advertise", "b.c:9", "--expires", "2100-01-01T00:00Z", "--json"]
    new = json.loads(say("competition", "token", "new", str(folder), "A", *more).stdout)
    assert join_string(new["join"]).address == "b.c:9"
    assert say("competition", "token", "revoke", str(folder), old["token_id"]).returncode == 0
    with CompetitionFolder.read(folder).store() as store:
        assert store.bearer(join_string(new["join"]).token) == store.team("A")
        with pytest.raises(TokenRefused):
            store.bearer(join_string(old["join"]).token)
    listed = json.loads(say("competition", "token", "list", str(folder), "--json").stdout)
    assert [(each["team"], bool(each["revoked_at"])) for each in listed] == [
        (None, False),
        ("A", True),
        ("A", False),
    ]
    assert listed[2]["expires_at"] == "2100-01-01T00:00:00+00:00"
    assert say("competition", "token", "revoke", str(folder), "x").returncode == 2


def test_a_token_may_enter_one_phase_alone(folder: Path, say: Say) -> None:
    say("competition", "team", "add", str(folder), "A")
    done = say("competition", "token", "new", str(folder), "A", "--phase", "practice", "--json")
    with CompetitionFolder.read(folder).store() as store:
        assert store.phase_of(join_string(json.loads(done.stdout)["join"]).token) == "practice"
    listed = json.loads(say("competition", "token", "list", str(folder), "--json").stdout)
    assert [each["phase"] for each in listed] == [None, None, "practice"]
    assert "practice" in say("competition", "token", "list", str(folder)).stdout


def test_an_organisers_token_is_for_the_page(folder: Path, say: Say) -> None:
    done = say("competition", "token", "new", str(folder), "--organiser")
    with CompetitionFolder.read(folder).store() as store:
        assert isinstance(store.bearer(done.stdout.split()[-1]), Organiser)


def test_a_team_that_is_removed_stays_listed(folder: Path, say: Say) -> None:
    say("competition", "team", "add", str(folder), "A")
    assert say("competition", "team", "remove", str(folder), "A").returncode == 0
    (listed,) = json.loads(say("competition", "team", "list", str(folder), "--json").stdout)
    assert listed["name"] == "A"
    assert listed["retired_at"]


def test_a_team_is_forgotten_when_asked_to(folder: Path, say: Say) -> None:
    file = folder / "competition.toml"
    file.write_text(file.read_text().replace("# client_certificates", "client_certificates"))
    for name in ("Ada", "Eve"):
        assert say("competition", "team", "add", str(folder), name).returncode == 0
    assert len([*(folder / "certificates").iterdir()]) == 2
    words = ("competition", "team", "forget", str(folder), "Ada")
    done = say(*words)
    assert (done.returncode, "--yes" in done.stderr) == (2, True)
    assert "transcripts/" in done.stdout
    assert "Ada" in say("competition", "team", "list", str(folder)).stdout
    done = say(*words, "--yes")
    assert (done.returncode, done.stdout) == (0, "the team is team #1 from now on\n"), done.stderr
    (left,) = (folder / "certificates").iterdir()
    assert x509.load_pem_x509_certificate(left.read_bytes()).subject.rfc4514_string() == "CN=Eve"
    for shown in ("status", "runs", "team list", "token list", "export", "events"):
        flags = [] if shown == "events" else ["--json"]
        found = say("competition", *shown.split(), str(folder), *flags).stdout
        assert "Ada" not in found, shown
    assert "team #1" in found
    assert say(*words, "--yes").returncode == 2


def test_a_team_is_forgotten_once_its_submissions_have_ended(folder: Path, say: Say) -> None:
    assert say("competition", "open", str(folder), "practice").returncode == 0
    with CompetitionFolder.read(folder).store() as store:
        waits = store.enter(store.add_team("Ada"), "sarsa", datetime.now(UTC))
    done = say("competition", "team", "forget", str(folder), "Ada", "--yes")
    assert (done.returncode, waits.id in done.stderr) == (2, True)
    assert "Ada" in say("competition", "runs", str(folder)).stdout


def test_in_a_terminal_a_team_is_forgotten_after_a_question(
    folder: Path, say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", Answers("n\ny\n"))
    assert say("competition", "team", "add", str(folder), "Ada").returncode == 0
    words = ("competition", "team", "forget", str(folder), "Ada")
    assert say(*words).returncode == 1
    assert "Ada" in say("competition", "team", "list", str(folder)).stdout
    assert say(*words).returncode == 0
    assert "Ada" not in say("competition", "team", "list", str(folder)).stdout


class Answers(io.StringIO):
    """A terminal in which somebody types these."""

    def isatty(self) -> bool:
        """As a terminal says it."""
        return True


def test_teams_of_a_table_get_a_file_each(folder: Path, say: Say, tmp_path: Path) -> None:
    table, out = tmp_path / "registered.csv", tmp_path / "join-strings"
    table.write_text("mail,team\nada@example.org,Team A\n,\nben@example.org,Команда\n")
    words = ("competition", "team", "import", str(folder), str(table), str(out))
    done = say(*words)
    assert (done.returncode, "2 teams added" in done.stdout) == (0, True), done.stderr
    rows = list(csv.DictReader(io.StringIO((out / "teams.csv").read_text(encoding="utf-8"))))
    assert [(row["mail"], row["team"], row["file"]) for row in rows] == [
        ("ada@example.org", "Team A", "001.join"),
        ("ben@example.org", "Команда", "002.join"),
    ]
    assert out.stat().st_mode & 0o777 == 0o700
    with CompetitionFolder.read(folder).store() as store:
        for row in rows:
            file = out / row["file"]
            assert file.stat().st_mode & 0o777 == 0o600
            token = join_string(file.read_text().strip()).token
            assert store.bearer(token) == store.team(row["team"])
            assert token not in done.stdout
    again = say(*words)
    assert (again.returncode, "not empty" in again.stderr) == (2, True)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("name\nTeam A\n", "column team"),
        ("team\n", "0 rows"),
        ("team,mail\nTeam A,a\n ,b\n", "row 2"),
        ("team\nTeam A\nTeam A\n", "row 2: 'Team A' is in row 1"),
        ("team\nTeam A\nTEAM a\n", "'Team A'"),
        ("team\nTeam A\nOld\n", "'Old'"),
        ("team\nTeam A,too many\n", "row 1"),
        ("team\nТ\x00\n", "row 1|printable"),
    ],
)
def test_a_table_with_a_mistake_adds_no_team(
    folder: Path, say: Say, tmp_path: Path, text: str, why: str
) -> None:
    assert say("competition", "team", "add", str(folder), "Old").returncode == 0
    table, out = tmp_path / "registered.csv", tmp_path / "out"
    table.write_text(text)
    done = say("competition", "team", "import", str(folder), str(table), str(out))
    assert done.returncode == 2, done.stdout
    assert re.search(why, done.stderr.replace("\n", " ")), done.stderr
    assert not out.exists()
    listed = json.loads(say("competition", "team", "list", str(folder), "--json").stdout)
    assert [each["name"] for each in listed] == ["Old"]
