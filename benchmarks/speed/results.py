"""Results: samples as JSON, the page RESULTS.md and its picture results.svg."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from speed.launches import Claim, Section, Series

PACKAGES = (
    *("reglue", "grpcio", "protobuf", "numpy", "metaworld", "mujoco", "gymnasium"),
    *("rlglue", "dm-env-rpc", "openenv"),
)
_CODEC = "2.02, converted to Python 3"


def machine() -> dict[str, str]:
    """Processor, cores, memory, system and Python."""
    gigabytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    return {
        "processor": _processor(),
        "cores": str(len(os.sched_getaffinity(0))),
        "memory": f"{gigabytes:.0f} GB",
        "system": _system(),
        "Python": platform.python_version(),
    }


def versions() -> dict[str, str]:
    """Versions of Reglue, its dependencies, and the other libraries."""
    return {name: _version_of(name) for name in PACKAGES}


def _version_of(name: str) -> str:
    if name == "rlglue":
        return _CODEC
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def _processor() -> str:
    facts = Path("/proc/cpuinfo")
    if facts.exists():
        for line in facts.read_text(encoding="utf-8").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()


def _system() -> str:
    try:
        return f"{platform.freedesktop_os_release()['PRETTY_NAME']}, {platform.machine()}"
    except OSError:
        return f"{platform.system()} {platform.release()}, {platform.machine()}"


@dataclass(slots=True)
class Results:
    """Sections by name, and what they were measured on."""

    machine: dict[str, str] = field(default_factory=machine)
    versions: dict[str, str] = field(default_factory=versions)
    sections: dict[str, Section] = field(default_factory=dict)
    dates: dict[str, str] = field(default_factory=dict)  # of each section

    def add(self, name: str, section: Section) -> None:
        """Keep what was just measured."""
        self.sections[name] = section
        self.dates[name] = time.strftime("%Y-%m-%d")

    def write(self, path: Path) -> None:
        """Write it down."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")


def read(path: Path) -> Results:
    """The results in a file."""
    stored: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    sections = {name: _section(each) for name, each in stored.pop("sections").items()}
    return Results(**stored, sections=sections)


def begun(path: Path) -> Results:
    """Earlier results of this machine and these versions, to be added to; else empty ones."""
    if path.exists():
        before, now = read(path), Results()
        if (before.machine, before.versions) == (now.machine, now.versions):
            return before
    return Results()


def _section(stored: Mapping[str, Any]) -> Section:
    return Section(
        title=stored["title"],
        about=stored["about"],
        series=tuple(
            Series(each["name"], each["unit"], tuple(each["samples"]), each.get("is_least", False))
            for each in stored["series"]
        ),
        claims=tuple(Claim(**each) for each in stored["claims"]),
        notes=tuple(stored["notes"]),
    )


COMMAND = "make speed"

_INTRODUCTION = f"""# Speed

Written by `{COMMAND}`, which measures all of it again; `make speed ONLY=turns` one section,
`.venv-speed/bin/python -m speed --help` says what else there is. Contenders take
turns (A B A B …), a figure is the median of its rounds (of processor time the least), and what
counts are the ratios in one run on one machine. `build/speed/results.json` has every sample then.

![How many times as fast Reglue is as each peer](results.svg)
"""


def page(results: Results) -> str:
    """The whole page."""
    return "\n".join([_INTRODUCTION, *_claims(results), *_sections(results), *_stood_on(results)])


def number(value: float | None) -> str:
    """With three digits that say something."""
    if value is None:
        return "–"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _claims(results: Results) -> Iterator[str]:
    each = [(of, claim) for of in results.sections.values() for claim in of.claims]
    yield "## Beside others\n"
    yield "How many times as fast Reglue is: **below 1 it is slower**, in bold.\n"
    yield from _table([pair for pair in each if pair[1].is_peer], "times as fast")
    yield "## What it costs\n"
    yield from _table([pair for pair in each if not pair[1].is_peer], "figure")


def _table(claims: Iterable[tuple[Section, Claim]], heading: str) -> Iterator[str]:
    yield f"| | {heading} | what it means |"
    yield "| --- | --: | --- |"
    for section, claim in claims:
        value = section.value(claim)
        figure = number(value) + "×" * (claim.theirs is not None and value is not None)
        if claim.is_peer and value is not None and value < 1:
            figure = f"**{figure}**"
        yield f"| {claim.what} | {figure} | {claim.means} |"
    yield ""


def _sections(results: Results) -> Iterator[str]:
    for name, section in results.sections.items():
        yield f"## {section.title}\n"
        yield f"`make speed ONLY={name}`, {results.dates[name]}. {section.about}\n"
        yield "| | figure | lowest | highest | rounds |"
        yield "| --- | --: | --: | --: | --: |"
        yield from map(_series, section.series)
        yield ""
        yield from (f"- {note}" for note in section.notes)
        if section.notes:
            yield ""


def _series(series: Series) -> str:
    low, high = min(series.samples), max(series.samples)
    figure = f"{number(series.figure)} {series.unit}".strip()
    return f"| {series.name} | {figure} | {number(low)} | {number(high)} | {len(series.samples)} |"


def _stood_on(results: Results) -> Iterator[str]:
    yield "## Machine and versions\n"
    yield "| | |"
    yield "| --- | --- |"
    for name, value in {**results.machine, **results.versions}.items():
        yield f"| {name} | {value} |"
    yield ""


FASTER, SLOWER = "#2a7f62", "#c8553d"


def draw(results: Results, path: Path) -> None:
    """Bars on a logarithmic axis; to the right of 1 Reglue is faster than the peer."""
    import matplotlib as mpl
    from matplotlib.figure import Figure
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter

    rows = [
        (claim.what, value)
        for section in results.sections.values()
        for claim in section.claims
        if claim.is_peer and (value := section.value(claim))
    ]
    mpl.rcParams["svg.hashsalt"] = "speed"  # the same figures make the same file
    figure = Figure(figsize=(10, 1.2 + 0.34 * len(rows)), layout="constrained")
    axes = figure.add_subplot()
    for place, (_, value) in enumerate(rows):
        axes.barh(place, value - 1, left=1, color=FASTER if value >= 1 else SLOWER, height=0.6)
        axes.annotate(
            f" {number(value)}× ",
            (value, place),
            ha="left" if value >= 1 else "right",
            va="center",
            fontsize=8,
        )
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(FixedLocator([0.1, 0.2, 0.5, 1, 2, 5, 10, 20]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}×"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.margins(x=0.25)
    axes.axvline(1, color="black", linewidth=1)
    axes.set_yticks(range(len(rows)), [name for name, _ in rows], fontsize=8)
    axes.invert_yaxis()
    axes.set_xlabel("times as fast as the peer: left of the line Reglue is slower")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, metadata={"Date": None})
