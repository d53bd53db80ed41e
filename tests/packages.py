"""Packages outside the tree, as people install them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

FAMILY = """
from env_adapters.suite_names import FamilyRequest, Family, SuiteName
from tests.worlds import Corridor


def make(request: FamilyRequest) -> SuiteName:
    solved = {"walk": [1] * int(request.rest)}
    return SuiteName("far_corridors:Corridor", {"solved": solved, **request.arguments})


FAMILY = Family(make, "corridors of several variants", "<variants>", ("far_corridors:Corridor",))
"""


def install(
    folder: Path, module: str, source: str, groups: Mapping[str, Mapping[str, str]]
) -> None:
    """Put a distribution of one module into a folder: `groups` are its entry points."""
    (folder / f"{module}.py").write_text(source)
    register(folder, module, groups)


def register(folder: Path, module: str, groups: Mapping[str, Mapping[str, str]]) -> None:
    """Write the files that an installer writes beside a module."""
    about = folder / f"{module}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
    lines = []
    for group, points in groups.items():
        lines += [f"[{group}]", *(f"{name} = {value}" for name, value in points.items())]
    (about / "entry_points.txt").write_text("\n".join(lines))


def install_family(folder: Path) -> None:
    """The family `corridors`; two more are another's name, and broken."""
    names = {"corridors": "FAMILY", "mountain-car": "FAMILY", "broken": "NOTHING"}
    points = {prefix: f"far_corridors:{name}" for prefix, name in names.items()}
    install(folder, "far_corridors", FAMILY, {"reglue.environment_families": points})


PROCEDURE = '''
from dataclasses import replace

from pydantic import BaseModel

from reglue_bench.procedures import MultiTask
from reglue_bench.plots.figures import Axis, Figure, Line, colour, rows
from reglue_bench.plots.figures import Plot, Table
from reglue_bench.renderers.kinds import SUCCESS
from reglue_bench.results.scoring import score
from reglue_bench.terminal.tally import JudgedTally


class Tally(JudgedTally):
    def line(self):
        return f"first goals, {super().line()}"


def steps(result):
    return {row.task: row.steps for row in result.episodes}


def plots(runs, alike, prefix):
    of_success = SUCCESS.plots(runs, alike, prefix)
    if len(runs) > 1:
        return of_success
    [(_, result)] = runs
    table = Table(["task", "steps"], [[task, str(n)] for task, n in steps(result).items()])
    bars = [Line([0, n], [row, row], colour(0), 20) for row, n in enumerate(steps(result).values())]
    figure = Figure(bars, x=Axis("steps"), y=rows(list(steps(result))))
    last = Plot(f"{prefix}-last", "The last walk", "Its steps.", "Steps.", figure, table)
    return [*of_success, last]


MEASURE = replace(
    SUCCESS,
    name="first success",
    notes=lambda result: [f"the last walk took {steps(result)['walk']} steps"],
    caption=lambda first: "First goals alone, paired goal by goal.",
    plots=plots,
)


class Parameters(BaseModel):
    times: int = 2


class FirstGoals(MultiTask):
    """Plays the first goal of each task, so many times."""

    about = "the first goal of each task"
    settings = Parameters
    scored_by = "first_goals:scored"
    counted_by = "first_goals:Tally"

    @classmethod
    def parameters(cls, settings, variants):
        return Parameters.model_validate(settings.procedure_args).model_dump()

    @classmethod
    def of(cls, plan):
        return cls(dict.fromkeys(plan.variants, 1), num_episodes=plan.parameters["times"])

    @classmethod
    def rehearsal(cls, plan):
        return {"procedure_args": {"times": 1}}

    @classmethod
    def measured_by(cls, parameters):
        return "first_goals:MEASURE"


def scored(procedure, played):
    result = score(procedure, played)
    without_return = result.score.model_copy(update={"mean_return": None})
    return result.model_copy(update={"score": without_return})
'''


def install_procedure(folder: Path) -> None:
    """The procedure `first-goals`; one more is another's name."""
    points = dict.fromkeys(("first-goals", "online"), "first_goals:FirstGoals")
    install(folder, "first_goals", PROCEDURE, {"reglue.procedures": points})
