"""Draws figures by Matplotlib: in SVG for the page, at two widths, and in files for a paper.

The same figure gives the same bytes. Texts are not turned into outlines, and have no colour of
their own: the style sheet of the page sets it. Everything is placed in pixels here, without
Matplotlib's axes, which would take most of the time.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from math import ceil, nan
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
from matplotlib import style
from matplotlib.artist import Artist
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, PathPatch, Polygon
from matplotlib.path import Path as Outline
from matplotlib.transforms import Bbox, IdentityTransform

from reglue.errors import UsageError
from reglue_bench.float_range import FloatArray
from reglue_bench.plots.axis_scales import FONT, label_of, label_width, scale_of, ticks_of, widest
from reglue_bench.plots.figures import SHADE, Area, Axis, Dots, Line, Mark, Plot, Rows, Squares
from reglue_bench.results.whole_file import whole_file
from reglue_bench.statistics import Interval

PAGE, PHONE, PAPER = 860, 340, 560
"""Widths in pixels. On a phone the label of a row stands above it, elsewhere beside it."""

_ABOVE = 18  # pixels, of a label above its row
_STRIPE = "#8c919b14"  # fainter than SHADE
_TOP, _RIGHT, _BOTTOM = 8, 26, 42  # pixels around the marks; on the left the labels decide
_APART = 8  # pixels between the points of each of many lines
_CLOUD = 50  # dots, of which each one may be off by half a pixel
_STYLE = {
    "font.family": "DejaVu Sans",  # Matplotlib has it: all machines measure texts alike
    "font.size": FONT,
    "lines.scale_dashes": False,
    "lines.solid_capstyle": "butt",
    "path.simplify": False,
    "pdf.fonttype": 42,  # TrueType, which publishers want
    "svg.fonttype": "none",
    "text.parse_math": False,
}


def svg(plot: Plot, width: int) -> str:
    """The element of a figure; that of PAPER has a legend."""
    file, nothing = io.StringIO(), dict.fromkeys(("Creator", "Date"))
    with _styled(f"{plot.id}-{width}"):
        _Drawing(plot, width).canvas.savefig(file, format="svg", metadata=nothing)
    [root] = _tidied(ElementTree.fromstring(file.getvalue()))
    root.attrib |= {"stroke-linejoin": "round", "text-anchor": "middle"}
    if width == PAPER:
        font = {"font-family": "DejaVu Sans, sans-serif", "font-size": str(FONT)}
        root.attrib |= {"xmlns": "http://www.w3.org/2000/svg"} | font
    else:
        del root.attrib["width"], root.attrib["height"], root.attrib["version"]
    return ElementTree.tostring(root, encoding="unicode")


def pdf(plot: Plot) -> bytes:
    """The file of a figure, with its legend."""
    file, nothing = io.BytesIO(), dict.fromkeys(("Creator", "Producer", "CreationDate"))
    with _styled(plot.id):
        _Drawing(plot, PAPER).canvas.savefig(file, format="pdf", metadata=nothing)
    return file.getvalue()


def write_figures(plots: Sequence[Plot], folder: Path) -> Iterator[Path]:
    """Write each figure as SVG and as PDF, named by its plot's id.

    Raises UsageError if they cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for plot in plots:
            if not plot.figure.marks:
                continue
            for kind, content in (("svg", svg(plot, PAPER).encode()), ("pdf", pdf(plot))):
                path = folder / f"{plot.id}.{kind}"
                with whole_file(path) as file:
                    file.write(content)
                yield path
    except OSError as error:
        raise UsageError(f"{folder} cannot be written: {error.strerror}") from error


@contextmanager
def _styled(salt: str) -> Iterator[None]:
    """Our style instead of the caller's; the salt makes ids unique on a page."""
    ours = _STYLE | {"svg.hashsalt": salt}
    with warnings.catch_warnings(), style.context(ours, after_reset=True):
        warnings.filterwarnings("ignore", message="Glyph")  # of letters that DejaVu Sans lacks
        yield


