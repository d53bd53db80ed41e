"""Draws the picture of docs/how-to/metaworld.md: three cameras on two tasks.

    python -m docs.pictures.cameras

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


def drawn() -> Picture:
    """A row for each task, and a column for each camera."""
    high = len(TASKS) * (SIZE + GAP) - GAP
    wide = len(CAMERAS) * (SIZE + GAP) - GAP
    whole = np.full((high, wide, 3), 255, np.uint8)
    for row, task in enumerate(TASKS):
        for column, camera in enumerate(CAMERAS):
            name = f"MT1:{task}"
            with closing(reglue.make(name, camera=camera, camera_size=(SIZE, SIZE))) as env:
                top, left = row * (SIZE + GAP), column * (SIZE + GAP)
                whole[top : top + SIZE, left : left + SIZE] = env.reset()[0]["image"]
    return whole


if __name__ == "__main__":
    FILE.parent.mkdir(parents=True, exist_ok=True)
    imwrite(FILE, drawn())
