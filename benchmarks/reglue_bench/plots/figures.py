"""Colours, axes and escaping that all figures share.

Colours are middle tones that hold on a light and on a dark page; the style sheet
sets text and grid lines.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from reglue_bench.plots.views import Figure

AGENTS = ("#3f7fdc", "#e0833c", "#2a9d8f", "#b064c8", "#c9a227", "#d4526e", "#6c8a3f", "#8d8d99")
SUCCESS, FAILURE, FAULT, NEUTRAL = "#2a9d8f", "#e9a178", "#3d2b26", "#8a8f98"
RATE_SCALE = [[0.0, FAILURE], [0.5, "#d9cfae"], [1.0, SUCCESS]]
ALIKE = "rgba(140,145,155,0.16)"
OPTIONAL = "optional"


def escaped(text: str, *, width: int = 48) -> str:
    """Text escaped for Plotly, which reads labels as HTML; long text is cut."""
    cut = text if len(text) <= width else text[: width - 1] + "…"
    return html.escape(cut, quote=False)


def colour(place: int) -> str:
    """The colour of the agent at a place in the list."""
    return AGENTS[place % len(AGENTS)]


def figure(traces: Sequence[Any], *, height: int, **layout: Any) -> Figure:
    """Plotly's JSON of a figure on a transparent page."""
    plotly_figure = go.Figure(
        data=list(traces),
        layout={
            "template": None,
            "height": height,
            "margin": {"l": 8, "r": 12, "t": 8, "b": 44},
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "font": {"family": "Inter, system-ui, sans-serif", "size": 12, "color": NEUTRAL},
            "hoverlabel": {"align": "left", "bgcolor": "#20262e", "font": {"color": "#f4f2ee"}},
            "showlegend": False,
            "dragmode": False,
            **layout,
        },
    )
    parts: Figure = plotly_figure.to_plotly_json()
    return {"data": parts["data"], "layout": parts["layout"]}


def task_axis(tasks: Sequence[str]) -> Figure:
    """A y axis with one row a task at 0, 1, …, the first on top."""
    return {
        "tickvals": list(range(len(tasks))),
        "ticktext": [escaped(task, width=32) for task in tasks],
        "range": [len(tasks) - 0.5, -0.5],
        "automargin": True,
        "zeroline": False,
        "showgrid": False,
        "fixedrange": True,
        "ticks": "",
        "ticklabelstandoff": 8,
    }


def value_axis(title: str, **more: Any) -> Figure:
    """An x axis with a quiet grid."""
    return {
        "title": {"text": title, "standoff": 8},
        "gridcolor": "rgba(140,145,155,0.25)",
        "tickangle": 0,
        "zeroline": False,
        "fixedrange": True,
        **more,
    }


def rate_axis(title: str) -> Figure:
    """An x axis from 0 to 100 %."""
    return value_axis(title, range=[-0.02, 1.02], tickformat=".0%", dtick=0.2, tick0=0)


def rows_height(rows: int, *, each: int = 0, least: int = 130) -> int:
    """The height in pixels of a plot with this many rows; many rows are closer together."""
    return max(least, 62 + rows * (each or (28 if rows <= 20 else 19)))
