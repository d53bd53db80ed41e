"""Environments of every form, by name, by class and as objects, wherever one is taken."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import reglue
from env_adapters.suites import suite_name
from glue_server import Glue
from reglue.errors import BadArgument, CannotLoad, NotAnEnvironment, UnknownName, UsageError
from reglue_bench.benchmark.benchmark import make_plan
from reglue_bench.rehearsal import Check
from reglue_bench.results.result import Result
from reglue_bench.runs.observer import NullObserver
from reglue_bench.settings import Settings
from reglue_competition.phase_admission import admission
from reglue_competition.phases import Secrets, plan_phase
from tests.env_adapters.jax.jax_pole import Pole as JaxPole
from tests.error_facts import raises
from tests.reglue_bench import many_slots
from tests.reglue_bench.bakeoffs import bake, write
from tests.reglue_bench.benching import commanded
from tests.reglue_bench.many_slots import Herd, Walkers, zeros
from tests.reglue_competition.competitions import definition, phase

HERE = "tests.reglue_bench.many_slots"
EXACT = {
    "a class of reglue.Environment": f"{HERE}:Walkers",
    "a function that makes one": f"{HERE}:herd",
    "a VectorEnv": f"{HERE}:poles",
    "JAX": "tests.env_adapters.jax.jax_pole:Pole",
    "a gymnasium.Env": f"{HERE}:Pole",
}
MAKERS = [Walkers, many_slots.herd, many_slots.poles, JaxPole, many_slots.Pole]
NOT_REPEATABLE = [f"{HERE}:Noise", f"{HERE}:noisy_poles"]

by_name = pytest.mark.parametrize("name", EXACT.values(), ids=EXACT)
by_maker = pytest.mark.parametrize("make", MAKERS, ids=list(EXACT))


def rows(result: Result) -> list[tuple[str, float, int]]:
    return [(each.status, each.return_, each.steps) for each in result.episodes]


def play(benchmark: object, **options: Any) -> Result:
    return reglue.evaluate(benchmark, zeros, num_episodes=7, slots=3, seed=5, **options)


@by_maker
def test_names_classes_functions_and_workers_play_the_same_rows(make: Any) -> None:
    name = f"{make.__module__}:{make.__name__}"
    truth = play(make)
    assert truth.complete
    assert truth.repeatable
    assert rows(play(make, workers=2)) == rows(truth)
    assert rows(play(f"evaluate:{name}")) == rows(truth)


def test_a_class_takes_arguments_by_name_and_as_itself() -> None:
    arguments = {"pace": 0.25}
    truth = rows(play(Herd(0.25)))
    assert truth != rows(play(Herd()))
    for benchmark in (Herd, f"evaluate:{HERE}:Herd", f"evaluate:{HERE}:herd"):
        assert rows(play(benchmark, environment_args=arguments)) == truth


@by_name
def test_an_evaluator_plays_the_rows_of_evaluate(name: str) -> None:
    with reglue.Evaluator(f"evaluate:{name}", num_episodes=7, slots=3, seed=5) as evaluator:
        played = [rows(evaluator(zeros)) for _ in range(2)]
    assert played == [rows(play(f"evaluate:{name}"))] * 2


@by_maker
@pytest.mark.parametrize("as_what", ["name", "class", "lambda"])
def test_make_and_make_vec_play_it(make: Any, as_what: str) -> None:
    forms: dict[str, Callable[[], object]] = {
        "name": lambda: f"{make.__module__}:{make.__name__}",
        "class": lambda: make,
        "lambda": lambda: partial(make),
    }
    with closing(reglue.make_vec(forms[as_what](), 3, seed=1)) as batch:
        seen, _ = batch.reset()
        assert len(seen) == 3
        seen, rewards, *_ = batch.step(batch.action_space.sample())
        assert rewards.shape == (3,)
    with reglue.make(forms[as_what]()) as single:
        first, _ = single.reset()
        single.step(single.action_space.sample())
    assert first in single.observation_space


def test_make_plays_an_object_and_stays_in_this_process() -> None:
    walkers = Walkers()
    with closing(reglue.make_vec(walkers, 2)) as batch:
        batch.reset()
        batch.step(np.zeros(2, np.int64))
        assert walkers._at.shape == (2,)
    with raises(UsageError, "workers", "file.py:Class"):
        reglue.make_vec(walkers, 2, workers=2)
    with raises(UsageError, "workers", "file.py:Class"):
        play(partial(Walkers), workers=2)


@by_maker
@pytest.mark.parametrize("workers", [0, 1])
def test_a_glue_plays_it(make: Any, workers: int) -> None:
    returns = []
    for environment in (make, f"{make.__module__}:{make.__name__}"):
        with Glue(environment=environment, agent=zeros, slots=2, workers=workers, seed=3) as rl:
            rl.init()
            rl.episode(50)
            returns.append(rl.return_())
    assert returns[0] == returns[1]


@by_name
@pytest.mark.parametrize("procedure", ["multi-task", "evaluate", "online"])
def test_each_procedure_plans_it(name: str, procedure: str) -> None:
    steps = {"steps": 10, "runs": 1} if procedure == "online" else {}
    plan = make_plan(Settings(benchmark=f"{procedure}:{name}", **steps))
    assert plan.suite.factory == name
    assert "repeatable" not in plan.parameters


@by_name
def test_a_benchmarks_file_plays_it(name: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(f'procedure = "evaluate"\nenvironment = "{name}"\n', encoding="utf-8")
    assert rows(play(str(file))) == rows(play(f"evaluate:{name}"))


def test_tasks_of_a_file_are_of_several_forms(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    tables = "".join(
        f'[tasks.{task}]\nenvironment = "{HERE}:{name}"\n'
        for task, name in {"alone": "Walkers", "all": "herd"}.items()
    )
    file.write_text(f'procedure = "evaluate"\n{tables}', encoding="utf-8")
    result = play(str(file))
    alone = [each.return_ for each in result.episodes if each.task == "alone"]
    together = [each.return_ for each in result.episodes if each.task == "all"]
    assert alone == together == [row[1] for row in rows(play(f"evaluate:{HERE}:Walkers"))]


def test_a_bakeoff_and_reglue_bench_play_it(tmp_path: Path) -> None:
    benchmark = f'[benchmark]\nname = "evaluate:{HERE}:poles"\nnum_episodes = 3\nslots = 3\n'
    agents = '[agents.first]\nagent = "random"\n', '[agents.second]\nagent = "random"\n'
    results = bake(write(tmp_path, *agents, benchmark=benchmark))
    assert all(result.complete for result in results.values())
    words = ["bench", f"evaluate:{HERE}:poles", "--agent", "random", "--num-episodes", "3"]
    words += ["--slots", "3", "--workers", "1", "--out", str(tmp_path / "run")]
    with commanded(words) as bench:
        code, said = bench.ended()
    assert code == 0, said


def admitted(name: str, folder: Path) -> list[Check]:
    options = {"num_episodes": 4, "slots": 2, "worst_performance": -100.0}
    entry = {"benchmark": f"evaluate:{name}", "options": options}
    whole = definition(phase(benchmarks=[entry]))
    (drawn,) = plan_phase(whole, whole.phases[0], Secrets.create(folder / "secrets"), folder)
    return list(admission(drawn, NullObserver()))


@pytest.mark.parametrize("name", [f"{HERE}:herd", f"{HERE}:poles"])
def test_a_competition_admits_what_is_exact(name: str, tmp_path: Path) -> None:
    assert [check.passed for check in admitted(name, tmp_path)] == [True, True, None, None]


@pytest.mark.parametrize("name", NOT_REPEATABLE)
def test_what_is_not_repeatable_is_evaluated_and_trained_on_alone(
    name: str, tmp_path: Path
) -> None:
    result = play(f"evaluate:{name}")
    assert result.complete
    assert result.repeatable is False
    (environment,) = (each for each in result.repeats if each.who == "environment")
    assert environment.declared
    assert str(environment) == "not repeatable: the environment is declared so"
    with closing(reglue.make_vec(name, 2)) as batch:
        batch.reset()
    for procedure in ("multi-task", "meta-learning"):
        with raises(
            UsageError,
            got=f"{procedure}: of {name}, which says that it is not repeatable",
            wanted=f"evaluate:{name}, as {procedure} compares agents on the same goals",
        ):
            make_plan(Settings(benchmark=f"{procedure}:{name}"))
    with raises(UsageError, "phase public", "not repeatable"):
        admitted(name, tmp_path)


def test_a_lie_about_whole_turns_is_found_before_the_first_step() -> None:
    with raises(
        NotAnEnvironment,
        wanted="whole_turns = True, or an env_step that moves the slots alone that it names",
    ):
        play(f"evaluate:{HERE}:Liar")


def test_gymnax_has_a_family(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gymnax", None)
    with raises(CannotLoad, "gymnax", "pip"):
        make_plan(Settings(benchmark="evaluate:gymnax:CartPole-v1"))


def test_gymnax_plays_by_id_with_its_params(monkeypatch: pytest.MonkeyPatch) -> None:
    @dataclass
    class Params:
        max_steps_in_episode: int = 500

        def replace(self, **changes: Any) -> Params:
            return replace(self, **changes)

    package = SimpleNamespace(registered_envs=["Pole-v1"], make=lambda name: (JaxPole(), Params()))
    monkeypatch.setitem(sys.modules, "gymnax", package)
    limited = {"max_steps_in_episode": 4}
    suite = suite_name("gymnax:Pole-v1", limited)
    with suite.opened() as made:
        assert made.spec.horizon == 4
    with raises(UnknownName, "Pole-v1", got="Pol-v1"):
        suite_name("gymnax:Pol-v1").build()
    with raises(UnknownName, "max_steps_in_episode", got="max_step"):
        suite_name("gymnax:Pole-v1", {"max_step": 4}).build()


def test_an_environment_where_the_agent_is_wanted_is_told_the_order() -> None:
    with raises(BadArgument, "evaluate(benchmark, agent)"):
        reglue.evaluate(zeros, Walkers())
