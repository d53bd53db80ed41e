from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

from reglue.errors import UsageError
from reglue_competition.competition_folder import CompetitionFolder
from tests.error_facts import raises
from tests.reglue_competition.cli.conftest import Say


def test_a_certificate_is_shown_and_renewed(folder: Path, say: Say) -> None:
    words = ["competition", "certificate", str(folder)]
    first = json.loads(say(*words, "--json").stdout)
    assert (first["subject"], first["renewable"]) == ("CN=reglue", True)
    assert "127.0.0.1" in first["names"]
    left = datetime.fromisoformat(first["ends"]) - datetime.now(UTC)
    assert timedelta(days=364) < left <= timedelta(days=365)
    text = say(*words, "--renew").stdout
    assert "364 days left" in text
    assert "until it is started anew" in text
    second = json.loads(say(*words, "--new-authority", "--json").stdout)
    assert second["authority"] != first["authority"]
    with CompetitionFolder.read(folder).store() as store:
        kinds = [event.kind for event in store.events()]
    assert {"certificate renewed", "authority made anew"} <= {*kinds}


def test_migrate_makes_the_tables_that_a_database_lacks(folder: Path, say: Say) -> None:
    found = CompetitionFolder.read(folder)
    (database,) = folder.glob("*.sqlite")
    database.write_bytes(b"")
    with raises(UsageError, "migrate"):
        found.store()
    done = say("competition", "migrate", str(folder))
    assert (done.returncode, done.stdout) == (0, "the database is up to date\n")
    with found.store() as store:
        assert store.teams() == []


def test_a_certificate_without_its_key_is_refused(folder: Path, say: Say) -> None:
    done = say("competition", "serve", str(folder), "--page-certificate", "chain.pem")
    assert done.returncode == 2
    assert "wanted both, which belong together" in done.stderr
