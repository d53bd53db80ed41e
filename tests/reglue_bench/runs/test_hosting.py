"""Admission of peers to a run, and the time that it gives them."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

import reglue
from reglue.errors import BadArgument, UsageError, WrongTls, WrongToken
from reglue.net.join_string import join_string
from reglue_bench import evaluate
from reglue_bench.evaluation import resume
from reglue_bench.runs.ledger import Ledger
from reglue_bench.runs.observer import NullObserver
from reglue_bench.settings import Settings, read_settings
from tests.error_facts import raises
from tests.leftovers import nothing_left
from tests.reglue_bench.agents import Seeded
from tests.reglue_bench.remote import Unheard, address_in
from tests.reglue_bench.toys import corridor_plan, joining, play, rows
from tests.waiting import PATIENCE_S

TOKEN = "a-token-of-the-hosts"


class Announced(Unheard):
    """Lets a test wait until a run has said how to join it."""

    def __init__(self) -> None:
        super().__init__()
        self.heard = threading.Event()

    def say(self, text: str) -> None:
        super().say(text)
        self.heard.set()


class Waiting(threading.Thread):
    """A run that waits for its agent; `where` is how to join it."""

    def __init__(self, folder: Path, **options: Any) -> None:
        super().__init__()
        self.folder, self.options, self.watcher = folder, options, Announced()
        self.start()
        assert self.watcher.heard.wait(PATIENCE_S)
        self.where = address_in(self.watcher.said[0])

    def run(self) -> None:
        self.result = play(
            self.folder,
            corridor_plan(),
            "wait",
            watcher=self.watcher,
            connect_timeout=30,
            **self.options,
        )


def test_a_join_string_brings_an_agent_in_over_tls(tmp_path: Path) -> None:
    with nothing_left():
        run = Waiting(tmp_path / "run", tls=True)
        assert "--address 'reglue://" in run.watcher.said[0]
        invited = join_string(run.where)
        with pytest.raises(WrongTls):
            reglue.connect(Seeded(), invited.address, invited.token)
        reglue.connect(Seeded(), run.where)
        run.join(30)
    assert rows(run.result) == rows(play(tmp_path / "here", corridor_plan(), Seeded()))


def test_a_program_that_is_started_comes_over_tls_too(tmp_path: Path) -> None:
    result = play(tmp_path, corridor_plan(), agent_cmd=joining("Seeded"), tls=True)
    assert result.complete


def test_the_host_may_choose_the_address_that_is_told(tmp_path: Path) -> None:
    heard = Unheard()
    options: dict[str, Any] = {"token": TOKEN, "advertise": "hub.example.org:4096"}
    play(tmp_path, corridor_plan(), "wait", watcher=heard, connect_timeout=0.1, **options)
    told = join_string(address_in(heard.said[0]))
    assert (told.address, told.token) == ("hub.example.org:4096", TOKEN)


def test_what_secures_a_run_is_not_kept(tmp_path: Path) -> None:
    play(tmp_path, corridor_plan(), agent_cmd=joining("Seeded"), token=TOKEN, tls=True)
    for file in tmp_path.iterdir():
        assert TOKEN.encode() not in file.read_bytes()
    with Ledger(tmp_path) as ledger:
        kept = json.loads(ledger.about["settings"])
    assert (kept["token"], kept["tls"]) == (None, False)
    assert resume(
        tmp_path, NullObserver(), token="another", tls=True, reconnect_window=1.0
    ).complete


def test_a_wrong_token_is_told(tmp_path: Path) -> None:
    run = Waiting(tmp_path, token=TOKEN)
    with pytest.raises(WrongToken):
        reglue.connect(Seeded(), join_string(run.where).address, "guess")
    reglue.connect(Seeded(), run.where)
    run.join(30)
    assert run.result.complete


def test_a_certificate_needs_its_key(tmp_path: Path) -> None:
    with raises(UsageError, settings={"ca", "tls_cert", "tls_key"}):
        play(tmp_path / "run", corridor_plan(), "wait", tls_cert=tmp_path / "cert.pem")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("name", ["reconnect_window", "bank", "adapt_budget", "run_budget"])
def test_times_are_not_negative(name: str) -> None:
    with raises(BadArgument, -1, 0, settings={name}):
        read_settings(benchmark="MT1:reach-v3", **{name: -1})


def test_an_agent_that_uses_its_time_up_is_timed_out(tmp_path: Path) -> None:
    result = play(tmp_path, corridor_plan(), agent_cmd=joining("Hangs"), run_budget=1.0)
    assert result.ended_early is not None
    assert result.ended_early.status == "agent_timeout"


def test_a_bank_lends_time_to_slow_turns(tmp_path: Path) -> None:
    slow: dict[str, Any] = {"agent_cmd": joining("Pausing"), "step_timeout": 0.05}
    assert play(tmp_path / "poor", corridor_plan(), **slow).ended_early is not None
    assert play(tmp_path / "rich", corridor_plan(), bank=30.0, **slow).complete


def test_budgets_are_told_to_the_glue() -> None:
    asked = Settings(
        benchmark="x", bank=1, adapt_budget=2, run_budget=3, environment_timeout=4
    ).timeouts
    assert (asked.bank_s, asked.adapt_s, asked.run_s, asked.environment_s) == (1, 2, 3, 4)


def test_how_a_run_is_hosted_is_not_in_its_plan(tmp_path: Path) -> None:
    options: dict[str, Any] = {
        "environment_args": {"solved": {"walk": [0]}},
        "agent": Seeded(),
        "workers": 0,
        "out": tmp_path,
    }
    name = "multi-task:tests.worlds:Corridor"
    first = evaluate(name, **options)
    hosted: dict[str, Any] = {
        "token": TOKEN,
        "reconnect_window": 2.0,
        "bank": 3.0,
        "run_budget": 60.0,
        "adapt_budget": 5.0,
    }
    again = evaluate(name, resume=True, **options, **hosted)
    assert again.plan_sha256 == first.plan_sha256
