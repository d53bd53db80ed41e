"""Shows an episode on a terminal: pictures as half blocks with numbers, or a line for each step."""

from __future__ import annotations

import time
from functools import lru_cache
from itertools import groupby
from typing import Self

import numpy as np
from rich.color import Color
from rich.console import Console, RenderableType
from rich.live import Live
from rich.style import Style
from rich.table import Table
from rich.text import Text

from reglue.spec import Array, Arrays
from reglue_bench.formatting import number
from reglue_bench.replay.pictures import Picture, enlarged, shrunk
from reglue_bench.replay.replay import Moment

_BESIDE = 34  # columns for the numbers
_BELOW = 3  # lines that stay free
_MOST_NUMBERS = 6  # of an array

HEAD = f"{'step':>6} {'reward':>12} {'return':>12}  {'flags':<22} {'action':<30} observation"


class Screen:
    """Shows moments at `fps`, or slower if they take longer; a context manager."""

    def __init__(self, console: Console, title: str, *, steps: int, fps: float) -> None:
        self._title, self._steps, self._fps = title, steps, fps
        self._size = console.size
        self._live = Live(console=console, auto_refresh=False)
        self._due = 0.0  # when the next picture is

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def show(self, moment: Moment, picture: Picture) -> None:
        """Show the moment when it is due."""
        time.sleep(max(0.0, self._due - time.monotonic()))
        self._due = max(self._due, time.monotonic()) + 1 / self._fps
        self._live.update(self._view(moment, picture), refresh=True)

    def _view(self, moment: Moment, picture: Picture) -> RenderableType:
        columns = max(8, self._size.width - _BESIDE)
        rows = max(4, self._size.height - _BELOW)
        blocks = half_blocks(picture, rows, columns)
        view = Table.grid(padding=(0, 2), pad_edge=False)
        view.add_column(min_width=blocks.plain.find("\n"))  # words give way to it
        view.add_row(blocks, self._numbers(moment))
        return view

    def _numbers(self, moment: Moment) -> RenderableType:
        table = Table.grid(padding=(0, 1))
        table.add_row("step", f"{moment.step} of {self._steps}")
        table.add_row("reward", number(moment.reward))
        table.add_row("return", number(moment.return_))
        table.add_row("action", Text(_short_of(moment.action) if moment.action else ""))
        table.add_row("flags", _flags(moment))
        whole = Table.grid()
        whole.add_row(Text(self._title, style="dim"))
        whole.add_row("")
        whole.add_row(table)
        return whole


def half_blocks(picture: Picture, rows: int, columns: int) -> Text:
    """The picture in at most so many characters; each shows two pixels, one above the other."""
    fitted = enlarged(shrunk(picture, 2 * rows, columns), 2 * rows, columns)
    if len(fitted) % 2:
        fitted = np.pad(fitted, ((0, 1), (0, 0), (0, 0)))
    text = Text(no_wrap=True)
    for upper, lower in zip(fitted[::2].tolist(), fitted[1::2].tolist(), strict=True):
        for (above, below), alike in groupby(zip(upper, lower, strict=True)):
            text.append("▀" * len(list(alike)), _style(tuple(above), tuple(below)))
        text.append("\n")
    text.right_crop(1)
    return text


@lru_cache(maxsize=4096)
def _style(above: tuple[int, int, int], below: tuple[int, int, int]) -> Style:
    return Style(color=Color.from_rgb(*above), bgcolor=Color.from_rgb(*below))


def line(moment: Moment) -> str:
    """The moment's numbers, in the columns of HEAD."""
    if moment.action is None:
        return f"{0:>6} {'–':>12} {'–':>12}  {'':<22} {'':<30} {_short_of(moment.observation)}"
    return (
        f"{moment.step:>6} {number(moment.reward):>12} {number(moment.return_):>12}  "
        f"{_flags(moment):<22} {_short_of(moment.action):<30} {_short_of(moment.observation)}"
    )


def _flags(moment: Moment) -> str:
    """The flags that are set."""
    flags = ("success", "terminated", "truncated")
    return " ".join(name for name in flags if getattr(moment, name))


def _short_of(arrays: Arrays) -> str:
    """A few numbers of each tensor, with its name if there are several."""
    if len(arrays) == 1:
        return _short(next(iter(arrays.values())))
    return "  ".join(f"{name} {_short(each)}" for name, each in arrays.items())


def _short(array: Array) -> str:
    if array.ndim > 1:
        return f"{array.dtype} {'×'.join(map(str, array.shape))}"
    if array.ndim == 0:
        return f"{array:.4g}"
    numbers = " ".join(f"{each:.3g}" for each in array[:_MOST_NUMBERS].tolist())
    left = array.size - _MOST_NUMBERS
    return f"[{numbers}{f' … {left} more' if left > 0 else ''}]"
