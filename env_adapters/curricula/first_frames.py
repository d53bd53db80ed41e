"""Draws the first frame of each episode of a curriculum, side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from env_adapters.environment_configs.values import is_whole
from env_adapters.gymnasium.gymnasium_world import without_window
from reglue.errors import BadArgument, UsageError


def get_first_frames(
    env: Any,
    episodes: int,
    rows: int = 1,
    *,
    by_columns: bool = False,
    after_steps: int = 0,
    path: str | Path | None = None,
    seed: int = 0,
) -> npt.NDArray[np.uint8]:
    """(rows × height, columns × width, 3) uint8; there are `ceil(episodes / rows)` columns.

    Episodes are played with random actions, which follow from `seed`. Frames are observations, if
    these are pictures, else what `render` returns. They fill row by row, or column by column.
    `after_steps` takes the frame after so many steps instead; episodes that end earlier have no
    frame. A `path` gets a PNG.

    Raises UsageError without episodes or rows, if frames are no pictures or differ in size, and if
    the file cannot be written.
    """
    if not _are_integers(episodes, rows) or episodes < 1 or rows < 1:
        raise BadArgument(got=f"{episodes} episodes in {rows} rows", wanted="at least one of each")
    if not _are_integers(after_steps) or after_steps < 0:
        raise BadArgument(got=f"after_steps {after_steps!r}", wanted="an integer from 0")
    env.action_space.seed(seed)
    frames = [
        frame
        for frame in (_frame_of_an_episode(env, after_steps) for _ in range(episodes))
        if frame is not None
    ]
    sheet = _sheet(frames, rows, -(-episodes // rows), by_columns=by_columns)
    if path is not None:
        _write(sheet, Path(path))
    return sheet


def _are_integers(*values: object) -> bool:
    return all(map(is_whole, values))


def _write(sheet: npt.NDArray[np.uint8], path: Path) -> None:
    from imageio.v3 import imwrite

    try:
        imwrite(path, sheet, extension=".png")
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}") from error


def _frame_of_an_episode(env: Any, after_steps: int) -> npt.NDArray[np.uint8] | None:
    observation, _ = env.reset()
    frame, steps, is_over = None, 0, False
    while True:
        if steps == after_steps:
            frame = _picture(env, observation)
        if is_over:
            return frame
        observation, _, terminated, truncated, _ = env.step(env.action_space.sample())
        steps, is_over = steps + 1, bool(terminated or truncated)


def _picture(env: Any, observation: Any) -> npt.NDArray[np.uint8]:
    if not _is_picture(observation):
        with without_window():
            observation = env.render()
    if not _is_picture(observation):
        raise BadArgument(
            got="frames that are no pictures",
            wanted="observations of (height, width, 3) uint8, or an environment made with "
            'render_mode="rgb_array"',
        )
    return np.array(observation)


def _is_picture(value: Any) -> bool:
    is_array = isinstance(value, np.ndarray) and value.dtype == np.uint8
    return is_array and value.ndim == 3 and value.shape[2] == 3


def _sheet(
    frames: list[npt.NDArray[np.uint8]], rows: int, columns: int, *, by_columns: bool
) -> npt.NDArray[np.uint8]:
    sizes = {frame.shape for frame in frames}
    if len(sizes) > 1:
        raise BadArgument(got=f"frames of {sorted(sizes)}", wanted="one size")
    height, width, _ = next(iter(sizes), (84, 84, 3))
    sheet = np.zeros((rows * height, columns * width, 3), np.uint8)
    for place, frame in enumerate(frames):
        row, column = divmod(place, columns) if not by_columns else divmod(place, rows)[::-1]
        top, left = row * height, column * width
        sheet[top : top + height, left : left + width] = frame
    return sheet
