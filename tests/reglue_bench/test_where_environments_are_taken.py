"""The tables of docs/reference/environments.md, cell by cell."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import reglue
from glue_server import Glue
from reglue.errors import ReglueError, UsageError
from reglue_bench.benchmark.benchmark import make_plan
from reglue_bench.settings import Settings
from reglue_competition.phases import plan_phase
from tests.error_facts import raises
from tests.reglue_bench import many_slots
from tests.reglue_bench.many_slots import Walkers, zeros
from tests.reglue_competition.competitions import definition, phase

PAGE = Path(__file__).parents[2] / "docs/reference/environments.md"
MODULE = "tests.reglue_bench.many_slots"


def tables() -> list[list[list[str]]]:
    """The page's tables: rows of cells, the header first."""
    found: list[list[list[str]]] = [[]]
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("|"):
            found[-1].append([cell.strip() for cell in line.strip("|").split("|")])
        elif found[-1]:
            found.append([])
    return [[rows[0], *rows[2:]] for rows in found if rows]


FORMS, KINDS = tables()


def cells(table: list[list[str]]) -> list[Any]:
    """(row, column, whether the page says yes)."""
    header = table[0][1:]
    return [
        pytest.param(row[0], column, said == "yes", id=f"{row[0][:20]}-{column[:20]}")
        for row in table[1:]
        for column, said in zip(header, row[1:], strict=True)
    ]


ENVIRONMENTS: Mapping[str, Callable[[], object]] = {
    "name of a family": lambda: "gymnasium:CartPole-v1",
    "class or function of a file": lambda: f"{many_slots.__file__}:Walkers",
    "class or function of a module": lambda: f"{MODULE}:herd",
    "class or function itself": lambda: many_slots.herd,
    "lambda": lambda: partial(Walkers, pace=0.5),
    "object": Walkers,
}


def behind(environment: object) -> object:
    """With its procedure, if it is a name."""
    return f"evaluate:{environment}" if isinstance(environment, str) else environment


def evaluate(environment: object, **options: Any) -> None:
    reglue.evaluate(behind(environment), zeros, num_episodes=2, slots=2, **options)


def evaluator(environment: object) -> None:
    with reglue.Evaluator(behind(environment), num_episodes=2, slots=2) as made:
        made(zeros)


def make(environment: object) -> None:
    with closing(reglue.make(environment)) as env:
        env.reset()


def make_vec(environment: object) -> None:
    with closing(reglue.make_vec(environment, 2)) as env:
        env.reset()


def glue(environment: object, **options: Any) -> None:
    with Glue(environment=environment, agent=zeros, slots=2, **options) as rl:
        rl.init()
        rl.start()


def workers(environment: object) -> None:
    evaluate(environment, workers=1)
    glue(environment, workers=1)
    with closing(reglue.make_vec(environment, 2, workers=1)) as env:
        env.reset()


def named(environment: object) -> None:
    """Read the text as commands, bake-offs and competitions do."""
    Settings(benchmark=behind(environment), agent="random")
    make_plan(Settings(benchmark=f"evaluate:{environment}"))


WAYS: Mapping[str, Callable[[Any], None]] = {
    "`evaluate`": evaluate,
    "`Evaluator`": evaluator,
    "`make`": make,
    "`make_vec`": make_vec,
    "`Glue`": glue,
    "with `workers`": workers,
    "`reglue bench`": named,
}


@pytest.mark.parametrize(("form", "way", "is_taken"), cells(FORMS))
def test_each_form_is_taken_where_the_page_says(form: str, way: str, is_taken: bool) -> None:
    (environment,) = [make for name, make in ENVIRONMENTS.items() if form.startswith(name)]
    (play,) = [take for name, take in WAYS.items() if name == way or way.startswith(name + ",")]
    if is_taken:
        play(environment())
        return
    with pytest.raises((ReglueError, ValueError)):
        play(environment())


def competition(name: str, cells: str = "shared") -> None:
    entry = {"benchmark": f"evaluate:{name}", "options": {"worst_performance": -100.0}}
    whole = definition(phase(benchmarks=[entry], cells=cells))
    plan_phase(whole, whole.phases[0], None, Path())


def procedures(*names: str) -> Callable[[str], None]:
    def plan(name: str) -> None:
        for procedure in names:
            steps = {"steps": 10, "runs": 1} if procedure == "online" else {}
            make_plan(Settings(benchmark=f"{procedure}:{name}", **steps))

    return plan


@pytest.mark.parametrize(("kind", "way", "is_taken"), cells(KINDS))
@pytest.mark.parametrize("form", [0, 1])
def test_each_kind_is_played_as_the_page_says(
    kind: str, way: str, is_taken: bool, form: int
) -> None:
    exact = kind == "its cells decide its episodes"
    name = (["herd", "poles"] if exact else ["Noise", "noisy_poles"])[form]
    ways: Mapping[str, Callable[[str], None]] = {
        "e": procedures("evaluate", "online"),
        "m": procedures("multi-task"),
        "c": competition,
        "p": partial(competition, cells="own"),
    }
    play = ways[way.strip("`")[0]]
    if is_taken:
        play(f"{MODULE}:{name}")
        return
    with raises(UsageError, "not repeatable"):
        play(f"{MODULE}:{name}")
