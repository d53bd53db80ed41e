"""The cells that the procedures plan, and the order in which agents are called."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from reglue import Agent
from reglue.spec import Arrays
from reglue_bench import evaluate
from reglue_bench.benchmark.benchmark import make_plan
from reglue_bench.procedures import MetaLearning, MultiTask
from reglue_bench.results.scores import SuccessScore
from reglue_bench.runs.ledger import Ledger
from reglue_bench.settings import read_settings
from tests.reglue_bench.agents import Seeded
from tests.reglue_bench.toys import corridor_plan, play, rows

FIFTY = {"a": 50, "b": 50}


def meta(variants: dict[str, int], **changed: Any) -> MetaLearning:
    defaults: dict[str, Any] = {
        "num_evals": 2,
        "adaptation_steps": 1,
        "adaptation_episodes": 10,
        "evaluation_episodes": 3,
        "meta_batch_size": 20,
        "evaluate_before_adaptation": False,
    }
    return MetaLearning(variants, **(defaults | changed))


def test_multi_task_plays_every_goal_of_every_task_once() -> None:
    procedure = MultiTask(FIFTY, num_episodes=50)
    cells = [procedure.cells(unit)[0] for unit in range(procedure.units)]
    assert Counter((c.task, c.variant, c.repeat) for c in cells) == {
        (task, variant, 0): 1 for task in "ab" for variant in range(50)
    }


def test_more_episodes_than_goals_repeat_them() -> None:
    procedure = MultiTask({"a": 3}, num_episodes=7)
    cells = [procedure.cells(unit)[0] for unit in range(procedure.units)]
    assert [(c.variant, c.repeat) for c in cells] == [
        (0, 0),
        (1, 0),
        (2, 0),
        (0, 1),
        (1, 1),
        (2, 1),
        (0, 2),
    ]


def test_meta_learning_evaluates_forty_goals_three_times_each() -> None:
    procedure = meta(FIFTY, num_evals=4)
    judged = [
        c for unit in range(procedure.units) for c in procedure.cells(unit) if c.phase == "evaluate"
    ]
    assert Counter((c.task, c.variant) for c in judged) == {
        (task, variant): 3 for task in "ab" for variant in range(40)
    }


def test_meta_learning_adapts_as_long_as_it_is_told() -> None:
    procedure = meta(FIFTY, adaptation_steps=2, adaptation_episodes=5)
    adapting = [c for c in procedure.cells(0) if c.phase == "adapt"]
    assert len(adapting) == 20 * 2 * 5


def test_the_last_wave_is_padded_with_idle_slots() -> None:
    procedure = meta({"a": 50}, meta_batch_size=15, num_evals=3)
    assert [len(procedure.trials(unit)) for unit in range(3)] == [15, 15, 10]


def test_further_waves_begin_again_with_the_first_goal() -> None:
    procedure = meta({"a": 50}, meta_batch_size=40, num_evals=2)
    repeats = {c.repeat for c in procedure.cells(1) if c.phase == "evaluate"}
    assert [t.variant for t in procedure.trials(1)] == list(range(40))
    assert repeats == {3, 4, 5}


def test_no_cell_is_planned_twice() -> None:
    procedure = meta(FIFTY, num_evals=9, evaluate_before_adaptation=True)
    cells = [
        (c.task, c.variant, c.repeat, c.phase)
        for unit in range(procedure.units)
        for c in procedure.cells(unit)
    ]
    assert len(set(cells)) == len(cells)


class Diary(Agent):
    """Writes down which routines are called."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def agent_init(self, spec: object) -> None:
        self.calls.append("init")

    def agent_freeze(self) -> None:
        self.calls.append("freeze")

    def adapt_begin(self) -> None:
        self.calls.append("adapt_begin")

    def adapt(self) -> None:
        self.calls.append("adapt")

    def agent_cleanup(self) -> None:
        self.calls.append("cleanup")

    def turn(self, turn: Any) -> Arrays:
        word = f"{turn.phase.name.lower()} "
        if self.calls[-1] != word:
            self.calls.append(word)
        return {"action": np.zeros((len(turn.steps) + len(turn.starts), 1))}


def test_multi_task_calls_init_freeze_evaluate_cleanup(tmp_path: Path) -> None:
    diary = Diary()
    play(tmp_path, corridor_plan(), diary)
    assert diary.calls == ["init", "freeze", "evaluate ", "cleanup"]


@pytest.mark.parametrize("steps", [0, 1, 2])
def test_each_wave_adapts_freezes_and_evaluates(tmp_path: Path, steps: int) -> None:
    diary = Diary()
    plan = corridor_plan("meta-learning", num_evals=2, adaptation_steps=steps)
    play(tmp_path, plan, diary)
    wave = ["adapt_begin", *["adapt ", "adapt"] * steps, "freeze", "evaluate "]
    assert diary.calls == ["init", *wave, *wave, "cleanup"]


