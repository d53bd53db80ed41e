"""The findings of a verification, and its verdict."""

from __future__ import annotations

import errno
import io
import json
import logging
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reglue.errors import (
    CannotLoad,
    EnvironmentFault,
    NotSupported,
    NotTrusted,
    NotVerified,
    UnknownName,
    UsageError,
)
from reglue_bench import evaluate
from reglue_bench.benchmark.benchmark import make_plan
from reglue_bench.engines.run_identity import machine
from reglue_bench.plans.plan import Plan
from reglue_bench.settings import Settings
from reglue_competition.transcript.contents import Episode
from reglue_competition.transcript.framing import Kind, RecordReader
from reglue_competition.transcript.replayer import check_size
from reglue_competition.transcript.verification import Verdict, verify
from tests.error_facts import raises
from tests.reglue_bench.agents import Garbled, Lost, Seeded, Transposed
from tests.reglue_bench.toys import corridor_plan, online_plan, play
from tests.reglue_competition.transcript.transcripts import (
    PUBLIC_KEY,
    STRANGER,
    Change,
    changed,
    with_episode,
    written,
)
from tests.worlds import Corridor


def verified(path: Path, **options: Any) -> Verdict:
    asked: Any = {"public_key": PUBLIC_KEY, "trust_code": True}
    return verify(path, **asked | options)


def with_action(episode: Episode) -> Episode:
    """The third action, another."""
    actions = np.frombuffer(episode.actions, "<f4").copy()
    actions[2] += 0.25
    return replace(episode, actions=actions.tobytes())


def with_reward(episode: Episode) -> Episode:
    """The third reward, another; the return stays what it was, and so does the score."""
    assert episode.rewards is not None
    rewards = episode.rewards.copy()
    rewards[2] += 0.25
    rewards[3] -= 0.25
    return replace(episode, rewards=rewards)


def with_reward_of(step: int, more: float) -> Any:
    def change(episode: Episode) -> Episode:
        assert episode.rewards is not None
        rewards = episode.rewards.copy()
        rewards[step] += more
        return replace(episode, rewards=rewards)

    return change


def with_told(**fields: Any) -> Any:
    def change(episode: Episode) -> Episode:
        return replace(episode, facts=episode.facts.model_copy(update=fields))

    return change


def with_plan(**changes: Any) -> Change:
    def of(kind: Kind, content: bytes) -> bytes:
        if kind is not Kind.HEADER:
            return content
        header = json.loads(content)
        plan = json.loads(header["plan"]) | changes
        return json.dumps({**header, "plan": json.dumps(plan)}).encode()

    return of


@pytest.mark.parametrize(
    "plan",
    [
        corridor_plan("multi-task"),
        corridor_plan("meta-learning"),
        online_plan(),
        online_plan(steps=23),
    ],
    ids=lambda plan: f"{plan.procedure} {plan.parameters.get('steps', '')}",
)
def test_every_episode_of_any_procedure_stands(tmp_path: Path, plan: Plan) -> None:
    result = play(tmp_path / "run", plan, Seeded())
    verdict = verified(written(tmp_path / "run", tmp_path / "run.reglue"))
    assert verdict.problem == ""
    assert verdict.result is not None
    assert verdict.result.score == result.score
    assert verdict.replayed == verdict.episodes == len(list(result.episodes))


@pytest.mark.parametrize("options", [{}, {"train_steps": 40, "eval_every": 20}])
def test_a_run_under_a_secret_stands_without_it(tmp_path: Path, options: Any) -> None:
    asked: Any = {
        "agent": "random",
        "num_episodes": 3,
        "slots": 2,
        "workers": 0,
        "episode_limit": 20,
    }
    asked |= {"secret": "nobody can guess this", "sandbox": "none", "keep_rewards": True} | options
    result = evaluate("evaluate:cart-pole", out=tmp_path / "run", **asked)
    verdict = verify(written(tmp_path / "run", tmp_path / "run.reglue"), public_key=PUBLIC_KEY)
    assert verdict.problem == ""
    trained = sum(row.phase in ("train", "checkpoint") for row in result.episodes)
    assert (verdict.not_replayable, verdict.replayed) == (trained, verdict.episodes - trained)
    assert bool(trained) == bool(options)


