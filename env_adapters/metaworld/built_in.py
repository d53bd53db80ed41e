"""The tasks of Meta-World's own benchmarks, in their order.

Written out so that a plan can be made without loading MuJoCo, which takes most of a
second; a test compares with the package.
"""

from __future__ import annotations

from reglue.agents.metaworld import MT10, MT25, MT50

BUILT_IN: dict[tuple[str, str], tuple[str, ...]] = {
    ("MT10", "train"): MT10,
    ("MT25", "train"): MT25,
    ("MT50", "train"): MT50,
    ("ML10", "train"): tuple(
        """
        reach-v3 push-v3 pick-place-v3 door-open-v3 drawer-close-v3
        button-press-topdown-v3 peg-insert-side-v3 window-open-v3 sweep-v3 basketball-v3
        """.split()
    ),
    ("ML10", "test"): tuple(
        """
        drawer-open-v3 door-close-v3 shelf-place-v3 sweep-into-v3 lever-pull-v3
        """.split()
    ),
    ("ML25", "train"): MT25,
    ("ML25", "test"): tuple(
        """
        basketball-v3 door-close-v3 shelf-place-v3 sweep-v3 button-press-v3
        """.split()
    ),
    ("ML45", "train"): tuple(
        """
        assembly-v3 basketball-v3 button-press-topdown-v3 button-press-topdown-wall-v3
        button-press-v3 button-press-wall-v3 coffee-button-v3 coffee-pull-v3
        coffee-push-v3 dial-turn-v3 disassemble-v3 door-close-v3 door-open-v3
        drawer-close-v3 drawer-open-v3 faucet-open-v3 faucet-close-v3 hammer-v3
        handle-press-side-v3 handle-press-v3 handle-pull-side-v3 handle-pull-v3
        lever-pull-v3 pick-place-wall-v3 pick-out-of-hole-v3 push-back-v3 pick-place-v3
        plate-slide-v3 plate-slide-side-v3 plate-slide-back-v3 plate-slide-back-side-v3
        peg-insert-side-v3 peg-unplug-side-v3 soccer-v3 stick-push-v3 stick-pull-v3
        push-wall-v3 push-v3 reach-wall-v3 reach-v3 shelf-place-v3 sweep-into-v3 sweep-v3
        window-open-v3 window-close-v3
        """.split()
    ),
    ("ML45", "test"): tuple(
        """
        bin-picking-v3 box-close-v3 hand-insert-v3 door-lock-v3 door-unlock-v3
        """.split()
    ),
}
"""By name and split; multi-task sets have "train" only."""
