"""Combines the spaces of tasks that differ: one pair of spaces, or tensors, for all.

- `equal`: they must be equal, except that a smaller Discrete of actions fits into a larger one;
- `pad`: Boxes of observations of one dtype and number of axes are padded with zeros;
- `superset`: there is an entry for each space, `observation/0`, `observation/1`, …, and `kind`
says which one is filled; the others are blank. Of the actions `action/0`, … the environment takes
the one of its space.
"""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

Fit: TypeAlias = Literal["equal", "pad", "superset"]
FITS: tuple[Fit, ...] = get_args(Fit)
