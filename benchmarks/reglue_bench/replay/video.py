"""Writes pictures as a video: H.264 in an mp4."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from reglue.errors import MissingExtra, UsageError
from reglue_bench.replay.pictures import Picture, enlarged, with_even_sizes

_SIZE = 480  # pixels: smaller pictures are enlarged up to it


class Video:
    """An mp4 that grows frame by frame; `video` opens one."""

    def __init__(self, container: Any, fps: float) -> None:
        self._container = container
        self._stream = container.add_stream("libx264", rate=Fraction(fps).limit_denominator(1000))
        self._stream.pix_fmt = "yuv420p"  # which every player knows
        self._shape: tuple[int, ...] | None = None

    def add(self, picture: Picture) -> None:
        """The next frame. Raises UsageError for one of another size."""
        frame = with_even_sizes(enlarged(picture, _SIZE, _SIZE))
        if self._shape is None:
            self._shape = frame.shape
            self._stream.height, self._stream.width, _ = frame.shape
        if frame.shape != self._shape:
            raise UsageError(got=f"a frame of {frame.shape}", wanted=f"{self._shape} as the first")
        native = _av().VideoFrame.from_ndarray(np.ascontiguousarray(frame), format="rgb24")
        self._container.mux(self._stream.encode(native))

    def end(self) -> None:
        """Write what the encoder still holds."""
        self._container.mux(self._stream.encode(None))


@contextmanager
def video(path: Path, fps: float) -> Iterator[Video]:
    """A video at `path`, which is written whole or, if the block raises, not at all.

    Raises MissingExtra, and UsageError if it cannot be written.
    """
    av = _av()
    if path.suffix != ".mp4":
        raise UsageError(got=f"--video {path}", wanted="a name that ends in .mp4")
    if path.is_dir():
        raise UsageError(f"--video {path} is a folder; name the file, such as {path}/episode.mp4")
    draft = path.with_name(path.name + ".tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with av.open(str(draft), "w", format="mp4") as container:
            growing = Video(container, fps)
            yield growing
            growing.end()
        draft.replace(path)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)


def _av() -> Any:
    try:
        return importlib.import_module("av")
    except ModuleNotFoundError as error:
        raise MissingExtra("--video", "video", "the package av") from error
