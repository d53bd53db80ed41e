"""RESULTS.md of what was measured."""

from __future__ import annotations

from collections.abc import Iterator

from speed.harness import Claim, Section, Series
from speed.results import Results

COMMAND = "make speed"

_INTRODUCTION = f"""# Speed

Written by `{COMMAND}`, which measures all of it again; `make speed ONLY=turns` one section,
`.venv-speed/bin/python benchmarks/speed/run.py --help` says what else there is. Contenders take
turns (A B A B …), a figure is the median of its rounds, and what counts are the ratios in one run
on one machine. `results.json` has every sample.

![Each claim over its goal](results.svg)
"""


def page(results: Results) -> str:
    """The whole page."""
    return "\n".join([_INTRODUCTION, *_goals(results), *_sections(results), *_stood_on(results)])


def number(value: float | None) -> str:
    """With three digits that say something."""
    if value is None:
        return "–"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _goals(results: Results) -> Iterator[str]:
    yield "## Goals\n"
    yield "| goal | what | is | wanted | |"
    yield "| --- | --- | --: | --: | --- |"
    for section in results.sections.values():
        for claim in section.claims:
            yield _goal(section, claim)
    yield ""


def _goal(section: Section, claim: Claim) -> str:
    times = "×" if claim.theirs else ""
    value = section.value(claim)
    verdict = {True: "met", False: "**missed**", None: ""}[section.holds(claim)]
    sign = "≥" if claim.sense == "at least" else "≤"
    wanted = "" if claim.wanted is None else f"{sign} {number(claim.wanted)}{times}"
    is_ = number(value) + (times if value is not None else "")
    return f"| {claim.goal} | {claim.what} | {is_} | {wanted} | {verdict} |"


def _sections(results: Results) -> Iterator[str]:
    for name, section in results.sections.items():
        yield f"## {section.title}\n"
        yield f"`make speed ONLY={name}`, {results.dates[name]}. {section.about}\n"
        yield "| | median | lowest | highest | rounds |"
        yield "| --- | --: | --: | --: | --: |"
        yield from map(_series, section.series)
        yield ""
        yield from (f"- {note}" for note in section.notes)
        if section.notes:
            yield ""


def _series(series: Series) -> str:
    low, high = min(series.samples), max(series.samples)
    figure = f"{number(series.median)} {series.unit}".strip()
    return f"| {series.name} | {figure} | {number(low)} | {number(high)} | {len(series.samples)} |"


def _stood_on(results: Results) -> Iterator[str]:
    yield "## Machine and versions\n"
    yield "| | |"
    yield "| --- | --- |"
    for name, value in {**results.machine, **results.versions}.items():
        yield f"| {name} | {value} |"
    yield ""
