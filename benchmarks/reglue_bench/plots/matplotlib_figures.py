"""Draws figures by Matplotlib: in SVG for the page, at two widths, and in files for a paper.

The same figure gives the same bytes. Texts are not turned into outlines, and have no colour of
their own: the style sheet of the page sets it.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from itertools import groupby
from math import ceil, nan
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.font_manager import FontProperties
from matplotlib.patches import Patch
from matplotlib.textpath import text_to_path
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

from reglue.errors import UsageError
from reglue_bench.float_range import FloatArray, unit_of, within
from reglue_bench.plots.figures import SHADE, Area, Axis, Dots, Line, Mark, Plot, Rows, Squares
from reglue_bench.results.whole_file import whole_file

PAGE, PHONE, PAPER = 860, 340, 560
"""Widths in pixels. On a phone the label of a row stands above it, elsewhere beside it."""

_FONT = 11  # pixels
_ABOVE = 18  # pixels, of a label above its row
_STRIPE = "#8c919b14"  # fainter than SHADE
_TOP, _RIGHT, _BOTTOM = 8, 26, 42  # pixels around the axes; on the left the labels decide
_CLOUD = 50  # points, of which each may be off by half a pixel
_APART = 8  # pixels between the points of each of many lines
_STYLE = {
    "axes.labelpad": 5,
    "font.family": "DejaVu Sans",  # Matplotlib has it: all machines measure texts alike
    "font.size": _FONT,
    "axes.labelsize": _FONT,
    "lines.scale_dashes": False,
    "lines.solid_capstyle": "butt",
    "path.simplify": False,
    "pdf.fonttype": 42,  # TrueType, which publishers want
    "svg.fonttype": "none",
    "text.parse_math": False,
    "xtick.major.size": 0,
    "xtick.labelsize": _FONT,
    "xtick.major.pad": 8,
    "ytick.labelsize": _FONT,
    "ytick.major.size": 0,
    "ytick.major.pad": 8,
}


def svg(plot: Plot, width: int) -> str:
    """The element of a figure; that of PAPER has a legend."""
    file, nothing = io.StringIO(), dict.fromkeys(("Creator", "Date"))
    with _styled(f"{plot.id}-{width}"):
        _drawn(plot, width).savefig(file, format="svg", metadata=nothing)
    [root] = _tidied(ElementTree.fromstring(file.getvalue()))
    root.attrib |= {"stroke-linejoin": "round", "text-anchor": "middle"}
    if width == PAPER:
        font = {"font-family": "DejaVu Sans, sans-serif", "font-size": str(_FONT)}
        root.attrib |= {"xmlns": "http://www.w3.org/2000/svg"} | font
    else:
        del root.attrib["width"], root.attrib["height"], root.attrib["version"]
    return ElementTree.tostring(root, encoding="unicode")


def pdf(plot: Plot) -> bytes:
    """The file of a figure, with its legend."""
    file, nothing = io.BytesIO(), dict.fromkeys(("Creator", "Producer", "CreationDate"))
    with _styled(plot.id):
        _drawn(plot, PAPER).savefig(file, format="pdf", metadata=nothing)
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


def _drawn(plot: Plot, width: int) -> Canvas:
    """A figure at one width."""
    figure, marks = plot.figure, plot.figure.marks
    rows = figure.y if isinstance(figure.y, Rows) else Rows((), 0)
    above = _ABOVE if width == PHONE and any(rows.labels) else 0
    height = len(rows.labels) * (rows.height + above) or figure.height
    legend = [(shade, label_of(what, 60)) for shade, what in plot.legend if width == PAPER]
    columns = max(1, int(width / (30 + _widest([what for _, what in legend]))))
    total = _BOTTOM + height + _TOP + 18 * ceil(len(legend) / columns)
    canvas = Canvas(figsize=(width / 72, total / 72), dpi=72)
    canvas.patch.set_visible(False)
    axes = canvas.add_axes((0, 0, 1, 1), frameon=False)
    units = [1.0, 1.0]
    if isinstance(figure.y, Axis):
        units[1] = _scale(axes, "y", figure.y, [mark.y for mark in marks], most=8)
    else:
        _label_rows(axes, rows, above)
    y_labels = axes.yaxis.get_major_formatter().format_ticks(axes.get_yticks().tolist())
    left = max(14, 10 + _widest(y_labels) + (0 if rows.labels else 18))
    units[0] = _scale(axes, "x", figure.x, [mark.x for mark in marks], most=int(width / 100))
    size = (width - left - _RIGHT) / width, height / total
    axes.set_position((left / width, _BOTTOM / total, *size))
    if figure.shaded:
        axes.axvspan(*np.divide(figure.shaded, units[0]), color=SHADE, linewidth=0)
    for mark in marks:
        if width != PAPER or plot.toggled or not (isinstance(mark, Line) and mark.optional):
            x = np.asarray(mark.x, np.float64) / units[0]
            y = _below_labels(np.asarray(mark.y, np.float64) / units[1], rows, above)
            _draw(axes, mark, x, y, height=rows.height - 2)
    if legend:
        canvas.legend(
            handles=[Patch(color=shade, label=what) for shade, what in legend],
            loc="upper left",
            ncols=columns,
            frameon=False,
            handlelength=1,
            handleheight=1,
            columnspacing=1.5,
        )
    return canvas


def _scale(
    axes: Axes, name: str, axis: Axis, values: Sequence[Sequence[float]], *, most: int
) -> float:
    """Set the ends of an axis, its own or those of `values`, its label and at most `most` ticks.

    Returns the unit of its numbers, as the difference of the largest floats is not finite.
    """
    ruler = axes.xaxis if name == "x" else axes.yaxis
    everything = np.concatenate([np.asarray(axis.ends or each, np.float64) for each in values])
    ends = np.nanmin(everything), np.nanmax(everything)
    unit = unit_of(ends)
    low, high = ends[0] / unit, ends[1] / unit
    room = 0.0 if axis.ends else 0.05 * (high - low)
    if high - low <= 1e-9 * max(abs(low), abs(high)):
        room = 0.1 * max(abs(low), abs(high)) or 1.0
    axes.set(**{f"{name}label": label_of(axis.label), f"{name}lim": (low - room, high + room)})
    if axis.scale == "log":
        axes.set(**{f"{name}scale": "log"})
        ruler.set_major_locator(LogLocator(subs=(1, 2, 5)))
        ruler.set_minor_locator(NullLocator())
    elif axis.scale == "rate":
        ruler.set_ticks(np.linspace(0, 1, 6 if most > 5 else 3))
    else:
        ruler.set_major_locator(MaxNLocator(most, steps=[1, 2, 5, 10]))
    if axis.ticks is not None:
        every = ceil(len(axis.ticks) / most)
        ruler.set_ticks([*axis.ticks][::every], [*axis.ticks.values()][::every])
    elif axis.scale == "rate":
        ruler.set_major_formatter(lambda place, _: f"{100 * place:.0f} %")
    else:
        ruler.set_major_formatter(lambda place, _: _number(within(float(place) * unit)))
    if axis.grid:
        _draw_grid(axes, name, ruler.get_majorticklocs())
    return unit


def _draw_grid(axes: Axes, name: str, ticks: FloatArray) -> None:
    """One line with gaps, which is smaller in a file than Matplotlib's grid."""
    low, high = axes.get_xlim() if name == "x" else axes.get_ylim()
    inner = ticks[(ticks >= low) & (ticks <= high)]
    ends = np.repeat(inner, 3), np.tile([0, 1, nan], len(inner))
    x, y = ends if name == "x" else ends[::-1]
    across = axes.get_xaxis_transform() if name == "x" else axes.get_yaxis_transform()
    axes.plot(x, y, color=SHADE, linewidth=0.8, zorder=0.5, clip_on=False, transform=across)


