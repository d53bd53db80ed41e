"""An episode as lines of text, one a step."""

from __future__ import annotations

from reglue.spec import Array, Arrays
from reglue_bench.replay.replay import Moment
from reglue_bench.terminal.words import number

_MOST_NUMBERS = 6  # of an array

HEAD = f"{'step':>6} {'reward':>12} {'return':>12}  {'flags':<22} {'action':<30} observation"


def line(moment: Moment) -> str:
    """Its numbers, in the columns of HEAD."""
    if moment.action is None:
        return f"{0:>6} {'–':>12} {'–':>12}  {'':<22} {'':<30} {short(moment.observation)}"
    return (
        f"{moment.step:>6} {number(moment.reward):>12} {number(moment.return_):>12}  "
        f"{flags(moment):<22} {short(moment.action):<30} {short(moment.observation)}"
    )


def flags(moment: Moment) -> str:
    """The flags that are set."""
    named = ("success", "terminated", "truncated")
    return " ".join(name for name in named if getattr(moment, name))


def short(arrays: Arrays) -> str:
    """A few numbers of each tensor, with its name if there are several."""
    if len(arrays) == 1:
        return _short(next(iter(arrays.values())))
    return "  ".join(f"{name} {_short(each)}" for name, each in arrays.items())


def _short(array: Array) -> str:
    if array.ndim > 1:
        return f"{array.dtype} {'×'.join(map(str, array.shape))}"
    if array.ndim == 0:
        return f"{array:.4g}"
    shown = " ".join(f"{each:.3g}" for each in array[:_MOST_NUMBERS].tolist())
    left = array.size - _MOST_NUMBERS
    return f"[{shown}{f' … {left} more' if left > 0 else ''}]"