@pytest.mark.parametrize(
    "agent", [Garbled(), Lost(), Transposed()], ids=lambda agent: type(agent).__name__
)
@pytest.mark.parametrize("procedure", ["multi-task", "meta-learning", "online"])
def test_a_run_that_its_agent_failed_stands_as_failed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, agent: object, procedure: str
) -> None:
    caplog.set_level(logging.CRITICAL, "reglue")  # pytest-xdist cannot send such words
    plan = corridor_plan(procedure, slots=1 if procedure == "online" else 2)
    result = play(tmp_path / "run", plan, agent)
    assert result.faults
    verdict = verified(written(tmp_path / "run", tmp_path / "run.reglue"))
    assert verdict.problem == ""


@pytest.mark.parametrize("faults", [["raises"] * 2 + [""], ["raises at start"] * 3])
def test_a_team_is_not_told_what_an_environment_said(tmp_path: Path, faults: list[str]) -> None:
    """It may name the organiser's files; the number of failures stands, and is verified.

    Nor is it told on which machine it played.
    """
    config = {"faults": faults}
    plan = corridor_plan(solved={"walk": [0] * 3}, suite="tests.worlds:Faulty", config=config)
    result = play(tmp_path / "run", plan, Seeded())
    said = [*result.faults, result.ended_early]
    assert "floor" in repr(said) or "door" in repr(said)
    assert result.machines == [machine()]
    path = written(tmp_path / "run", tmp_path / "run.reglue")
    for record in RecordReader(io.BytesIO(path.read_bytes())).records():
        assert not re.search(b"floor|door", record.content)
        assert b"machine of" not in record.content
        assert machine().encode() not in record.content
    verdict = verified(path)
    assert verdict.problem == ""
    assert verdict.result is not None
    assert verdict.result.status_counts == result.status_counts


def parameters(name: str, *values: Any) -> list[dict[str, Any]]:
    """Changes of the plan's parameters: that one has each of these values."""
    known = online_plan().parameters
    return [{"parameters": {**known, name: value}} for value in values]


@pytest.mark.parametrize(
    "changes",
    [
        {"parameters": {}},
        {"variants": ["walk"]},
        {"variants": {"walk": 0}},
        {"more": 1},
        *parameters("runs", float("nan"), "aaa", "3", 0, -1, 10**15, 10**400),
        *parameters("episode_limit", float("nan"), "aaa", 0.5),
        *parameters("episodes", 10**7, 10**12),  # of three
    ],
)
def test_a_plan_that_is_none_does_not_stand(transcript: Path, changes: dict[str, Any]) -> None:
    verdict = verified(changed(transcript, with_plan(**changes)))
    assert "its plan" in verdict.problem


@pytest.mark.parametrize("benchmark", ["MT10", "MT50", "ML45", "online:mountain-car"])
def test_no_benchmark_is_too_large_to_verify(benchmark: str) -> None:
    """Also where a part of it was played: what multiplies its episodes is counted, no horizon."""
    check_size(make_plan(Settings(benchmark=benchmark)), 0)


def test_a_plan_has_a_million_episodes_at_most_or_as_many_as_were_played() -> None:
    plan = make_plan(Settings(benchmark="online:mountain-car", runs=1))
    of_million = replace(plan, parameters={**plan.parameters, "episodes": 1_000_000})
    check_size(of_million, 0)
    more = replace(plan, parameters={**plan.parameters, "episodes": 1_000_001})
    with raises(NotVerified, 1_000_001, 1_000_000):
        check_size(more, 0)
    check_size(more, 1_000_001)


def test_a_procedure_that_is_not_installed_is_told(transcript: Path) -> None:
    with raises(UnknownName, "procedure", got="none such"):
        verified(changed(transcript, with_plan(procedure="none such")))


def test_a_file_that_names_its_own_key_says_so(transcript: Path) -> None:
    assert not verified(transcript, public_key=None).key_known
    assert verified(transcript).key_known


def test_another_key_than_the_organisers_is_found(transcript: Path) -> None:
    verdict = verified(transcript, public_key=STRANGER.public_key().public_bytes_raw())
    assert "wanted" in verdict.problem
    assert not verdict.is_signed


@pytest.mark.parametrize("change", [with_action, with_reward])
def test_an_edit_by_who_lacks_the_key_is_found(transcript: Path, change: Any) -> None:
    verdict = verified(changed(transcript, with_episode(5, change), key=STRANGER))
    assert "changed after it was signed" in verdict.problem
    assert not verdict.is_signed


