"""Runs whose agents are programs: what becomes of those that fail, and who may dial in."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import reglue
from glue_server.rpc import peer_streams
from reglue.errors import Busy, WrongToken
from reglue_bench.evaluation import start
from reglue_bench.plans.plan import Plan
from reglue_bench.replay import Replay, read_episode
from reglue_bench.results.result import read_result
from reglue_bench.runs.ledger import Ledger
from reglue_bench.runs.observer import NullObserver, RunStarted
from reglue_bench.runs.run import Request
from reglue_bench.settings import Settings
from reglue_bench.terminal.summary import notes
from tests.error_facts import raises
from tests.reglue_bench.agents import Garbled, Seeded
from tests.reglue_bench.toys import corridor_plan, joining, online_plan, play, rows
from tests.waiting import PATIENCE_S

# An agent's fault is its own, and the run says so.


@pytest.mark.parametrize(
    ("name", "status", "said"),
    [
        ("Exits", "agent_disconnected", ["exit code 3", "out of coffee"]),
        ("Hangs", "agent_timeout", ["within 2 s"]),
        ("Raises", "agent_error", ["KeyError: 'coffee'"]),
    ],
)
def test_an_agent_that_exits_hangs_or_raises_ends_the_run_with_its_status_and_words(
    tmp_path: Path, name: str, status: str, said: list[str]
) -> None:
    limit_s = 2.0 if name == "Hangs" else 60.0
    result = play(tmp_path, corridor_plan(), agent_cmd=joining(name), step_timeout=limit_s)
    assert result.status_counts == {status: 2, "missing": 3, "ok": 1}
    assert result.ended_early is not None
    assert result.ended_early.status == status
    assert all(words in result.ended_early.what for words in said)


@pytest.mark.parametrize("agent", [{"agent": Garbled()}, {"agent_cmd": joining("Garbled")}])
def test_words_that_cannot_be_written_or_that_terminals_obey_are_cleaned(
    tmp_path: Path, agent: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL, "reglue")  # pytest-xdist cannot send such words either
    result = play(tmp_path, corridor_plan(), **agent)
    assert result.status_counts == {"agent_error": 2, "missing": 3, "ok": 1}
    assert result.ended_early is not None
    for words in (result.ended_early.what, result.faults[0].detail):
        assert "[31mred" in words
        assert words.replace("\n", "").isprintable()


def test_illegal_actions_end_their_episodes_and_the_run_goes_on(tmp_path: Path) -> None:
    """Each episode that lives to its second action; variant 0 of a is over by then."""
    result = play(tmp_path, corridor_plan(), agent_cmd=joining("Lost"))
    assert result.complete
    assert result.status_counts == {"agent_error": 5, "ok": 1}
    assert "wanted finite numbers" in (tmp_path / "agent.log").read_text()


def test_actions_of_another_shape_are_told_as_shapes(tmp_path: Path) -> None:
    """The agent's own mistake, said where its author looks: nothing is played by it."""
    result = play(tmp_path, corridor_plan(), agent_cmd=joining("Transposed"))
    assert not result.complete
    assert result.ended_early is not None
    told = r"got shape \(\d, \d\), wanted \(\d, 1\): one row for each slot"
    assert re.search(told, result.ended_early.what)
    assert re.search(told, (tmp_path / "agent.log").read_text())


def test_an_agent_that_never_comes_is_disconnected(tmp_path: Path) -> None:
    result = play(tmp_path, corridor_plan(), agent="wait", connect_timeout=0.3)
    assert result.status_counts == {"missing": 6}
    assert result.ended_early is not None
    assert result.ended_early.status == "agent_disconnected"
    assert "within 0.3 s (connect timeout)" in result.ended_early.what
    assert "isolation: no agent has come yet" in notes(result)


def test_an_agent_that_cannot_be_made_ends_the_wait_and_a_result_is_written(tmp_path: Path) -> None:
    result = play(tmp_path, corridor_plan(), agent_cmd=joining("NeverMade"))
    assert result.ended_early is not None
    assert "no weights" in result.ended_early.what
    assert read_result(tmp_path).mean_success_rate == 0.0


