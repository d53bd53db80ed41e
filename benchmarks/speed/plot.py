"""A picture of all claims that have a goal: how far each is over or under it."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter

from speed.page import number
from speed.results import Results

MET, MISSED = "#2a7f62", "#c8553d"


def draw(results: Results, path: Path) -> None:
    """Bars on a logarithmic axis; 1 is the goal, to the right of it is better."""
    rows = [
        (f"{claim.goal}  {claim.what}", value, claim.wanted, claim.sense == "at least")
        for section in results.sections.values()
        for claim in section.claims
        if (value := section.value(claim)) and claim.wanted
    ]
    mpl.rcParams["svg.hashsalt"] = "speed"  # the same figures make the same file
    figure = Figure(figsize=(9, 1.2 + 0.34 * len(rows)), layout="constrained")
    axes = figure.add_subplot()
    for place, (_, value, wanted, more) in enumerate(rows):
        score = value / wanted if more else wanted / value
        axes.barh(place, score - 1, left=1, color=MET if score >= 1 else MISSED, height=0.6)
        sign = "≥" if more else "≤"
        axes.annotate(
            f" {number(value)} ({sign} {number(wanted)}) ",
            (score, place),
            ha="left" if score >= 1 else "right",
            va="center",
            fontsize=8,
        )
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(FixedLocator([0.1, 0.2, 0.5, 1, 2, 5, 10]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}×"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.margins(x=0.25)
    axes.axvline(1, color="black", linewidth=1)
    axes.set_yticks(range(len(rows)), [name for name, *_ in rows], fontsize=8)
    axes.invert_yaxis()
    axes.set_xlabel("of the goal: right of the line is better than it asks")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, metadata={"Date": None})