class _Drawing:
    """A figure at one width."""

    def __init__(self, plot: Plot, width: int) -> None:
        self.figure, figure = plot.figure, plot.figure
        self.rows = figure.y if isinstance(figure.y, Rows) else Rows((), 0)
        self.above = _ABOVE if width == PHONE and any(self.rows.labels) else 0
        height = len(self.rows.labels) * (self.rows.height + self.above) or figure.height
        self.y = scale_of(figure.y, [mark.y for mark in figure.marks], _BOTTOM, _BOTTOM + height)
        self.y_ticks = {} if self.above else ticks_of(figure.y, self.y, lambda _label: 2 * FONT)
        left = max(14, 10 + widest(self.y_ticks.values()) + (0 if self.rows.labels else 18))
        ends: Interval = left, width - _RIGHT
        if any(isinstance(mark, Squares) for mark in figure.marks):
            ends = _whole_columns(figure.x, *ends)
        self.x = scale_of(figure.x, [mark.x for mark in figure.marks], *ends)
        self.x_ticks = ticks_of(figure.x, self.x, lambda label: label_width(label) + 14)
        legend = [(shade, label_of(what, 60)) for shade, what in plot.legend if width == PAPER]
        columns = max(1, int(width / (30 + widest(what for _, what in legend))))
        total = _BOTTOM + height + _TOP + 18 * ceil(len(legend) / columns)
        self.canvas = Canvas(figsize=(width / 72, total / 72), dpi=72)
        self.canvas.patch.set_visible(False)
        self._draw_background()
        self._draw_axes()
        for mark in figure.marks:
            is_hidden = isinstance(mark, Line) and mark.optional and not plot.toggled
            if width != PAPER or not is_hidden:
                self._draw(mark)
        if legend:
            self._draw_legend(legend, columns)

    def _draw_background(self) -> None:
        x, y = self.x, self.y
        if self.figure.shaded:
            self._add(_area(SHADE, x.pixels(self.figure.shaded), [y.first] * 2, [y.last] * 2))
        for row in range(0, len(self.rows.labels), 2) if self.rows.striped else ():
            high, low = y.pixels([row - 0.5, row + 0.5])
            self._add(_area(_STRIPE, [x.first, x.last], [low] * 2, [high] * 2))

    def _draw_axes(self) -> None:
        x, y = self.x, self.y
        grid_x, grid_y = list[float](), list[float]()
        for place, label in zip(x.pixels([*self.x_ticks]), self.x_ticks.values(), strict=True):
            self._write(place, y.first - 8, label, ha="center", va="top")
            if self.figure.x.grid:
                grid_x += [place, place, nan]
                grid_y += [y.first, y.last, nan]
        self._write((x.first + x.last) / 2, 4, self.figure.x.label, ha="center", va="bottom")
        is_row = "row" if self.rows.labels else None
        for place, label in zip(y.pixels([*self.y_ticks]), self.y_ticks.values(), strict=True):
            self._write(x.first - 8, place, label, ha="right", va="center", gid=is_row)
            if not self.rows.labels:
                grid_x += [x.first, x.last, nan]
                grid_y += [place, place, nan]
        for row, label in enumerate(self.rows.labels if self.above else ()):
            top = y.pixels([row - 0.5])[0]
            self._write(x.first, top - self.above / 2, label, va="center", gid="row")
        if isinstance(self.figure.y, Axis):
            middle, how = (y.first + y.last) / 2, {"rotation": 90, "rotation_mode": "anchor"}
            self._write(10, middle, self.figure.y.label, ha="center", va="center", **how)
        if grid_x:
            self._add(Line2D(grid_x, grid_y, color=SHADE, linewidth=0.8))

    def _draw(self, mark: Mark) -> None:
        x, y = self.x.pixels(mark.x), self.y.pixels(self._below_labels(mark.y))
        match mark:
            case Line():
                is_outside = bool(((y < self.y.first) | (y > self.y.last)).any())
                self._add(_line(mark, x, y), clip=is_outside)
            case Area():
                low, high = np.split(y, 2)
                self._add(_area(mark.colour, x, low, high, opacity=0.2), clip=True)
            case Dots():
                self._add(_dots(mark, x, y))
            case Squares():
                column = (self.x.last - self.x.first) / (self.x.high - self.x.low)
                self._add(_squares(mark, x, y, column=column, height=self.rows.height - 2))

    def _draw_legend(self, legend: Sequence[tuple[str, str]], columns: int) -> None:
        self.canvas.legend(
            handles=[Patch(color=shade, label=what) for shade, what in legend],
            loc="upper left",
            ncols=columns,
            frameon=False,
            handlelength=1,
            handleheight=1,
            columnspacing=1.5,
        )

    def _below_labels(self, y: Sequence[float]) -> FloatArray:
        """The places of marks, in the lower part of their rows if labels take the upper one."""
        places = np.asarray(y, np.float64)
        if not self.above:
            return places
        share, row = self.rows.height / (self.rows.height + self.above), np.round(places)
        return row + (1 - share) / 2 + (places - row) * share

    def _write(self, x: float, y: float, text: str, **how: Any) -> None:
        self.canvas.text(x, y, label_of(text), transform=IdentityTransform(), **how)

    def _add(self, artist: Artist, *, clip: bool = False) -> None:
        artist.set_transform(IdentityTransform())
        self.canvas.add_artist(artist)
        if clip:
            x, y = self.x, self.y
            artist.set_clip_box(Bbox([[x.first, y.first], [x.last, y.last]]))


