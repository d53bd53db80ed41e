"""The names of Meta-World's tasks."""

from __future__ import annotations

from reglue.errors import UnknownName

ALL_TASKS: tuple[str, ...] = tuple(
    """
    assembly-v3 basketball-v3 bin-picking-v3 box-close-v3 button-press-topdown-v3
    button-press-topdown-wall-v3 button-press-v3 button-press-wall-v3 coffee-button-v3
    coffee-pull-v3 coffee-push-v3 dial-turn-v3 disassemble-v3 door-close-v3 door-lock-v3
    door-open-v3 door-unlock-v3 drawer-close-v3 drawer-open-v3 faucet-close-v3 faucet-open-v3
    hammer-v3 hand-insert-v3 handle-press-side-v3 handle-press-v3 handle-pull-side-v3
    handle-pull-v3 lever-pull-v3 peg-insert-side-v3 peg-unplug-side-v3 pick-out-of-hole-v3
    pick-place-v3 pick-place-wall-v3 plate-slide-back-side-v3 plate-slide-back-v3
    plate-slide-side-v3 plate-slide-v3 push-back-v3 push-v3 push-wall-v3 reach-v3
    reach-wall-v3 shelf-place-v3 soccer-v3 stick-pull-v3 stick-push-v3 sweep-into-v3 sweep-v3
    window-close-v3 window-open-v3
    """.split()
)
"""All 50, sorted; the tensor `task` holds an index into it.

Written out so that names can be checked, and indices read, without loading
MuJoCo; a test compares with the package.
"""


def check_task(name: str) -> str:
    """`name` itself. Raises UnknownName, with the near ones, if there is no such task."""
    if name not in ALL_TASKS:
        raise UnknownName("Meta-World task", name, ALL_TASKS)
    return name
