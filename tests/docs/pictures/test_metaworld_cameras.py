"""The picture of docs/how-to/metaworld.md shows what cameras see."""

from __future__ import annotations

import pytest

from tests.programs import run_python

PROGRAM = """
from imageio.v3 import imread
import numpy as np
from docs.pictures.metaworld_cameras import CAMERAS, FILE, TASKS, place, seen

row, column = len(TASKS) - 1, len(CAMERAS) - 1
shown = imread(FILE)[place(row, column)].astype(float)
print(np.abs(shown - seen(TASKS[row], CAMERAS[column])).mean())
"""


@pytest.mark.images
def test_it_is_what_an_agent_sees() -> None:
    """If not: `python -m docs.pictures.metaworld_cameras`."""
    printed = run_python(PROGRAM, unset=("MUJOCO_GL", "DISPLAY", "WAYLAND_DISPLAY")).stdout
    assert float(printed.splitlines()[-1]) < 4  # of 255: libraries differ a little at edges