def _line(mark: Line, x: FloatArray, y: FloatArray) -> Artist:
    if mark.optional:
        x, y = _thinned(np.column_stack([x, y])).T
    is_alone = not np.isfinite(x[1:] - x[:-1]).any()
    return Line2D(
        x,
        y,
        color=mark.colour,
        linewidth=mark.width,
        alpha=mark.opacity,
        linestyle=(0, (2, 2)) if mark.dotted else "solid",
        drawstyle="steps-post" if mark.steps else "default",
        marker="o" if is_alone else None,
        gid="optional" if mark.optional else None,
    )


def _thinned(points: FloatArray) -> FloatArray:
    """Fewer points of a line with gaps, of which each may be off by half a pixel."""
    gaps = np.isnan(points[:, 0])
    lines = np.split(points.round(), np.flatnonzero(gaps) + 1)
    every = ceil(max(map(len, lines)) * _APART / max(1.0, np.ptp(points[~gaps, 0])))
    return np.concatenate([np.append(line[:-1:every], line[-1:], axis=0) for line in lines])


def _area(
    colour: str,
    x: Sequence[float] | FloatArray,
    low: Sequence[float] | FloatArray,
    high: Sequence[float] | FloatArray,
    opacity: float | None = None,
) -> Artist:
    above, below = (_thinned(np.column_stack([x, edge])) for edge in (high, low))
    corners = np.concatenate([above, below[::-1]])
    return Polygon(corners, facecolor=colour, alpha=opacity, linewidth=0, zorder=1)


def _dots(mark: Dots, x: FloatArray, y: FloatArray) -> Artist:
    if mark.shape == "disc":  # strokes without a length and with round ends: small in a file
        points = np.column_stack([x, y])
        points = points.round() if len(points) > _CLOUD else points
        ends = np.repeat(points, 2, axis=0)
        return PathPatch(
            Outline(ends, [Outline.MOVETO, Outline.LINETO] * len(x)),
            fill=False,
            edgecolor=mark.colour,
            linewidth=mark.size,
            alpha=mark.opacity,
            capstyle="round",
            zorder=2,
        )
    is_ring = mark.shape == "ring"
    return Line2D(
        x,
        y,
        linestyle="none",
        marker="o" if is_ring else "D",
        markersize=mark.size,
        markerfacecolor="none" if is_ring else mark.colour,
        markeredgecolor=mark.colour if is_ring else "#f4f2ee",
        markeredgewidth=2.5 if is_ring else 1.2,
        zorder=2.1,
    )


