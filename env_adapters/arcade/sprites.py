"""Small pictures that are painted into a frame."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reglue.spec import Array

SIDE = 84
"""Pixels of a frame's side."""

SHOWN = slice(6, 78)
"""Rows of a frame that the bars above and below leave free."""

_FIRST, _LAST = SHOWN.start, SHOWN.stop


@dataclass(frozen=True, slots=True)
class Sprite:
    """Pixels (h, w, 3) uint8, and which of them there are, (h, w, 1) bool; None is all."""

    pixels: Array
    mask: Array | None = None

    def paint(self, frame: Array, x: float, y: float) -> None:
        """Into `frame` (84, 84, 3), its top left at (x, y) in sides of the screen, -2 or more."""
        left, top = pixels_of(x + 2.0) - 2 * SIDE, pixels_of(y + 2.0) - 2 * SIDE
        pixels, mask = self.pixels, self.mask
        height, width, _ = pixels.shape
        right, bottom = left + width, top + height
        if left < 0 or right > SIDE or top < _FIRST or bottom > _LAST:
            l, t = max(left, 0), max(top, _FIRST)  # noqa: E741
            r, b = min(right, SIDE), min(bottom, _LAST)
            if l >= r or t >= b:
                return
            part = (slice(t - top, b - top), slice(l - left, r - left))
            pixels, mask = pixels[part], None if mask is None else mask[part]
            left, top, right, bottom = l, t, r, b
        if mask is None:
            frame[top:bottom, left:right] = pixels
        else:
            np.copyto(frame[top:bottom, left:right], pixels, where=mask)


def pixels_of(length: float) -> int:
    """The nearest number of pixels; 0 or more."""
    return int(length * SIDE + 0.5)


def plain(width: float, height: float, color: Array) -> Sprite:
    """A filled rectangle, in sides of the screen, of a pixel at least."""
    shape = (max(1, pixels_of(height)), max(1, pixels_of(width)), 3)
    return Sprite(np.full(shape, color, np.uint8))


def crossed(width: float, height: float, color: Array, ground: Array) -> Sprite:
    """A rectangle's outline and diagonals; where these leave nothing free, the outline."""
    pixels = plain(width, height, color).pixels
    rows, cols, _ = pixels.shape
    row, col = np.mgrid[:rows, :cols]
    # Both diagonals, as thick as a pixel of the longer side: whole numbers alone.
    falling = abs(row * (cols - 1) - col * (rows - 1))
    rising = abs((rows - 1 - row) * (cols - 1) - col * (rows - 1))
    free = (2 * np.minimum(falling, rising) >= max(rows, cols))[1:-1, 1:-1]
    pixels[1:-1, 1:-1][free if free.any() else ...] = ground
    return Sprite(pixels)


def disc(size: float, color: Array, *, ring: bool) -> Sprite:
    """A ball: filled, or its outline of a pixel and a half, which has a hole from 3 pixels on."""
    pixels = plain(size, size, color).pixels
    n = len(pixels)
    row, col = np.mgrid[:n, :n]
    twice = (2 * row + 1 - n) ** 2 + (2 * col + 1 - n) ** 2  # squared distance from the middle
    mask = twice <= n * n
    if ring and n > 2:
        mask &= twice >= max((n - 3) ** 2, 3)
    return Sprite(pixels, mask[:, :, None])
