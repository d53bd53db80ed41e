"""The names of Meta-World's tasks, in the order of its one-hots.

Written out, since the package loads its simulators with them, which takes most of a
second; a test compares the two.
"""

from __future__ import annotations

MT10: tuple[str, ...] = tuple(
    """
    reach-v3 push-v3 pick-place-v3 door-open-v3 drawer-open-v3 drawer-close-v3
    button-press-topdown-v3 peg-insert-side-v3 window-open-v3 window-close-v3
    """.split()
)
MT25: tuple[str, ...] = tuple(
    """
    reach-v3 push-v3 pick-place-v3 door-open-v3 drawer-open-v3 drawer-close-v3
    button-press-topdown-v3 peg-insert-side-v3 window-open-v3 window-close-v3
    coffee-pull-v3 pick-out-of-hole-v3 disassemble-v3 pick-place-wall-v3 basketball-v3
    stick-pull-v3 button-press-wall-v3 faucet-open-v3 door-lock-v3 lever-pull-v3
    sweep-into-v3 faucet-close-v3 coffee-button-v3 button-press-topdown-wall-v3
    dial-turn-v3
    """.split()
)
MT50: tuple[str, ...] = tuple(
    """
    assembly-v3 basketball-v3 bin-picking-v3 box-close-v3 button-press-topdown-v3
    button-press-topdown-wall-v3 button-press-v3 button-press-wall-v3 coffee-button-v3
    coffee-pull-v3 coffee-push-v3 dial-turn-v3 disassemble-v3 door-close-v3
    door-lock-v3 door-open-v3 door-unlock-v3 hand-insert-v3 drawer-close-v3
    drawer-open-v3 faucet-open-v3 faucet-close-v3 hammer-v3 handle-press-side-v3
    handle-press-v3 handle-pull-side-v3 handle-pull-v3 lever-pull-v3
    pick-place-wall-v3 pick-out-of-hole-v3 pick-place-v3 plate-slide-v3
    plate-slide-side-v3 plate-slide-back-v3 plate-slide-back-side-v3
    peg-insert-side-v3 peg-unplug-side-v3 soccer-v3 stick-push-v3 stick-pull-v3
    push-v3 push-wall-v3 push-back-v3 reach-v3 reach-wall-v3 shelf-place-v3
    sweep-into-v3 sweep-v3 window-open-v3 window-close-v3
    """.split()
)
ALL_TASKS: tuple[str, ...] = tuple(sorted(MT50))
"""The tensor `task` holds an index into it."""