def _label_rows(axes: Axes, rows: Rows, above: int) -> None:
    """Label the rows in `above` pixels over their marks, or beside them if that is 0."""
    count, labels = len(rows.labels), [label_of(label) for label in rows.labels]
    axes.set_ylim(count - 0.5, -0.5)
    axes.set_yticks([] if above else range(count), () if above else labels)
    for text in axes.get_yticklabels():
        text.set_gid("row")
    for row, label in enumerate(labels if above else ()):
        y = row - 0.5 + above / (rows.height + above) / 2
        axes.text(0, y, label, transform=axes.get_yaxis_transform(), va="center", gid="row")
    for row in range(0, count, 2) if rows.striped else ():
        axes.axhspan(row - 0.5, row + 0.5, color=_STRIPE, linewidth=0)


def _below_labels(y: FloatArray, rows: Rows, above: int) -> FloatArray:
    """The places of marks, in the lower part of their rows if labels take the upper one."""
    if not above:
        return y
    share, row = rows.height / (rows.height + above), np.round(y)
    return np.asarray(row + (1 - share) / 2 + (y - row) * share, np.float64)


def _draw(axes: Axes, mark: Mark, x: FloatArray, y: FloatArray, *, height: float) -> None:
    match mark:
        case Line():
            _draw_line(axes, mark, x, y)
        case Area():
            x, low, high = _thinned(np.column_stack([x, *np.split(y, 2)]), axes).T
            corners = np.append(x, x[::-1]), np.append(high, low[::-1])
            is_outside = _is_outside(axes, y)
            axes.fill(*corners, color=mark.colour, alpha=0.2, linewidth=0, clip_on=is_outside)
        case Dots(shape="disc"):  # lines without a length and with round ends: small in a file
            x, y = np.repeat(x, 3), np.column_stack([y, y, np.full(len(y), nan)]).ravel()
            how: dict[str, Any] = {"color": mark.colour, "alpha": mark.opacity, "zorder": 2.1}
            axes.plot(x, y, linewidth=mark.size, solid_capstyle="round", clip_on=False, **how)
        case Dots():
            is_ring = mark.shape == "ring"
            axes.plot(
                x,
                y,
                "o" if is_ring else "D",
                markersize=mark.size,
                markerfacecolor="none" if is_ring else mark.colour,
                markeredgecolor=mark.colour if is_ring else "#f4f2ee",
                markeredgewidth=2.5 if is_ring else 1.2,
                clip_on=False,
                zorder=2.2,
            )
        case Squares():
            _draw_squares(axes, mark, x, y, height=height)