def test_an_agent_that_was_stopped_is_ended_and_said_to_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peer_streams, "STOPPED_S", 0.5)
    monkeypatch.setattr(peer_streams, "_LOOK_S", 0.1)
    result = play(tmp_path, corridor_plan(), agent_cmd=joining("Stops"))
    assert result.ended_early is not None
    assert result.ended_early.status == "agent_disconnected"
    for words in ("has been stopped for 0.5 s", "Reglue ended the agent's process"):
        assert words in result.ended_early.what
    assert "SIGKILL" not in result.ended_early.what


@pytest.mark.parametrize("procedure", ["multi-task", "online"])
def test_default_actions_for_a_late_agent_are_counted_kept_and_played_again(
    tmp_path: Path, procedure: str
) -> None:
    plan = online_plan(runs=1) if procedure == "online" else corridor_plan(slots=1)
    asked: dict[str, Any] = {"step_timeout": 0.3, "late": "default-action"}
    result = play(tmp_path, plan, agent_cmd=joining("Dawdles"), **asked)
    assert result.complete
    assert not result.faults
    late = [row for row in result.episodes if row.defaulted]
    assert late
    assert result.defaulted_steps == sum(row.defaulted for row in late)
    with Ledger(tmp_path) as ledger:
        kept = [np.frombuffer(ledger.actions(row.unit, row.attempt, row.k), "<f4") for row in late]
    assert [np.count_nonzero(actions == 0) for actions in kept] == [row.defaulted for row in late]
    for row in late:
        recorded = read_episode(tmp_path, row.k, row.unit)
        replay = Replay(recorded, recorded.suite.build())
        *_, last = replay.moments()
        replay.close()
        assert last.return_ == row.return_


# Agents that dial in.


class Announced(NullObserver):
    """Hears where a run waits for its agent."""

    def __init__(self) -> None:
        self.heard = threading.Event()
        self.text = ""
        self.begun = threading.Event()

    def say(self, text: str) -> None:
        self.text = text
        self.heard.set()

    def begin(self, begun: RunStarted) -> None:
        self.begun.set()


@contextmanager
def waiting_run(folder: Path, plan: Plan) -> Iterator[tuple[Announced, str, str]]:
    """A run that waits for an agent: its watcher, its address and its token."""
    announced = Announced()
    settings = Settings(benchmark="corridor", agent="wait", workers=0, connect_timeout=30)
    run = threading.Thread(target=start, args=(folder, Request(settings, plan), announced))
    run.start()
    assert announced.heard.wait(PATIENCE_S)
    words = announced.text.split()
    yield announced, words[words.index("--address") + 1], words[words.index("--token") + 1]
    run.join(30)
    assert not run.is_alive()


def test_a_run_waits_for_an_agent_and_says_how_to_join(tmp_path: Path) -> None:
    plan = corridor_plan()
    with waiting_run(tmp_path / "run", plan) as (announced, address, token):
        assert "reglue join" in announced.text
        reglue.connect(Seeded(), address, token)
    assert rows(read_result(tmp_path / "run")) == rows(play(tmp_path / "here", plan, Seeded()))


def test_a_wrong_token_is_turned_away_and_the_run_goes_on(tmp_path: Path) -> None:
    with waiting_run(tmp_path, corridor_plan()) as (_, address, token):
        with raises(WrongToken, "wrong token"):
            reglue.connect(Seeded(), address, "guess")
        reglue.connect(Seeded(), address, token)
    assert read_result(tmp_path).complete


class Waits(Seeded):
    """Plays on when it is told to."""

    def __init__(self) -> None:
        self.playing = threading.Event()
        self.go_on = threading.Event()

    def agent_start(self, observations: object, starts: object) -> object:  # type: ignore[override]
        self.playing.set()
        self.go_on.wait(30)
        return super().agent_start(observations, starts)  # type: ignore[arg-type]


def test_a_second_agent_is_turned_away_while_the_first_plays_on(tmp_path: Path) -> None:
    with waiting_run(tmp_path, corridor_plan()) as (_, address, token):
        first = Waits()
        playing = threading.Thread(target=reglue.connect, args=(first, address, token))
        playing.start()
        assert first.playing.wait(PATIENCE_S)
        try:
            with raises(Busy, "its agent already"):
                reglue.connect(Seeded(), address, token)
        finally:
            first.go_on.set()
        playing.join(30)
    assert read_result(tmp_path).complete