@pytest.mark.parametrize("change", [with_action, with_reward])
def test_an_edit_by_who_has_the_key_is_found_at_its_step(transcript: Path, change: Any) -> None:
    verdict = verified(changed(transcript, with_episode(5, change)))
    assert verdict.is_signed
    assert "unit 1, episode 1 (walk): not replayed: step 3 of 5: got reward" in verdict.problem
    assert verdict.replayed == 5


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"return_": 77.0}, "got return .*, recorded was return 77.0"),
        ({"success": True}, "recorded was success True"),
        ({"steps": 4}, "got .* bytes of rewards, wanted those of 4 steps"),
        ({"status": "agent_error", "success": True}, "got a success with the status"),
        ({"k": 700}, "no such episode"),
        ({"unit": 700}, "steps before it"),
        ({"attempt": 1}, "got episodes of the tries"),
        ({"attempt": 99}, "got episodes of the tries"),
    ],
)
def test_an_outcome_that_was_edited_is_found(transcript: Path, fields: Any, words: str) -> None:
    number = 3 if "k" in fields else 11 if "unit" in fields else 5
    verdict = verified(changed(transcript, with_episode(number, with_told(**fields))))
    assert not verdict.stands
    assert re.search(words, verdict.problem)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"action_bytes": 0}, "got actions of 4 bytes, recorded was 0 bytes for 5 steps"),
        ({"action_bytes": 0, "reward_bytes": 0, "steps": 0}, "of an episode without steps"),
    ],
)
def test_an_episode_that_nobody_can_play_again_does_not_stand(
    transcript: Path, fields: Any, words: str
) -> None:
    def change(episode: Episode) -> Episode:
        facts = episode.facts.model_copy(update=fields)
        return Episode(facts, b"", episode.rewards if facts.steps else None)

    assert words in verified(changed(transcript, with_episode(11, change))).problem


def test_another_cell_than_the_plans_is_found(transcript: Path) -> None:
    def change(episode: Episode) -> Episode:
        cell = episode.facts.cell.model_copy(update={"seed": 5})
        return replace(episode, facts=episode.facts.model_copy(update={"cell": cell}))

    assert "as the plan has it" in verified(changed(transcript, with_episode(0, change))).problem


@pytest.mark.parametrize(
    ("left_out", "words"),
    [({11}, "unit 2: got 3 episodes"), ({8, 9, 10, 11}, "the score is not that of its episodes")],
)
def test_episodes_that_were_left_out_are_missed(
    transcript: Path, left_out: set[int], words: str
) -> None:
    numbers = iter(range(100))

    def change(kind: Kind, content: bytes) -> bytes | None:
        if kind is Kind.EPISODE and next(numbers) in left_out:
            return None
        left = f'"episodes":{12 - len(left_out)},"result"'.encode()
        return content.replace(b'"episodes":12,"result"', left)

    assert words in verified(changed(transcript, change)).problem


def test_a_score_that_was_edited_is_found(transcript: Path) -> None:
    def change(kind: Kind, content: bytes) -> bytes:
        return content.replace(b'"status_counts":{"ok":3}', b'"status_counts":{"ok":4}')

    problem = verified(changed(transcript, change)).problem
    assert 'status_counts: got {"ok": 4}, wanted {"ok": 3}' in problem


def test_several_processes_find_the_same(transcript: Path) -> None:
    edited = changed(transcript, with_episode(9, with_action))
    facts: list[tuple[int, int]] = []
    verdict = verified(edited, workers=2, watcher=lambda *at: facts.append(at))
    assert verdict == verified(edited)
    assert facts == [(number, 12) for number in range(1, 10)]


def test_an_environment_that_kills_its_process_is_told(tmp_path: Path) -> None:
    (tmp_path / "fuse").touch()
    config = {"fuse": str(tmp_path / "fuse")}
    play(tmp_path / "run", corridor_plan(suite="tests.worlds:Trapdoor", config=config), Seeded())
    path = written(tmp_path / "run", tmp_path / "run.reglue")
    (tmp_path / "fuse").write_bytes(b"xx")
    with raises(EnvironmentFault, "died"):
        verified(path, workers=1)


def test_a_sample_is_said_to_be_one(transcript: Path) -> None:
    verdict = verified(transcript, episodes=4)
    assert (verdict.selected, verdict.replayed, verdict.episodes) == (4, 4, 12)
    assert verified(transcript, episodes=99).selected == 12