def _draw_line(axes: Axes, mark: Line, x: FloatArray, y: FloatArray) -> None:
    if mark.optional:
        x, y = _thinned(np.column_stack([x, y]), axes).T
    axes.plot(
        x,
        y,
        color=mark.colour,
        linewidth=mark.width,
        alpha=mark.opacity,
        linestyle=(0, (2, 2)) if mark.dotted else "solid",
        drawstyle="steps-post" if mark.steps else "default",
        marker=None if np.isfinite(x[1:] - x[:-1]).any() else "o",  # a point alone has no line
        gid="optional" if mark.optional else None,
        clip_on=_is_outside(axes, y),
    )


def _is_outside(axes: Axes, y: FloatArray) -> bool:
    """Whether a point is above or below the axes."""
    low, high = sorted(axes.get_ylim())
    return bool(((y < low) | (y > high)).any())


def _thinned(points: FloatArray, axes: Axes) -> FloatArray:
    """Fewer points of lines with gaps between them: about `_APART` pixels apart."""
    lines = np.split(points, np.flatnonzero(np.isnan(points[:, 0])) + 1)
    every = ceil(max(map(len, lines)) * _APART / axes.bbox.width)
    return np.concatenate([np.append(line[:-1:every], line[-1:], axis=0) for line in lines])


def _draw_squares(
    axes: Axes, mark: Squares, x: FloatArray, y: FloatArray, *, height: float
) -> None:
    """Neighbours are one dashed line."""
    column = axes.bbox.width / np.ptp(axes.get_xlim())  # pixels
    gap = 2.0 if column > 8 else 1.0 if column > 2 else 0.5
    half = (1 - gap / column) / 2
    places = sorted(zip(mark.y, mark.x, y, x, strict=True))
    ends_x, ends_y = list[float](), list[float]()
    for _, group in groupby(enumerate(places), lambda each: (each[1][0], each[1][1] - each[0])):
        neighbours = [place for _, place in group]
        (_, _, middle, first), (_, _, _, last) = neighbours[0], neighbours[-1]
        ends_x += [first - half, last + half, nan]
        ends_y += [middle, middle, nan]
    how: dict[str, Any] = {"linestyle": (0, (column - gap, gap)), "clip_on": False}
    axes.plot(ends_x, ends_y, color=mark.colour, linewidth=height, **how)


def label_of(text: str, longest: int = 32) -> str:
    """A name that fits; XML has no letters that cannot be printed."""
    cut = text if len(text) <= longest else f"{text[: longest - 1]}…"
    return "".join(each if each.isprintable() else "�" for each in cut)


def _number(value: float) -> str:
    is_whole = value == round(value) and abs(value) < 1e9
    return (f"{value:z,.0f}" if is_whole else f"{value:,.6g}").replace("-", "−")


def _widest(labels: Sequence[str]) -> float:
    """Pixels of the widest label; 0 if there are none."""
    return max(map(_label_width, labels), default=0.0)


@lru_cache(maxsize=1024)
def _label_width(text: str) -> float:
    """Pixels of a label, or a little more: other letters than ASCII's are as wide as a W."""
    latin = "".join(each if each.isascii() else "W" for each in text)
    font = FontProperties(family="DejaVu Sans", size=_FONT)
    return float(text_to_path.get_text_width_height_descent(latin, font, ismath=False)[0])


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
    """The same lines, from each point to the next in tenths of a pixel: half of a large page.

    Many dots or lines, and the corners of an area, are rounded to integer pixels.
    """
    short, start, here = "", (0, 0), (0, 0)
    points = re.findall(r"([ML]) (\S+) (\S+)|z", outline)
    is_rough = len(points) > _CLOUD and (outline.count("M") > 1 or "z" in outline)
    unit = 1 if is_rough else 10
    for letter, x, y in points:
        point = (round(unit * float(x)), round(unit * float(y))) if letter else start
        across, down = point[0] - here[0], point[1] - here[1]
        if not letter:
            short += "z"
        elif letter == "M":
            short, start = f"{short}m{across / unit:g} {down / unit:g}", point
        elif across and down:
            short += f"l{across / unit:g} {down / unit:g}"
        elif down:
            short += f"v{down / unit:g}"
        elif across or here == start:  # a dot is printed if it has an end
            short += f"h{across / unit:g}"
        here = point
    return re.sub(r"(?<!\d)0\.", ".", short).replace(" -", "-")