def test_evaluating_before_adaptation_thaws_the_agent_again(tmp_path: Path) -> None:
    diary = Diary()
    plan = corridor_plan("meta-learning", num_evals=1, evaluate_before_adaptation=True)
    result = play(tmp_path, plan, diary)
    before = ["adapt_begin", "freeze", "evaluate "]
    after = ["adapt_begin", "adapt ", "adapt", "freeze", "evaluate "]
    assert diary.calls == ["init", *before, *after, "cleanup"]
    assert result.score_as(SuccessScore).before_adaptation is not None


def test_success_ends_an_episode_while_evaluating_and_not_while_adapting(tmp_path: Path) -> None:
    plan = corridor_plan("meta-learning", solved={"a": [2], "b": [2]}, num_evals=1)
    result = play(tmp_path, plan, Seeded())
    assert {(e.phase, e.success, e.steps) for e in result.episodes} == {
        ("adapt", True, 5),
        ("evaluate", True, 2),
    }


class WrongWhile(Seeded):
    """Answers NaN in slot 0 at its first step of a phase."""

    def __init__(self, phase: str) -> None:
        self._wrong = phase
        self._done = False

    def agent_step(self, rewards: Any, observations: Any, steps: Any) -> Any:
        drawn = super().agent_step(rewards, observations, steps)
        if self.phase.name == self._wrong and not self._done:
            self._done = True
            drawn[np.flatnonzero(steps.slots == 0)] = np.nan
        return drawn


def test_an_error_while_adapting_ends_its_trial_alone(tmp_path: Path) -> None:
    plan = corridor_plan("meta-learning", num_evals=1)
    result = play(tmp_path, plan, WrongWhile("ADAPT"))
    assert result.status_counts == {"agent_error": 3, "ok": 3}
    assert {e.task for e in result.episodes if e.status == "agent_error"} == {"a"}
    assert result.complete


def test_an_error_while_evaluating_ends_its_episode_alone(tmp_path: Path) -> None:
    plan = corridor_plan("meta-learning", solved={"a": [0], "b": [0]}, num_evals=1)
    result = play(tmp_path, plan, WrongWhile("EVALUATE"))
    assert result.status_counts == {"agent_error": 1, "ok": 5}


class LeavesWhile(Seeded):
    """Raises in the first adaptation of the second wave."""

    waves = 0

    def adapt_begin(self) -> None:
        self.waves += 1

    def adapt(self) -> None:
        if self.waves == 2:
            raise RuntimeError("out of memory")


def test_an_agent_lost_in_a_wave_loses_that_wave_alone(tmp_path: Path) -> None:
    plan = corridor_plan("meta-learning", num_evals=3)
    result = play(tmp_path, plan, LeavesWhile())
    assert result.status_counts == {"agent_error": 6, "missing": 6, "ok": 6}
    assert not result.complete
    assert result.ended_early is not None
    assert "out of memory" in result.ended_early.what


def test_a_wave_whose_environment_failed_once_goes_on(tmp_path: Path) -> None:
    fuse = tmp_path / "fuse"
    fuse.write_bytes(b"1")
    config = {"fuse": str(fuse)}
    plan = corridor_plan("meta-learning", num_evals=1, suite="tests.worlds:Trapdoor", config=config)
    broken = play(tmp_path / "broken", plan, Seeded(), workers=1)
    whole = play(tmp_path / "whole", corridor_plan("meta-learning", num_evals=1), Seeded())
    assert rows(broken) == rows(whole)
    assert {e.attempt for e in broken.episodes} == {0}


def test_an_episode_that_crashes_its_environment_again_is_a_failure(tmp_path: Path) -> None:
    fuse = tmp_path / "fuse"
    fuse.write_bytes(b"1" * 1000)
    plan = corridor_plan(
        solved={"a": [0]},
        slots=1,
        num_episodes=1,
        suite="tests.worlds:Trapdoor",
        config={"fuse": str(fuse)},
    )
    result = play(tmp_path / "run", plan, Seeded(), workers=1)
    assert result.status_counts == {"crashed": 1}
    assert next(iter(result.episodes)).attempt == 0
    assert fuse.stat().st_size == 1000 - 2  # the worker, and the one that played it again
    assert result.complete


class Recurrent:
    """Meta-World's protocol: a state of the episode, and a memory of the wave."""

    def init(self) -> None:
        self.memory = 0

    def adapt_action(self, observations: Any) -> Any:
        return np.full((len(observations), 1), 0.5), {}

    def step(self, timestep: Any) -> None:
        self.memory += 1

    def adapt(self) -> None:
        pass

    def reset(self, env_mask: Any) -> None:
        before = getattr(self, "state", np.zeros(len(env_mask)))
        self.state = np.where(env_mask, 0, before)

    def eval_action(self, observations: Any) -> Any:
        self.state = self.state + 1
        return (self.memory + self.state)[:, None] / 64  # exact in float32


