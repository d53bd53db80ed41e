"""A small meta-learner: finds a hidden goal from rewards alone.

Made for Meta-World's ML1 on reach-v3. While it adapts, the hand sweeps through the workspace and
each slot remembers positions and rewards. `adapt` then fits a bowl, `a |p|² + b·p + c`, to 1 /
reward by least squares; from then on the hand goes to its bottom, `-b / 2a`. Before the first fit
it goes to the middle.

Why 1 / reward: shaped rewards are often dm_control's `tolerance` with a long
tail, 1 / (1 + k² d²) at the distance d (Tassa et al. 2018, arXiv:1801.00690;
`metaworld.utils.reward_utils._sigmoids`), whose inverse is such a bowl, except that it is level
within 5 cm of the goal.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from reglue.agents.agent import Agent
from reglue.messages.agent_messages import EndKind, Ends, Starts, Steps
from reglue.spec import Array, Arrays, TaskSpec

Points = npt.NDArray[np.float64]

HAND_LOW = np.array([-0.525, 0.348, -0.0525])
HAND_HIGH = np.array([0.525, 1.025, 0.7])
"""Positions that the hand can reach, metres: `SawyerXYZEnv._HAND_SPACE`."""

MIDDLE = (HAND_LOW + HAND_HIGH) / 2
ROUND = (
    *((-1, -1, -1), (1, -1, -1), (1, 1, -1), (-1, 1, -1)),
    *((-1, 1, 1), (1, 1, 1), (1, -1, 1), (-1, -1, 1)),
)
NEAR = 0.04  # metres from a way point at which it counts as reached
GAIN = 10.0  # action per metre; an action of 1 moves the hand by a centimetre


class ReachAdapt(Agent):
    """Explores, fits and reaches; slots learn independently.

    The first three numbers of an observation are the hand's position, in metres,
    and the first three of an action move it.
    """

    def agent_init(self, spec: TaskSpec) -> None:
        """Forget everything."""
        self.adapt_begin()
        self._exploring = False

    def adapt_begin(self) -> None:
        """Forget the goals, and explore from the first way point."""
        slots = self.spec.slots
        self._goals = np.tile(MIDDLE, (slots, 1))
        self._next = np.zeros(slots, np.int64)  # way point
        self._seen: list[list[npt.NDArray[np.float64]]] = [[] for _ in range(slots)]
        self._exploring = True

    def adapt(self) -> None:
        """Each slot's goal is the bottom of its bowl."""
        for slot, seen in enumerate(self._seen):
            if seen:
                positions, rewards = np.split(np.array(seen), [3], axis=1)
                self._goals[slot] = find_goal(positions, rewards[:, 0])

    def agent_freeze(self) -> None:
        """Stop exploring."""
        self._exploring = False

    def agent_start(self, observations: Arrays, starts: Starts) -> Array:
        """Move to the goal; a sweep continues where the last episode ended."""
        return self._move(_hands(observations), starts.slots)

    def agent_step(
        self, rewards: npt.NDArray[np.float64], observations: Arrays, steps: Steps
    ) -> Array:
        """Remember while exploring, then move on."""
        hands = _hands(observations)
        self._remember(hands, rewards, steps.slots)
        return self._move(hands, steps.slots)

    def agent_end(self, rewards: npt.NDArray[np.float64], observations: Arrays, ends: Ends) -> None:
        """Remember the last position too."""
        valid = ends.kinds != EndKind.VOID
        self._remember(_hands(observations)[valid], rewards[valid], ends.slots[valid])

    def _remember(self, hands: Points, rewards: Points, slots: npt.NDArray[np.uint32]) -> None:
        if self._exploring:
            for slot, hand, reward in zip(slots.tolist(), hands, rewards, strict=True):
                self._seen[slot].append(np.append(hand, reward))

    def _move(self, hands: Points, slots: npt.NDArray[np.uint32]) -> Array:
        targets = self._goals[slots]
        if self._exploring:
            sweep = way_points()
            reached = np.linalg.norm(sweep[self._next[slots]] - hands, axis=1) < NEAR
            self._next[slots] = (self._next[slots] + reached) % len(sweep)
            targets = sweep[self._next[slots]]
        actions = self.spec.actions[0].empty(len(slots))
        actions[:, :3] = np.clip(GAIN * (targets - hands), -1.0, 1.0)
        return actions


def way_points() -> Points:
    """The corners of a box of half the workspace's size, (8, 3), metres.

    Between neighbours, also the last and the first, one coordinate changes.
    """
    points: Points = MIDDLE + (HAND_HIGH - HAND_LOW) / 4 * np.array(ROUND)
    return points


def find_goal(positions: Points, rewards: Points) -> Points:
    """The bottom of the bowl fitted to 1 / rewards; positions (n, 3), metres.

    If no bowl fits (too few points, or it has no bottom), the position with the highest reward.
    """
    paid = rewards > 0
    squares = np.sum(positions**2, axis=1)
    terms = np.column_stack([squares, positions, np.ones(len(positions))])[paid]
    (a, *b, _), _, rank, _ = np.linalg.lstsq(terms, 1 / rewards[paid])
    if rank < terms.shape[1] or a <= 0:
        goal: Points = positions[np.argmax(rewards)]
    else:
        goal = np.clip(-np.array(b) / (2 * a), HAND_LOW, HAND_HIGH)
    return goal


def _hands(observations: Arrays) -> Points:
    rows = next(iter(observations.values()))
    return np.asarray(rows[:, :3], np.float64)
