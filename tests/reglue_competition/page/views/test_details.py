"""The details of a submission's tasks, curves and episodes, by reader and time."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reglue_competition.definition import BenchmarkEntry
from reglue_competition.page.views.details import detail, visible_part
from reglue_competition.page.views.visibility import Reader, Visibility, are_public, visibility
from reglue_competition.store import Store
from tests.reglue_competition.page.competition_builder import Made, begin
from tests.reglue_competition.page.conftest import Open, log_in
from tests.reglue_competition.page.played_submissions import (
    CART_POLE,
    HIDDEN,
    LEARNING,
    enter_played,
    hidden,
    hosts,
)

READERS: Sequence[Reader] = ("public", "team", "organiser")


@pytest.mark.parametrize(
    ("benchmark", "options", "expected"),
    [
        ("MT10", {}, True),
        ("ML1:reach-v3", {}, True),
        ("online:mountain-car", {}, True),
        ("evaluate:gymnasium:Acrobot-v1", {}, True),
        ("evaluate:gymnasium:mine:Maze-v0", {}, False),
        ("evaluate:cart-pole", {"environment_args": {"gravity": 3.0}}, False),
        ("multi-task:my-comp:20", {}, False),
        (HIDDEN, {}, False),
        ("multi-task:tasks/hidden.py:Maze", {}, False),
        ("tasks/mine.toml", {}, False),
        ("online:tasks/order.toml", {}, False),
    ],
)
def test_tasks_are_public_where_a_benchmarks_name_says_them(
    benchmark: str, options: dict[str, Any], *, expected: bool
) -> None:
    entry = BenchmarkEntry.model_validate({"benchmark": benchmark, "options": options})
    assert are_public(entry) == expected


@pytest.mark.parametrize(
    ("benchmark", "tells", "is_over", "is_revealed", "expected"),
    [
        ("MT10", False, False, False, (Visibility.TASKS, Visibility.TASKS, Visibility.EPISODES)),
        (HIDDEN, False, False, False, (Visibility.SCORE, Visibility.SCORE, Visibility.EPISODES)),
        (HIDDEN, True, False, False, (Visibility.TASKS, Visibility.TASKS, Visibility.EPISODES)),
        (
            "online:mine:Maze",
            False,
            False,
            False,
            (Visibility.SCORE, Visibility.CURVES, Visibility.EPISODES),
        ),
        (
            "mine.toml",
            False,
            False,
            False,
            (Visibility.SCORE, Visibility.SCORE, Visibility.EPISODES),
        ),
        (HIDDEN, False, True, False, (Visibility.SCORE, Visibility.EPISODES, Visibility.EPISODES)),
        (HIDDEN, False, True, True, (Visibility.EPISODES,) * 3),
    ],
)
def test_goals_are_the_organisers_alone_until_the_phase_is_over(
    benchmark: str,
    *,
    tells: bool,
    is_over: bool,
    is_revealed: bool,
    expected: tuple[Visibility, ...],
) -> None:
    made = hosts({"benchmark": benchmark}, agents_see={"tasks": tells})
    entry = made.phases[0].benchmarks[0]
    found = tuple(
        visibility(made, entry, reader, is_over=is_over, is_revealed=is_revealed)
        for reader in READERS
    )
    assert found == expected


@pytest.mark.parametrize("tells", [True, False])
def test_when_episodes_succeeded_is_shown_early_only_if_agents_are_told(
    tmp_path: Path, *, tells: bool
) -> None:
    asked = hidden() | {"options": hidden()["options"] | {"hide_success_ends": not tells}}
    made, submission = played(tmp_path, asked)
    with Store(made.url) as store:
        [run] = store.runs(submission)
    whole = detail(run, tmp_path / "runs" / submission / "0")
    assert whole.curves
    assert bool(visible_part(whole, Visibility.TASKS).curves) == tells
    assert visible_part(whole, Visibility.EPISODES).curves == whole.curves


def test_each_task_has_its_score_interval_and_faults(tmp_path: Path, opened: Open) -> None:
    made, submission = played(tmp_path, CART_POLE, hidden())
    client = opened(made)
    text = client.get(f"/submissions/{submission}").text
    row = re.search(r'<th scope="row">CartPole-v1.*?</tr>', text, re.DOTALL)
    assert row, text
    assert "6 episodes" in row[0]
    assert 'data-column="faults">0<' in row[0]
    assert "vault" not in text
    assert "Its tasks are hidden." in text
    log_in(client, made.organiser)
    text = client.get(f"/submissions/{submission}").text
    assert "vault-0" in text
    assert "75.0 % of the planned episodes were solved" in text
    assert text.count('<th scope="row">cellar-0</th>') == 5  # the task's, and its episodes'


def test_how_many_episodes_were_played_again_is_shown(tmp_path: Path, opened: Open) -> None:
    made, submission = played(tmp_path, CART_POLE)
    with Store(made.url) as store:
        (run,) = store.runs(submission)
        told = json.loads(run.result) | {"episodes_retried": 3}
        store.record_run(replace(run, result=json.dumps(told)))
    text = opened(made).get(f"/submissions/{submission}").text
    assert re.search(r"<li><strong>3</strong> played again", text)


def test_an_agent_that_learns_has_its_curve_drawn_and_told(tmp_path: Path, opened: Open) -> None:
    made, submission = played(tmp_path, LEARNING)
    text = opened(made).get(f"/submissions/{submission}").text
    assert "Mean return over 3 completed runs: −20.00 at episode 1" in text
    assert re.search(r'<polyline class="mean" points="[\d. ,]+"', text)
    assert '<th scope="row">4</th><td>−20.00</td>' in text
    assert "run 3" in text


UNSOLVED = {"environment_args": {"solved": {"vault": [0, 0]}}, "num_episodes": 2, "slots": 2}


@pytest.mark.parametrize(
    ("benchmark", "words"),
    [
        (CART_POLE, "played to its end"),
        ({"benchmark": HIDDEN, "options": UNSOLVED}, "played to the end without success"),
    ],
    ids=["cart-pole", "corridor"],
)
def test_failure_is_said_only_of_environments_that_report_success(
    tmp_path: Path, opened: Open, benchmark: dict[str, Any], words: str
) -> None:
    made, submission = played(tmp_path, benchmark)
    client = opened(made)
    log_in(client, made.organiser)
    text = client.get(f"/submissions/{submission}").text
    assert set(re.findall("<td>(played[^<]+)</td>", text)) == {words}


def test_before_the_end_nobody_but_the_organiser_can_tell_two_secrets_apart(
    tmp_path: Path, opened: Open
) -> None:
    visible_part: list[list[str]] = []
    for secret in (1, 2):
        folder = tmp_path / str(secret)
        folder.mkdir()
        made, submission = played(folder, hidden(secret), secret=secret)
        client = opened(made)
        texts = [client.get(path).text for path in ("/", f"/submissions/{submission}")]
        log_in(client, made.teams["Ada"])
        texts.append(client.get(f"/submissions/{submission}").text)
        visible_part.append([told(text, submission) for text in texts])
        log_in(client, made.organiser)
        assert f"vault-{secret}" in client.get(f"/submissions/{submission}").text
    assert visible_part[0] == visible_part[1]


def test_after_the_reveal_everybody_sees_every_episode(tmp_path: Path, opened: Open) -> None:
    made, submission = played(tmp_path, hidden())
    client, path = opened(made), f"/submissions/{submission}"
    with Store(made.url) as store:
        store.close_phase("warm-up")
    client.app_state["site"].look()
    assert "vault" not in client.get(path).text
    log_in(client, made.teams["Ada"])
    assert "vault" in client.get(path).text
    client.cookies.clear()
    (tmp_path / "reveals").mkdir()
    (tmp_path / "reveals" / "warm-up.json").write_text("{}")
    assert "vault-0" in client.get(path).text
    assert "Every episode" in client.get(path).text


def played(folder: Path, *benchmarks: dict[str, Any], secret: int = 0) -> tuple[Made, str]:
    """A competition that plays these, and the id of its one submission."""
    made = begin(folder, hosts(*benchmarks))
    with Store(made.url) as store:
        return made, enter_played(store, made, "Ada", benchmarks, secret).id


def told(text: str, submission: str) -> str:
    """Without what is random, and the time."""
    text = re.sub(r'name="form_token" value="[^"]+"', "", text.replace(submission, "ID"))
    return re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", "TIME", text)
