"""Small pictures that are painted into a frame."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reglue.spec import Array

SIDE = 84
"""Pixels of a frame's side."""

SHOWN = slice(6, 78)
"""Rows of a frame that the bars above and below leave free."""


@dataclass(frozen=True, slots=True)
class Sprite:
    """Pixels (h, w, 3) uint8, and which of them there are, (h, w, 1) bool; None is all."""

    pixels: Array
    mask: Array | None = None

    def paint(self, frame: Array, x: float, y: float) -> None:
        """Into `frame` (84, 84, 3), its top left at (x, y) in sides of the screen, -2 or more."""
        left, top = pixels_of(x + 2.0) - 2 * SIDE, pixels_of(y + 2.0) - 2 * SIDE
        height, width, _ = self.pixels.shape
        l, t = max(left, 0), max(top, SHOWN.start)  # noqa: E741
        r, b = min(left + width, SIDE), min(top + height, SHOWN.stop)
        if l >= r or t >= b:
            return
        part = (slice(t - top, b - top), slice(l - left, r - left))
        if self.mask is None:
            frame[t:b, l:r] = self.pixels[part]
        else:
            np.copyto(frame[t:b, l:r], self.pixels[part], where=self.mask[part])


def pixels_of(length: float) -> int:
    """The nearest number of pixels; 0 or more."""
    return int(length * SIDE + 0.5)


def plain(width: float, height: float, color: Array) -> Sprite:
    """A filled rectangle, in sides of the screen, of a pixel at least."""
    shape = (max(1, pixels_of(height)), max(1, pixels_of(width)), 3)
    return Sprite(np.full(shape, color, np.uint8))


def crossed(width: float, height: float, color: Array, ground: Array) -> Sprite:
    """A rectangle's outline and diagonals."""
    pixels = plain(width, height, color).pixels
    rows, cols, _ = pixels.shape
    row, col = np.mgrid[:rows, :cols]
    # Both diagonals, as thick as a pixel of the longer side: whole numbers alone.
    falling = abs(row * (cols - 1) - col * (rows - 1))
    rising = abs((rows - 1 - row) * (cols - 1) - col * (rows - 1))
    free = 2 * np.minimum(falling, rising) >= max(rows, cols)
    pixels[1:-1, 1:-1][free[1:-1, 1:-1]] = ground
    return Sprite(pixels)


def disc(size: float, color: Array, *, ring: bool) -> Sprite:
    """A ball: filled, or its outline of a pixel and a half."""
    pixels = plain(size, size, color).pixels
    n = len(pixels)
    row, col = np.mgrid[:n, :n]
    twice = (2 * row + 1 - n) ** 2 + (2 * col + 1 - n) ** 2  # squared distance from the middle
    mask = twice <= n * n
    if ring:
        mask &= twice >= max(n - 3, 0) ** 2
    return Sprite(pixels, mask[:, :, None])