def test_a_recurrent_agent_keeps_and_loses_its_state_where_it_should(tmp_path: Path) -> None:
    """Its state begins anew with each episode, its memory with each wave and no sooner."""
    solved = {"a": [2, 4, 0], "b": [5, 0, 3]}
    plan = corridor_plan("meta-learning", solved=solved, num_evals=3, adaptation_episodes=2)
    result = play(tmp_path, plan, Recurrent())
    adapted = 2 * 5  # steps of one wave's adaptation
    with Ledger(tmp_path) as ledger:
        for e in result.episodes:
            actions = np.frombuffer(ledger.actions(e.unit, e.attempt, e.k), "<f4") * 64
            if e.phase == "evaluate":
                assert actions.tolist() == [adapted + step for step in range(1, e.steps + 1)]


def test_the_probe_agents_of_meta_world_see_its_order_of_calls_in_a_whole_run(
    tmp_path: Path,
) -> None:
    """Against Meta-World's own utility on its own environments, call by call."""
    import gymnasium as gym
    import metaworld  # noqa: F401 - registers its environments
    from metaworld.evaluation import metalearning_evaluation

    from reglue_bench import evaluate
    from tests.reglue.metaworld_probes import Both

    theirs, ours = Acting(Both()), Acting(Both())
    envs: Any = gym.make_vec(
        "Meta-World/ML1-test",
        env_name="reach-v3",
        seed=3,
        meta_batch_size=2,
        total_tasks_per_cls=4,
        max_episode_steps=6,
        vector_strategy="sync",
    )
    metalearning_evaluation(
        cast(Any, theirs),
        envs,
        num_evals=2,
        adaptation_steps=2,
        adaptation_episodes=2,
        evaluation_episodes=2,
    )
    envs.close()
    evaluate(
        "ML1:reach-v3",
        agent=ours,
        seed=3,
        workers=0,
        meta_batch_size=2,
        num_evals=2,
        adaptation_steps=2,
        adaptation_episodes=2,
        evaluation_episodes=1,  # upstream's 2 are for the task: one for each of its two slots
        episode_horizon=6,
    )
    assert ours.shapes() == theirs.shapes()
    assert [name for name, _ in ours.shapes()].count("step") == 2 * 2 * 2 * 6


class Acting:
    """A probe whose actions have Meta-World's shape."""

    def __init__(self, probe: Any) -> None:
        self._probe = probe

    def shapes(self) -> list[tuple[str, str]]:
        """Calls with dtypes, shapes and masks, without the numbers."""
        return [(name, _shape(what)) for name, what in self._probe.log]

    def eval_action(self, observations: Any) -> Any:
        return np.tile(self._probe.eval_action(observations), 2) * 0

    def reset(self, env_mask: Any) -> None:
        self._probe.reset(env_mask)

    def init(self) -> None:
        self._probe.init()

    def adapt_action(self, observations: Any) -> Any:
        action, aux = self._probe.adapt_action(observations)
        return np.tile(action, 2) * 0, aux

    def step(self, timestep: Any) -> None:
        self._probe.step(timestep)

    def adapt(self) -> None:
        self._probe.adapt()


def _shape(what: Any) -> str:
    match what:
        case (str() as dtype, tuple() as shape, list() as values):
            return f"{dtype}{shape}{values if dtype == '|b1' else ''}"
        case tuple():
            return str([_shape(each) for each in what])
        case dict():
            return str({key: _shape(each) for key, each in what.items()})
        case _:
            return ""


def test_an_episode_that_never_ends_is_cut_off() -> None:
    """As `evaluate:` does; a gridworld has no time limit, and this agent runs into a wall."""
    asked: dict[str, Any] = {"workers": 0, "slots": 1}
    limited = make_plan(read_settings(benchmark="multi-task:gridworld"))
    assert limited.parameters["episode_limit"] == 100_000
    ends = make_plan(read_settings(benchmark="multi-task:gymnasium:CartPole-v1"))
    assert "episode_limit" not in ends.parameters
    result = evaluate("multi-task:gridworld", agent="constant", episode_limit=20, **asked)
    assert result.complete
    assert result.steps.counted == 20


class Grouped(Seeded):
    """Is asked about one group of slots while environments step others."""

    partial_turns = True


def test_a_worker_is_replaced_while_it_plays_other_groups(tmp_path: Path) -> None:
    """The run does not wait in vain for the rows that the worker owed them."""
    plan = corridor_plan(
        solved={"walk": [0] * 4},
        slots=4,
        num_episodes=4,
        suite="tests.worlds:Faulty",
        config={"faults": ["", "raises", "", "raises"]},
    )
    result = play(tmp_path / "run", plan, Grouped(), workers=1, environment_timeout=20.0)
    assert result.status_counts == {"crashed": 2, "ok": 2}