def _squares(
    mark: Squares, x: FloatArray, y: FloatArray, *, column: float, height: float
) -> Artist:
    """Neighbours are one dashed line."""
    gap = 2.0 if column > 8 else 1.0 if column > 2 else 0.5
    places = sorted(zip(mark.y, mark.x, y, x, strict=True))
    ends_x, ends_y = list[float](), list[float]()
    for _, group in groupby(enumerate(places), lambda each: (each[1][0], each[1][1] - each[0])):
        neighbours = [place for _, place in group]
        (_, _, middle, first), (_, _, _, last) = neighbours[0], neighbours[-1]
        ends_x += [first - (column - gap) / 2, last + (column - gap) / 2, nan]
        ends_y += [middle, middle, nan]
    return Line2D(
        ends_x, ends_y, color=mark.colour, linewidth=height, linestyle=(0, (column - gap, gap))
    )


def _whole_columns(axis: Axis, left: float, right: float) -> Interval:
    """The ends of an axis whose columns have integer widths in pixels, if there is room for them.

    A page of many maps has many squares, and integers are short.
    """
    low, high = axis.ends or (0, 1)
    columns, left = round(high - low), ceil(left)
    width = int(right - left) // columns
    return left, left + width * columns if width else right


def _tidied(element: ElementTree.Element) -> Iterator[ElementTree.Element]:
    """The element as a page needs it: without unused groups and ids, and with short numbers."""
    tag = element.tag.rpartition("}")[2]
    if tag in ("metadata", "style"):
        return
    inner = [child for each in element for child in _tidied(each)]
    attributes = {name.rpartition("}")[2]: value for name, value in element.items()}
    if tag == "g":
        name = attributes.pop("id", "")
        for child in inner if name in ("optional", "row") else ():
            child.set("class", name)
    if tag == "text":
        anchor = re.search(r"text-anchor: (\w+)", attributes.pop("style"))
        if (side := anchor[1] if anchor else "start") != "middle":  # as the whole figure has it
            attributes["text-anchor"] = side
        if attributes["transform"].startswith("rotate(-0 "):
            del attributes["transform"]
    if "style" in attributes:
        attributes["style"] = re.sub("(?<=[:;]) |stroke-dashoffset: 0; ", "", attributes["style"])
    if "d" in attributes and not re.search("[CQ]", attributes["d"]):
        attributes["d"] = _short_outline(attributes["d"])
    digits = 0 if tag == "text" else 1
    for name in {"x", "y", "transform"} & attributes.keys():
        attributes[name] = re.sub(
            r"-?\d+\.\d+", lambda each: f"{float(each[0]):z.{digits}f}", attributes[name]
        )
    if (tag == "g" and not attributes) or (tag in ("g", "defs") and not inner):
        yield from inner
        return
    tidy = ElementTree.Element(tag, attributes)
    tidy.text = element.text if tag == "text" else None
    tidy.extend(inner)
    yield tidy


def _short_outline(outline: str) -> str:
    """The same lines, from each point to the next in tenths of a pixel: half of a large page."""
    short, start, here = "", (0, 0), (0, 0)
    for letter, x, y in re.findall(r"([ML]) (\S+) (\S+)|z", outline):
        point = (round(10 * float(x)), round(10 * float(y))) if letter else start
        across, down = point[0] - here[0], point[1] - here[1]
        if not letter:
            short += "z"
        elif letter == "M":
            short, start = f"{short}m{across / 10:g} {down / 10:g}", point
        elif across and down:
            short += f"l{across / 10:g} {down / 10:g}"
        elif down:
            short += f"v{down / 10:g}"
        elif across or here == start:  # a dot is printed if it has an end
            short += f"h{across / 10:g}"
        here = point
    return re.sub(r"(?<!\d)0\.", ".", short).replace(" -", "-")
