"""Draws the picture of docs/how-to/metaworld.md: three cameras on two tasks.

    python -m docs.pictures.metaworld_cameras

It is drawn by `reglue.make`, as an agent sees it.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import numpy as np
from imageio.v3 import imwrite

import reglue
from env_adapters.mujoco import Picture

FILE = Path(__file__).parents[1] / "assets/metaworld/cameras.png"

TASKS = ("push-v3", "drawer-open-v3")
CAMERAS = ("corner2", "topview", "behindGripper")
SIZE, GAP = 112, 4  # pixels


def seen(task: str, camera: str) -> Picture:
    """The first picture of an episode."""
    with closing(reglue.make(f"MT1:{task}", camera=camera, camera_size=(SIZE, SIZE))) as env:
        picture: Picture = env.reset()[0]["image"]
    return picture


def place(row: int, column: int) -> tuple[slice, slice]:
    """Rows and columns of a picture in the whole."""
    top, left = row * (SIZE + GAP), column * (SIZE + GAP)
    return slice(top, top + SIZE), slice(left, left + SIZE)


def drawn() -> Picture:
    """A row for each task, and a column for each camera."""
    high, wide = (len(each) * (SIZE + GAP) - GAP for each in (TASKS, CAMERAS))
    whole = np.full((high, wide, 3), 255, np.uint8)
    for row, task in enumerate(TASKS):
        for column, camera in enumerate(CAMERAS):
            whole[place(row, column)] = seen(task, camera)
    return whole


if __name__ == "__main__":
    FILE.parent.mkdir(parents=True, exist_ok=True)
    imwrite(FILE, drawn())