def test_a_strangers_environment_runs_only_if_it_is_trusted(
    transcript: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All else is checked."""
    monkeypatch.setattr(Corridor, "__init__", None)  # it is not made
    verdict = verify(transcript, public_key=PUBLIC_KEY)
    assert (verdict.problem, verdict.stands, verdict.replayed) == ("", False, 0)
    assert verdict.is_signed
    assert isinstance(verdict.not_replayed, NotTrusted)
    assert "'tests.worlds:Corridor'" in str(verdict.not_replayed)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (with_told(return_=99.0), "the rewards' sum"),
        (with_reward_of(2, 0.25), "the rewards' sum"),
        (with_told(status="agent_error", success=True), "success with the status"),
    ],
)
def test_what_a_file_says_of_itself_is_checked_without_its_environments(
    transcript: Path, change: Any, words: str
) -> None:
    changed(transcript, with_episode(0, change))
    verdict = verify(transcript, public_key=PUBLIC_KEY)
    assert words in verdict.problem, verdict
    assert "unit 0, episode 0" in verdict.problem


def test_a_score_is_checked_without_its_environments(transcript: Path) -> None:
    def better(kind: Kind, content: bytes) -> bytes:
        if kind is not Kind.SCORE:
            return content
        told = json.loads(content)
        told["result"]["score"]["performance"] = 1.0
        return json.dumps(told).encode()

    verdict = verify(changed(transcript, better), public_key=PUBLIC_KEY)
    assert "the score is not that of its episodes" in verdict.problem
    other = verify(changed(transcript, with_plan(seed=9)), public_key=PUBLIC_KEY)
    assert "as the plan has it" in other.problem


def test_code_that_is_not_here_is_said_to_be_missing(
    transcript: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr("tests.worlds.Corridor")
    verdict = verified(transcript)
    assert verdict.problem == ""
    assert isinstance(verdict.not_replayed, CannotLoad)


def test_episodes_that_cannot_be_repeated_are_signed_and_not_replayed(tmp_path: Path) -> None:
    noisy = "evaluate:tests.reglue_bench.many_slots:Noise"
    asked: Any = {"agent": "random", "num_episodes": 3, "slots": 2, "worst_performance": -9.0}
    evaluate(noisy, out=tmp_path / "run", keep_rewards=True, sandbox="none", **asked)
    verdict = verified(written(tmp_path / "run", tmp_path / "run.reglue"))
    assert (verdict.problem, verdict.is_signed, verdict.replayed) == ("", True, 0)
    assert not verdict.stands
    assert isinstance(verdict.not_replayed, NotSupported)


def test_a_damaged_file_does_not_stand(transcript: Path) -> None:
    transcript.write_bytes(transcript.read_bytes()[:-1])
    verdict = verified(transcript)
    assert "signature" in verdict.problem
    assert verdict.header is None
    with raises(UsageError, transcript.with_name("none"), os.strerror(errno.ENOENT)):
        verified(transcript.with_name("none"))


def test_a_score_or_a_return_that_is_no_number_does_not_stand(tmp_path: Path) -> None:
    """Even where the organiser's key signed it, as an earlier version's did."""
    play(tmp_path / "run", corridor_plan(), Seeded())

    def with_nan(kind: Kind, content: bytes) -> bytes:
        if kind is not Kind.SCORE:
            return content
        return re.sub(rb'"mean_success_rate":[0-9.]+', b'"mean_success_rate":NaN', content)

    with_infinity = with_episode(1, with_told(return_=float("inf")))
    for change, named in ((with_nan, "mean_success_rate"), (with_infinity, "return")):
        path = changed(written(tmp_path / "run", tmp_path / "run.reglue"), change)
        verdict = verified(path)
        assert not verdict.stands
        assert named in verdict.problem
        assert "finite" in verdict.problem


@pytest.mark.parametrize("status", ["crashed", "ok"])
def test_an_episode_whose_return_is_not_finite_stands_only_as_crashed(
    tmp_path: Path, status: str
) -> None:
    plan = corridor_plan(suite="tests.reglue_bench.bench_worlds:Steep")
    result = play(tmp_path / "run", plan, Seeded(), keep_rewards=True)
    number = [row.status for row in result.episodes].index("crashed")
    change = with_episode(number, with_told(status=status))
    verdict = verified(changed(written(tmp_path / "run", tmp_path / "run.reglue"), change))
    assert verdict.stands == (status == "crashed")
    assert ("got return" in verdict.problem) == (status == "ok")
