"""First frames side by side; what the original computed is compared with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from imageio.v3 import imread

from env_adapters.curricula import get_first_frames
from reglue.errors import BadArgument
from tests.env_adapters.curricula.scripted import Frames, Scripted
from tests.error_facts import raises


def reds(sheet: Any) -> list[list[int]]:
    """Of each picture."""
    return [[int(each) for each in row] for row in sheet[::84, ::84, 0]]


@pytest.mark.parametrize(
    ("episodes", "options", "wanted"),
    [
        (3, {"rows": 1}, [[0, 10, 20]]),
        (5, {"rows": 2}, [[0, 10, 20], [30, 40, 0]]),
        (5, {"rows": 2, "by_columns": True}, [[0, 20, 40], [10, 30, 0]]),
        (3, {"rows": 1, "after_steps": 1}, [[1, 11, 21]]),
        (2, {"rows": 1, "after_steps": 9}, [[0, 0]]),
        (2, {"rows": 3}, [[0], [10], [0]]),
    ],
)
def test_they_stand_on_a_grid(episodes: int, options: Any, wanted: Any) -> None:
    sheet = get_first_frames(Frames(), episodes, **options)
    assert sheet.shape == (84 * len(wanted), 84 * len(wanted[0]), 3)
    assert reds(sheet) == wanted
    assert sheet[0, 0, 1:].tolist() in ([1, 2], [0, 0])


def test_a_path_gets_a_picture(tmp_path: Path) -> None:
    sheet = get_first_frames(Frames(), 4, 2, path=tmp_path / "frames.png")
    assert np.array_equal(imread(tmp_path / "frames.png"), sheet)


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        ({"episodes": 0, "rows": 1}, ["0 episodes", "1 rows"]),
        ({"episodes": 1, "rows": 0}, ["1 episodes", "0 rows"]),
        ({"episodes": -1, "rows": 1}, ["-1 episodes", "1 rows"]),
        ({"episodes": 1, "after_steps": -1}, ["after_steps", -1]),
        ({"episodes": 1, "after_steps": 0.5}, ["after_steps", 0.5]),
    ],
)
def test_there_must_be_some(asked: Any, named: list[object]) -> None:
    with raises(BadArgument, *named):
        get_first_frames(Frames(), **asked)


def test_frames_of_two_sizes_are_refused() -> None:
    class Growing(Frames):
        def _seen(self) -> Any:
            return super()._seen()[: 84 + self.episode]

    with raises(BadArgument, (84, 84, 3), (85, 84, 3)):
        get_first_frames(Growing(size=(90, 84)), 2)


def test_what_is_no_picture_is_rendered_or_refused() -> None:
    class Drawn(Scripted):
        def render(self) -> Any:
            return np.full((4, 5, 3), 7, np.uint8)

    assert get_first_frames(Drawn(0, 2), 2).shape == (4, 10, 3)
    with raises(BadArgument, 'render_mode="rgb_array"'):
        get_first_frames(Undrawn(0, 2), 1)


class Undrawn(Scripted):
    def render(self) -> Any:
        return None
