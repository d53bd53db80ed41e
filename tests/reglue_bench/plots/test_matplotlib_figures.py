"""Figures as SVG and as PDF."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import matplotlib as mpl
import pytest

from reglue.errors import UsageError
from reglue_bench.plots.figures import (
    SUCCESS,
    Axis,
    Dots,
    Figure,
    Line,
    Mark,
    Plot,
    Squares,
    Table,
    rows,
    squares,
    strips,
)
from reglue_bench.plots.matplotlib_figures import PAGE, PAPER, PHONE, pdf, svg, write_figures
from tests.error_facts import raises

CURVE = [Line([0, 1, 2], [3.0, 1.0, 2.0], SUCCESS), Line([0, 2], [1, 1], "#123456", optional=True)]


def plot(marks: Sequence[Mark] = CURVE, **what: Any) -> Plot:
    figure = Figure(marks, what.pop("x", Axis("steps")), what.pop("y", Axis("return")))
    return Plot("some", "Title", "Caption.", "Summary.", figure, Table([], []), **what)


def labels(drawn: str) -> list[tuple[int, int, str]]:
    """The places of a figure's texts, and what they say."""
    texts = [each for each in ElementTree.fromstring(drawn).iter() if each.tag.endswith("text")]
    return [(int(e.attrib["x"]), int(e.attrib["y"]), e.text or "") for e in texts]


def test_a_figure_gives_the_same_bytes_again_at_any_width() -> None:
    for width in (PAGE, PHONE, PAPER):
        assert svg(plot(), width) == svg(plot(), width)
    assert pdf(plot()) == pdf(plot())


def test_the_style_of_the_caller_neither_matters_nor_changes() -> None:
    before, drawn = dict(mpl.rcParams), svg(plot(), PAGE)
    with mpl.rc_context({"font.size": 30, "text.usetex": True, "lines.linewidth": 9}):
        assert svg(plot(), PAGE) == drawn
    assert dict(mpl.rcParams) == before


def test_ids_differ_from_figure_to_figure() -> None:
    """A page holds each twice."""
    leaves = [Line([0, 1], [0, 9], SUCCESS)]
    drawn = plot(leaves, y=Axis("y", (0, 1)))
    ids = [
        found
        for each, width in ((drawn, PAGE), (drawn, PHONE), (replace(drawn, id="other"), PAGE))
        for found in re.findall(r' id="([^"]+)"', svg(each, width))
    ]
    assert len(ids) == len(set(ids)) == 3


def test_on_a_phone_the_labels_of_rows_stand_above_their_marks() -> None:
    of = plot([Dots([1, 2], [0, 1], SUCCESS, 9)], y=rows(["first", "second"]))
    (beside, _, _), (above, _, _) = (
        next(each for each in labels(svg(of, width)) if each[2] == "first")
        for width in (PAGE, PHONE)
    )
    assert beside > above
    ends = re.findall(r'text-anchor="(\w+)" class="row">first', svg(of, PAGE) + svg(of, PHONE))
    assert ends == ["end", "start"]


@pytest.mark.parametrize("width", [PAGE, PHONE, PAPER])
@pytest.mark.parametrize(
    "ends", [(0, 1), (-3e6, 2.5e9), (0, 1e-12), (-1.7e308, 1.7e308), (5, 5), (1e16, 1e16 + 4)]
)
def test_numbers_below_an_axis_have_room_side_by_side(
    ends: tuple[float, float], width: int
) -> None:
    drawn = labels(svg(plot([Line(ends, [0, 1], SUCCESS)]), width))
    lowest = max(y for _, y, text in drawn if text != "steps")
    numbers = sorted((x, text) for x, y, text in drawn if y == lowest)
    assert 2 <= len(numbers) <= 9
    for (left, one), (right, other) in pairwise(numbers):
        assert right - left >= 3.5 * (len(one) + len(other))


def test_neighbouring_squares_of_one_colour_are_one_line() -> None:
    [of] = squares({(column, 0): SUCCESS for column in (0, 1, 2, 5)})
    assert of == Squares([0, 1, 2, 5], [0] * 4, SUCCESS)
    drawn = svg(plot([of], x=Axis("goal", (-0.5, 5.5)), y=rows(["task"])), PAGE)
    [outline] = re.findall(r'd="([^"]+)" style="[^"]*stroke-dasharray', drawn)
    assert outline.count("h") == 2


def test_a_strip_shows_500_dots_at_most_in_places_that_are_always_the_same() -> None:
    few, many = (strips({0: [1.0] * n}, height=0.5, colour=SUCCESS) for n in (20, 5001))
    assert len(few[1].x) == 20
    assert 400 <= len(many[1].x) <= 500
    assert max(map(abs, many[1].y)) <= 0.25


def test_each_figure_is_written_as_svg_and_as_pdf(tmp_path: Path) -> None:
    of = plot(legend=[(SUCCESS, "an agent <$x$>")], toggle="each run", toggled=False)
    empty = replace(plot([]), id="empty")
    paths = list(write_figures([of, empty], tmp_path / "new" / "figures"))
    assert [path.name for path in paths] == ["some.svg", "some.pdf"]
    root = ElementTree.fromstring(paths[0].read_bytes())
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert "an agent <$x$>" in [text for _, _, text in labels(paths[0].read_text("utf-8"))]
    content = paths[1].read_bytes()
    assert content.startswith(b"%PDF-")
    assert content.rstrip().endswith(b"%%EOF")
    assert b"/CIDFontType2" in content  # TrueType
    assert b"Date" not in content


def test_lines_that_the_page_hides_at_first_are_not_in_the_files() -> None:
    hidden, shown = (svg(plot(toggle="each", toggled=each), PAPER) for each in (False, True))
    assert [each.count("#123456") for each in (hidden, shown)] == [0, 1]
    assert svg(plot(toggle="each", toggled=False), PAGE).count("#123456") == 1


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with raises(UsageError, tmp_path / "file", "File exists"):
        list(write_figures([plot()], tmp_path / "file"))


def test_a_gap_is_no_point() -> None:
    """Of single points there are dots."""
    gap = math.nan
    line, points = (svg(plot([Line(x, x, SUCCESS)]), PAGE) for x in ([0, 1, gap], [0, gap, 1]))
    assert (line.count("<use "), points.count("<use ")) == (0, 2)


def test_what_prints_scores_does_not_load_matplotlib() -> None:
    """It takes half a second."""
    code = (
        "import sys, reglue_bench.evaluation, reglue_bench.cli.report\n"
        "import reglue_bench.renderers.kinds, reglue_bench.terminal.summary\n"
        "import reglue_competition.page.views.charts\n"
        "assert 'matplotlib' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
