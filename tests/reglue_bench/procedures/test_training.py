"""The procedure that trains an agent before it is judged: what is played, counted and kept."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reglue import Phase, TaskSpec
from reglue.errors import BadArgument, PlanDiffers, UsageError
from reglue.messages.agent_messages import Actions, EndKind, Turn
from reglue_bench import evaluate
from reglue_bench.procedures import training
from reglue_bench.results.result import Result, read_result
from reglue_bench.results.scores import TrainingProgress
from tests.error_facts import raises
from tests.glue_server.playing import Scripted, rows_of, still
from tests.reglue_bench.agents import Seeded

GRID = str(Path(__file__).with_name("grid.toml"))  # of episodes that end
CORRIDOR = "multi-task:tests.worlds:Corridor"
SOLVED = {"solved": {"a": [1, 3, 0], "b": [5, 0, 2]}}


def train(agent: Any, benchmark: str = GRID, **options: Any) -> Result:
    defaults = {"train_steps": 600, "slots": 3, "workers": 0}
    return evaluate(benchmark, agent=agent, **(defaults | options))


def walk(agent: Any, benchmark: str = CORRIDOR, **options: Any) -> Result:
    """In the corridor, whose episodes are 5 steps where they do not succeed before."""
    return train(agent, benchmark, **({"environment_args": SOLVED, "train_steps": 40} | options))


def told(result: Result) -> TrainingProgress:
    assert result.training is not None
    return result.training


def phases(result: Result) -> dict[str, list[tuple[Any, ...]]]:
    found: dict[str, list[tuple[Any, ...]]] = {}
    for row in result.episodes:
        kept = (row.k, row.task, row.variant, row.status, row.return_, row.steps)
        found.setdefault(row.phase, []).append(kept)
    return found


class Witness(Scripted):
    """Notes the phase of each turn, and each freeze."""

    def __init__(self, answer: Any = still) -> None:
        super().__init__(answer)
        self.heard: list[str] = []

    def _note(self, what: str) -> None:
        if self.heard[-1:] != [what]:
            self.heard.append(what)

    def turn(self, turn: Turn) -> Any:
        self._note(turn.phase.name)
        return super().turn(turn)

    def agent_init(self, spec: TaskSpec) -> None:
        self._note("init")
        super().agent_init(spec)

    def agent_freeze(self) -> None:
        self._note("freeze")
        super().agent_freeze()


# Steps.


@pytest.mark.parametrize(("steps", "slots"), [(40, 3), (41, 3), (1, 3), (7, 1), (100, 7)])
def test_exactly_the_steps_asked_for_are_trained(steps: int, slots: int) -> None:
    result = walk(Seeded(), train_steps=steps, slots=slots)
    assert told(result).steps_taken == steps
    assert sum(row[-1] for row in phases(result).get("train", [])) == steps
    assert result.complete
    assert not result.faults


def test_slots_have_equal_shares_and_their_last_episode_is_truncated() -> None:
    agent = Witness()
    result = walk(agent, train_steps=23, slots=3)
    taken = [0, 0, 0]
    for row in phases(result)["train"]:
        taken[(row[0] - 6) % 3] += row[-1]
    assert taken == [8, 8, 7]
    kinds = [k for t in agent.turns if t.phase is Phase.TRAIN for k in t.ends.kinds.tolist()]
    assert kinds == [EndKind.TRUNCATED] * 6  # three at the horizon, three at the end of training


def test_the_agent_is_told_training_then_freeze_then_evaluation() -> None:
    agent = Witness()
    walk(agent)
    assert agent.heard == ["init", "TRAIN", "freeze", "EVALUATE"]


def test_checkpoints_are_evaluations_in_which_nothing_is_frozen() -> None:
    agent = Witness()
    walk(agent, train_steps=40, eval_every=20, eval_episodes=4)
    train_and_check = ["EVALUATE", "TRAIN", "EVALUATE", "TRAIN", "EVALUATE"]
    assert agent.heard == ["init", *train_and_check, "freeze", "EVALUATE"]


# What differs, and what does not.


def test_rows_do_not_depend_on_workers_or_processes() -> None:
    options: dict[str, Any] = {"eval_every": 300, "training_seed": 1}
    here = phases(train(_learner(), **options))
    assert here == phases(train(_learner(), **options, workers=2))
    assert here == phases(train("q_learning", **options))
    assert {"evaluate", "checkpoint", "train"} == here.keys()


def test_another_training_seed_draws_another_training_and_the_same_evaluation() -> None:
    one, other = (walk(Seeded(), training_seed=n, eval_every=20) for n in (1, 2))
    assert phases(one)["train"] != phases(other)["train"]
    for phase in ("evaluate", "checkpoint"):
        cells = [[row[:3] for row in phases(each)[phase]] for each in (one, other)]
        assert cells[0] == cells[1]
    assert one.plan_sha256 == other.plan_sha256


def test_what_is_judged_is_judged_as_without_training() -> None:
    """An agent that learns nothing has the same rows, so that runs pair."""
    alone = evaluate(CORRIDOR, agent=Seeded(), slots=3, workers=0, environment_args=SOLVED)
    after = walk(Seeded())
    assert [row[1:] for row in phases(after)["evaluate"]] == [
        row[1:] for row in phases(alone)["evaluate"]
    ]
    assert after.mean_success_rate == alone.mean_success_rate
    assert after.goals_sha256 == alone.goals_sha256
    assert after.plan_sha256 != alone.plan_sha256


def test_a_checkpoint_plays_the_same_cells_each_time_and_none_that_is_judged() -> None:
    result = walk(Seeded(), eval_every=10, eval_episodes=4)
    checkpoints = phases(result)["checkpoint"]
    assert len(checkpoints) == 5 * 4
    each = [[row[1:] for row in checkpoints[n : n + 4]] for n in range(0, 20, 4)]
    assert each == [each[0]] * 5  # an agent that learns nothing plays them alike
    assert told(result).checkpoints.at == [0, 10, 20, 30, 40]  # type: ignore[union-attr]


def test_an_episode_of_a_checkpoint_ends_also_where_its_environment_never_ends_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(training, "CHECKPOINT_HORIZON", 30)
    result = evaluate(
        "multi-task:tests.reglue_bench.bench_worlds:Pacing",
        agent=Seeded(),
        train_steps=10,
        eval_every=10,
        eval_episodes=2,
        slots=1,
        workers=0,
    )
    assert [row[-1] for row in phases(result)["checkpoint"]] == [1, 30] * 2


# Learning.


def test_a_learner_improves_and_the_curves_show_it() -> None:
    found = told(train(_learner(), train_steps=9000, eval_every=9000))
    assert found.checkpoints is not None
    before, after = found.checkpoints.mean_return
    assert before is not None
    assert after is not None
    assert before < -50 < -25 < after
    late = [each for each in found.curve.mean_return[-20:] if each is not None]
    assert np.mean(late) > -30
    assert sum(found.curve.episodes) == found.episodes - 3  # one a slot was cut short


def test_an_example_learns_nothing_at_a_checkpoint() -> None:
    """Its training is that of a run without checkpoints, but for when episodes are cut."""
    rows = [
        phases(train(_learner(), train_steps=900, slots=1, **more))["train"]
        for more in ({}, _OFTEN)
    ]
    assert [row[1:] for row in rows[0]] == [row[1:] for row in rows[1]]


_NEVER: dict[str, Any] = {}
_OFTEN: dict[str, Any] = {"eval_every": 90, "eval_episodes": 2}


# Agents that give up, or are lost.


def test_abandoned_training_episodes_are_free_and_their_steps_count() -> None:
    def gives_up(turn: Turn) -> Any:
        actions = np.zeros((rows_of(turn), 1))
        leaves = turn.steps.slots[:1] if turn.phase is Phase.TRAIN else ()
        return Actions({"action": actions}, abandon=tuple(int(slot) for slot in leaves))

    result = walk(Scripted(gives_up), train_steps=30)
    assert not result.faults
    assert result.complete
    assert told(result).steps_taken == 30
    assert told(result).episodes_abandoned > 3


def test_an_agent_that_gives_every_episode_up_at_once_ends_the_run() -> None:
    def gives_up(turn: Turn) -> Any:
        slots = (*turn.steps.slots.tolist(), *turn.starts.slots.tolist())
        return Actions({"action": np.zeros((rows_of(turn), 1))}, abandon=slots)

    result = walk(Scripted(gives_up), raise_faults=False)
    assert result.ended_early is not None
    assert "1000 training episodes in a row" in result.ended_early.what
    assert set(result.status_counts) == {"agent_error"}


def test_what_an_agent_that_is_lost_in_training_was_not_judged_on_is_its_fault() -> None:
    def fails(turn: Turn) -> Any:
        if len(agent.turns) == 9:
            raise RuntimeError("out of memory")
        return still(turn)

    agent = Scripted(fails)
    result = walk(agent, raise_faults=False)
    assert result.status_counts == {"agent_error": 6}
    assert result.mean_success_rate == 0
    assert 0 < told(result).steps_taken < 40


def test_an_environment_that_always_fails_ends_the_run(tmp_path: Path) -> None:
    config = {"breaks": 1, "times": 10**6}
    fragile = "multi-task:tests.reglue_bench.bench_worlds:Fragile"
    result = train(Seeded(), fragile, environment_args=config, raise_faults=False)
    assert result.ended_early is not None
    assert result.ended_early.status == "environment_error"


# Resuming.


def test_a_run_that_was_interrupted_in_training_is_begun_anew(tmp_path: Path) -> None:
    def interrupts(turn: Turn) -> Any:
        if len(agent.turns) == 9:
            signal.raise_signal(signal.SIGINT)
        return still(turn)

    agent = Scripted(interrupts)
    with pytest.raises(KeyboardInterrupt):
        walk(agent, out=tmp_path)
    stopped = read_result(tmp_path)
    assert stopped.ended_early is not None
    assert stopped.ended_early.status == "interrupted"
    assert list(stopped.episodes) == []
    again = walk(Scripted(still), out=tmp_path, resume=True)
    assert phases(again) == phases(walk(Scripted(still)))


def test_a_run_is_not_resumed_with_another_training_seed(tmp_path: Path) -> None:
    walk(Seeded(), out=tmp_path, training_seed=1)
    with raises(PlanDiffers, "agent training seed", "1 before", "2 now"):
        walk(Seeded(), out=tmp_path, training_seed=2, resume=True)


# Trials.


class Trials(Witness):
    adapts = True

    def adapt_begin(self) -> None:
        self.heard.append("begin")

    def adapt(self) -> None:
        self.heard.append("adapt")


def test_a_meta_learner_trains_on_trials_as_it_is_judged() -> None:
    agent = Trials()
    options = {"adaptation_episodes": 2, "evaluation_episodes": 1, "num_evals": 1}
    result = walk(
        agent,
        benchmark="meta-learning:tests.worlds:Corridor",
        slots=None,
        **options,
        meta_batch_size=2,
        train_steps=60,
    )
    trial = ["begin", "TRAIN", "adapt", "TRAIN"]
    judged = ["begin", "ADAPT", "adapt", "freeze", "EVALUATE"]
    assert agent.heard == ["init", *trial, *trial, "freeze", *judged]
    assert told(result).steps_taken == 60


# Bad input.


@pytest.mark.parametrize(
    ("options", "kind", "named", "settings"),
    [
        ({"eval_every": 601}, UsageError, ["eval_every=601", 600], {"eval_every"}),
        ({"train_steps": 0}, BadArgument, [0, 1], {"train_steps"}),
        ({"train_steps": "1.5"}, BadArgument, ["'1.5'"], {"train_steps"}),
        (
            {"train_steps": None, "eval_every": 5},
            BadArgument,
            ["eval_every goes with train_steps"],
            {"eval_every", "train_steps"},
        ),
        (
            {"eval_episodes": 5},
            BadArgument,
            ["eval_episodes goes with eval_every"],
            {"eval_episodes", "eval_every"},
        ),
        (
            {"train_steps": 10**9, "eval_every": 1},
            UsageError,
            [10**9 + 1, 10, 10**6],
            {"eval_every"},
        ),
    ],
)
def test_what_cannot_be_trained_is_refused(
    options: dict[str, Any], kind: type[UsageError], named: list[object], settings: set[str]
) -> None:
    with raises(kind, *named, settings=settings):
        train(_learner(), **options)


def test_a_benchmark_that_judges_learning_has_no_training_before() -> None:
    with raises(UsageError, "online:mountain-car", settings={"train_steps"}):
        train("sarsa", "online:mountain-car", slots=None, workers=None)


def _learner() -> Any:
    from reglue.examples.tabular_q import TabularQ

    return TabularQ()
