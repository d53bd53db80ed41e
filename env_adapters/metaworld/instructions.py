"""A sentence for each of Meta-World's tasks, which tells an agent what to do.

Meta-World 3.1.1 carries none. Its paper describes the tasks (Yu et al. 2019, arXiv:1910.10897,
appendix A). These sentences are ours, since in version 3 several tasks ask for something else than
the paper says: a lever is pulled up, and a block is put into the hole, not the gripper.
"""

from __future__ import annotations

from collections.abc import Mapping

INSTRUCTIONS: Mapping[str, str] = {
    "assembly-v3": "put the ring onto the peg",
    "basketball-v3": "put the ball into the basket",
    "bin-picking-v3": "move the block from one bin into the other",
    "box-close-v3": "put the lid onto the box",
    "button-press-topdown-v3": "press the button down",
    "button-press-topdown-wall-v3": "press the button down behind the wall",
    "button-press-v3": "press the button",
    "button-press-wall-v3": "press the button behind the wall",
    "coffee-button-v3": "press the button of the coffee machine",
    "coffee-pull-v3": "pull the mug away from the coffee machine to the goal",
    "coffee-push-v3": "push the mug under the coffee machine",
    "dial-turn-v3": "turn the dial",
    "disassemble-v3": "take the ring off the peg",
    "door-close-v3": "close the door",
    "door-lock-v3": "lock the door",
    "door-open-v3": "open the door",
    "door-unlock-v3": "unlock the door",
    "drawer-close-v3": "close the drawer",
    "drawer-open-v3": "open the drawer",
    "faucet-close-v3": "turn the faucet off, clockwise",
    "faucet-open-v3": "turn the faucet on, counter-clockwise",
    "hammer-v3": "drive the nail into the wall with the hammer",
    "hand-insert-v3": "put the block into the hole",
    "handle-press-side-v3": "press the handle down from the side",
    "handle-press-v3": "press the handle down",
    "handle-pull-side-v3": "pull the handle up from the side",
    "handle-pull-v3": "pull the handle up",
    "lever-pull-v3": "pull the lever up",
    "peg-insert-side-v3": "insert the peg into the hole in the side of the box",
    "peg-unplug-side-v3": "pull the peg out of the side of the box",
    "pick-out-of-hole-v3": "lift the puck out of the hole to the goal",
    "pick-place-v3": "pick up the puck and hold it at the goal",
    "pick-place-wall-v3": "pick up the puck and lift it over the wall to the goal",
    "plate-slide-back-side-v3": "slide the plate sideways out of the cabinet",
    "plate-slide-back-v3": "slide the plate back out of the cabinet",
    "plate-slide-side-v3": "slide the plate sideways into the cabinet",
    "plate-slide-v3": "slide the plate forward into the cabinet",
    "push-back-v3": "pull the puck back to the goal",
    "push-v3": "push the puck to the goal",
    "push-wall-v3": "push the puck around the wall to the goal",
    "reach-v3": "move the gripper to the goal",
    "reach-wall-v3": "move the gripper over the wall to the goal",
    "shelf-place-v3": "put the block onto the shelf",
    "soccer-v3": "push the ball into the soccer goal",
    "stick-pull-v3": "pull the bottle to the goal with the stick",
    "stick-push-v3": "push the bottle to the goal with the stick",
    "sweep-into-v3": "sweep the block into the hole",
    "sweep-v3": "sweep the block off the table",
    "window-close-v3": "close the window",
    "window-open-v3": "open the window",
}
"""By task."""

INSTRUCTION_BYTES = max(len(text.encode()) for text in INSTRUCTIONS.values())
"""The size of the tensor: one for all tasks, so that it does not tell which are played."""
