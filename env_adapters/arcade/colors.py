"""A config's colours after its image settings. Every pixel has one of them, so they are
shifted instead of the picture."""

from __future__ import annotations

import colorsys

import numpy as np

from env_adapters.arcade.sections import ImageSettings
from reglue.spec import Array


def tinted(color: tuple[int, int, int], settings: ImageSettings) -> Array:
    """(3,) uint8: shifted in hue, saturation and value, then perhaps inverted."""
    red, green, blue = (channel / 255.0 for channel in color)
    hue, saturation, value = colorsys.rgb_to_hsv(red, green, blue)
    shifted = colorsys.hsv_to_rgb(
        (hue + settings.hue_shift) % 1.0,
        min(max(saturation + settings.saturation_shift, 0.0), 1.0),
        min(max(value + settings.value_shift, 0.0), 1.0),
    )
    channels = np.array([int(255.0 * part + 0.5) for part in shifted], np.uint8)
    return 255 - channels if settings.color_inversion else channels
