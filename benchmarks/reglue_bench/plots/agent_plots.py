"""The agents of a report: runs that differ in their training seed alone are one agent's."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from reglue.errors import UsageError
from reglue_bench.float_range import FloatArray, scaled
from reglue_bench.measures.seed_statistics import bounds, over_seeds, scores_by_task
from reglue_bench.plots.figures import SUCCESS, colour
from reglue_bench.plots.views import NamedRun
from reglue_bench.results.result import Result
from reglue_bench.results.scores import TaskScore


@dataclass(frozen=True, slots=True)
class PlottedAgent:
    """One entry of a plot: an agent over its training seeds, or a single run."""

    name: str  # empty if it is alone
    colour: str
    runs: Sequence[NamedRun]
    scores: Mapping[str, TaskScore]  # by task


def names(results: Sequence[Result], folders: Sequence[Path]) -> list[str]:
    """The names of runs in a report: labels, or labels and training seeds, or else folders."""
    labels = [result.agent.label for result in results]
    # Labels say more than folders do, as long as they tell the runs apart.
    if len(set(labels)) == len(labels):
        return labels
    distinct = []
    for result, label, folder in zip(results, labels, folders, strict=True):
        seed = result.agent.training_seed
        if seed is not None:
            distinct.append(f"{label} · seed {seed}")
        else:
            distinct.append(label if labels.count(label) == 1 else folder.name)
    return distinct


def colours(runs: Sequence[NamedRun]) -> list[str]:
    """A colour for each run; training seeds of one agent share it."""
    keys: list[Hashable] = [
        place if run.agent.training_seed is None else _key(run)
        for place, (_, run) in enumerate(runs)
    ]
    places = {key: place for place, key in enumerate(dict.fromkeys(keys))}
    return [colour(places[key]) for key in keys]


def plotted_agents(runs: Sequence[NamedRun]) -> list[PlottedAgent]:
    """Agents over their training seeds, and runs of others, in the order of their first runs."""
    if len(runs) == 1:
        return [PlottedAgent("", SUCCESS, runs, runs[0][1].score_by_task)]
    whose = {id(run): name for name, of in groups_of(runs).items() for run in of}
    by_agent: dict[str, list[tuple[NamedRun, str]]] = {}
    for named_run, shade in zip(runs, colours(runs), strict=True):
        agent = whose.get(id(named_run[1]), f"run {named_run[0]}")
        by_agent.setdefault(agent, []).append((named_run, shade))
    return [
        _plotted_agent(name, of, is_agent=name in whose.values()) for name, of in by_agent.items()
    ]


def seeds_caption(of: Sequence[PlottedAgent]) -> str:
    """The sentence that a caption adds if some entries are agents over training seeds."""
    if all(len(each.runs) == 1 for each in of):
        return ""
    return (
        " Of an agent with several training seeds it is the mean over them, whose interval, from "
        "five seeds on, allows for other seeds."
    )


def groups_of(runs: Sequence[NamedRun]) -> dict[str, list[Result]]:
    """The agents, as in `agents_of`, whose runs can be taken together."""
    return {name: group for name, group in agents_of(runs).items() if _compares(group)}


def agents_of(runs: Sequence[NamedRun]) -> dict[str, list[Result]]:
    """The runs of agents with two training seeds or more on one plan, by label."""
    groups: dict[tuple[str, str, str, bool], dict[int, Result]] = {}
    for _, run in runs:
        if run.agent.training_seed is not None and run.complete:
            groups.setdefault(_key(run), {})[run.agent.training_seed] = run
    by_name: dict[str, list[Result]] = {}
    for (label, title, plan, _), group in groups.items():
        if len(group) > 1:
            name = label if label not in by_name else f"{label} on {title} {plan[:6]}"
            by_name[name] = list(group.values())
    return by_name


def _key(run: Result) -> tuple[str, str, str, bool]:
    return run.agent.label, run.title, run.plan_sha256, bool(run.privileged)


def _compares(group: Sequence[Result]) -> bool:
    """Whether its runs can be taken together: of returns every episode has to be there."""
    try:
        scores_by_task(group)
    except UsageError:
        return False
    return True


def _plotted_agent(
    name: str, of: Sequence[tuple[NamedRun, str]], *, is_agent: bool
) -> PlottedAgent:
    (first, shade), runs = of[0], [named_run for named_run, _ in of]
    if not is_agent:
        return PlottedAgent(first[0], shade, runs, first[1].score_by_task)
    scores = scores_by_task([run for _, run in runs])
    return PlottedAgent(
        name, shade, runs, {task: _score(task, each, first[1]) for task, each in scores.items()}
    )


def _score(task: str, of_task: FloatArray, run: Result) -> TaskScore:
    """A task's score from scores of shape (seeds, goals)."""
    lowest, highest = bounds(run, [of_task])
    interval = over_seeds([[of_task]], lowest=lowest, highest=highest).interval95
    mean = float(scaled(np.mean, of_task))
    return TaskScore(task, run.measure.name, mean, interval, len(of_task), "training seed")
