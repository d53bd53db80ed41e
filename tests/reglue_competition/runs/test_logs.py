"""The logs of a server and its submissions."""

from __future__ import annotations

import logging
import re
import subprocess
import sys
from pathlib import Path

import pytest

from glue_server.rpc.handlers import Caller
from reglue_competition.runs.metrics import Metrics
from reglue_competition.runs.store_entries import StoreEntries
from reglue_competition.store import Store, migrate
from reglue_competition.store.database import sqlite_url
from tests.reglue_competition.competitions import definition

SAYS = """
import logging
from reglue_competition.runs.logs import log_to_stderr
log_to_stderr({whose})
log = logging.getLogger("reglue")
log.info("episode %d", 7)
log.warning("it is late", extra={{"team": "Grace"}})
logging.getLogger("another").info("not for people")
try:
    [][0]
except IndexError:
    log.exception("it failed")
"""
OF_ADA = {"team": "Ada", "submission": "s-1"}


def logged(whose: dict[str, str]) -> list[str]:
    """A process's output on stderr."""
    code = SAYS.format(whose=whose)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == ""
    return done.stderr.splitlines()


def test_a_line_for_people_has_the_time_the_level_and_whose_it_is() -> None:
    first, second, third, *rest = logged(OF_ADA)
    at = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}"
    assert re.fullmatch(rf"{at} INFO episode 7 \(team=Ada submission=s-1\)", first)
    assert re.fullmatch(rf"{at} WARNING it is late \(team=Grace submission=s-1\)", second)
    assert re.fullmatch(rf"{at} ERROR it failed \(team=Ada submission=s-1\)", third)
    assert rest[-1] == "IndexError: list index out of range"


def test_a_line_of_nobody_names_nobody() -> None:
    assert logged({})[0].endswith(" INFO episode 7")


def test_the_address_of_an_agent_that_is_let_in_is_not_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    migrate(url := sqlite_url(tmp_path / "competition.sqlite"))
    with Store(url) as store, caplog.at_level(logging.INFO, "reglue"):
        store.apply(definition())
        store.open_phase("public", "9f" * 32)
        token = store.new_token(store.add_team("Ada"))
        entry = StoreEntries(store, Metrics(), definition()).enter(
            token, "sarsa", Caller("ipv4:192.0.2.77")
        )
    (told,) = caplog.records
    assert "192.0.2.77" not in caplog.text
    assert (vars(told)["team"], vars(told)["submission"]) == ("Ada", entry)
