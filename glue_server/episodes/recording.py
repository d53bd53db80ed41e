"""Episodes: what is ordered, what each slot has earned so far, and what came of it."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np
import numpy.typing as npt

from env_adapters import Cell
from glue_server.agent.actions import Checked, unpacked
from glue_server.environment.replaying import NO_SLOTS, Recalled
from glue_server.episodes.observed import Observed, ObservedParts, ObservedSlots
from reglue.messages.agent_messages import ActionFlag
from reglue.messages.environment_messages import Flags, Play, Played, Slots
from reglue.spec import Arrays, TaskSpec


@dataclass(frozen=True, slots=True)
class Order:
    """An episode to play; `unit` and `k` say where in the plan it stands."""

    unit: int
    k: int
    cell: Cell
    start_seed: int  # for the agent, opaque, 64 bits
    max_steps: int = 0  # cut the episode off after so many steps; 0 means no limit
    truncates: bool = False  # the agent gets its end, TRUNCATED


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of an order."""

    order: Order
    status: str  # ok, CRASHED, or whose fault it was: see reglue_bench.results.result.EpisodeRow
    success: bool = False  # the task's flag was up at some step
    return_: float = 0.0  # sum of rewards in the order of steps, task units; always finite
    steps: int = 0
    clipped: int = 0  # steps whose action lay out of bounds
    defaulted: int = 0  # steps whose action came too late, so that a default was played
    first_success: int = 0  # the step, from 1, at which the flag was first up; 0: no success
    actions: bytes = b""  # every action as on the wire, step by step
    rewards: bytes = b""  # every reward, little-endian float64, step by step
    detail: str = ""  # what happened, for people, if status is not ok
    observed: Observed | None = None  # None if nothing was seen, or nobody records it


CUT_OFF = "truncated where its order ends"
"""The detail of an outcome whose environment would have gone on."""

CRASHED = "crashed"
"""The status of an episode whose environment failed, and failed again in the same place when the
same actions were played again in a fresh one, or whose rewards have no finite sum. Nobody is
blamed; the episode counts as a failure."""

LOST = "environment_lost"
"""The status of an episode that was on when its environment was lost for good. Nobody knows yet
whether its actions brought that about; see reglue_bench.runs.lost_units."""

_NO_LIMIT = np.iinfo(np.int64).max
LONG_STEPS = 10_000
"""Steps of an episode after which the run says once that it may have no end."""

_FIRST_CAPACITY = 64  # steps; doubled when an episode is longer


class EpisodeRecording:
    """What each slot has earned: one row a slot, so that a turn over many slots stays cheap."""

    def __init__(
        self,
        spec: TaskSpec,
        observed_to: ObservedParts | None = None,
        tell_long: Callable[[], None] | None = None,
    ) -> None:
        """`tell_long` is called once, if an episode takes LONG_STEPS and the task's should end."""
        self._tell_long = None if spec.continuing else tell_long
        self._tensors = spec.actions
        slots = spec.slots
        row_bytes = sum(tensor.row_bytes for tensor in spec.actions)
        self.orders: dict[int, Order] = {}  # of the slots whose episode is on
        self.flags = np.zeros(slots, np.uint8)  # ActionFlag bits of the action that is played
        self._steps = np.zeros(slots, np.int64)
        self._acted = np.zeros(slots, np.int64)  # actions recorded
        self._most = np.zeros(slots, np.int64)  # steps that the order allows
        self._truncates: set[int] = set()  # slots that are truncated there
        self._clipped = np.zeros(slots, np.int64)
        self._defaulted = np.zeros(slots, np.int64)
        self._first_success = np.zeros(slots, np.int64)  # the step, from 1; 0: none yet
        self._actions = np.zeros((slots, _FIRST_CAPACITY, row_bytes), np.uint8)
        self._rewards = np.zeros((slots, _FIRST_CAPACITY))
        self._next_look = _FIRST_CAPACITY  # actions of an episode, for which `act` has to look
        self._observed = None if observed_to is None else ObservedSlots(spec, observed_to)

    def begin(self, slot: int, order: Order) -> None:
        """Begin an episode."""
        self.orders[slot] = order
        self._most[slot] = order.max_steps or _NO_LIMIT
        if order.truncates:
            self._truncates.add(slot)
        for column in (self._steps, self._acted, self._first_success):
            column[slot] = 0
        self._clipped[slot] = self._defaulted[slot] = 0

    def cut_off(self, slots: Slots) -> npt.NDArray[np.bool_]:
        """Which of `slots` have taken all the steps that their order allows, (rows,)."""
        at = slots.astype(np.intp)
        cut: npt.NDArray[np.bool_] = self._steps[at] >= self._most[at]
        return cut

    def truncated(self, slots: Slots) -> npt.NDArray[np.bool_] | None:
        """Which of `slots` end here, TRUNCATED, by their orders, (rows,); None: none of them."""
        if not self._truncates:
            return None
        cut = self.cut_off(slots)
        if not np.count_nonzero(cut):
            return None
        cut &= np.isin(slots, list(self._truncates))
        return cut

    def act(self, slots: Slots, checked: Checked) -> None:
        """Record what is played next."""
        at = slots.astype(np.intp)  # once: NumPy would convert at every look-up
        acted = self._acted[at]
        if (most := acted.max()) >= self._next_look:
            self._look(int(most))
        self._actions[at, acted] = checked.packed
        self._acted[at] = acted + 1
        self.flags[at] = 0
        if np.count_nonzero(checked.clipped):
            self._clipped[at] += checked.clipped
            self.flags[at[checked.clipped]] = ActionFlag.CLIPPED
        if checked.defaulted:
            self._defaulted[at] += 1
            self.flags[at] = ActionFlag.DEFAULTED

    def land(
        self, slots: Slots, rewards: npt.NDArray[np.float64], success: npt.NDArray[np.bool_]
    ) -> None:
        """Record what the actions earned."""
        at = slots.astype(np.intp)
        steps = self._steps[at]
        self._rewards[at, steps] = rewards
        self._steps[at] = steps + 1
        if np.count_nonzero(success):
            first = at[success & (self._first_success[at] == 0)]
            self._first_success[first] = self._steps[first]

    def saw_start(self, slots: Slots, observations: Arrays) -> None:
        """Record what episodes began with."""
        if self._observed is not None and len(slots):
            self._observed.start(slots, observations)

    def saw_step(self, slots: Slots, played: Played, rows: Flags | slice) -> None:
        """Record what the actions led to, in those rows."""
        if self._observed is not None and len(slots[rows]):
            seen = {name: values[rows] for name, values in played.observations.items()}
            self._observed.step(slots[rows], seen, played.terminated[rows], played.truncated[rows])

    def recalled(self, slot: int) -> Iterator[Recalled]:
        """See Recall: the episode's start, and its steps."""
        if slot not in self.orders:  # its agent is lost: its episode is over
            return
        yield Recalled(Play(NO_SLOTS, {}, {slot: self.orders[slot].cell}))
        acted, steps = int(self._acted[slot]), int(self._steps[slot])
        actions = unpacked(self._actions[slot, :acted].tobytes(), self._tensors)
        slots = np.array([slot], np.uint32)
        for step in range(acted):
            action = {name: rows[step : step + 1] for name, rows in actions.items()}
            is_answered = step < steps
            reward = float(self._rewards[slot, step]) if is_answered else None
            yield Recalled(Play(slots, action, {}), reward, is_answered)

    def outcome(self, slot: int, status: str = "ok", detail: str = "") -> Outcome:
        """End the slot's episode and return what came of it.

        A success counts only if nobody was at fault. Where the sum of its rewards is beyond what a
        float64 holds, it has crashed, as if a reward were.
        """
        order = self.orders.pop(slot)
        self._truncates.discard(slot)
        steps = int(self._steps[slot])
        # Python's floats: they overflow without a warning. Not sum(), which rounds as it likes.
        return_ = reduce(add, self._rewards[slot, :steps].data, 0.0)
        if not math.isfinite(return_):
            if status == "ok":
                status = CRASHED
                detail = f"its return: got {return_}, wanted a finite sum of rewards"
            return_ = math.copysign(sys.float_info.max, return_)
        first_success = int(self._first_success[slot]) if status == "ok" else 0
        rewards = self._rewards[slot, :steps].astype("<f8", copy=False).tobytes()
        observed: Observed | None = None
        if self._observed is not None:
            observed = self._observed.end(slot, rewards, self._actions[slot, :steps].tobytes())
        return Outcome(
            order=order,
            status=status,
            success=first_success > 0,
            return_=return_,
            steps=steps,
            clipped=int(self._clipped[slot]),
            defaulted=int(self._defaulted[slot]),
            first_success=first_success,
            actions=self._actions[slot, : self._acted[slot]].tobytes(),
            rewards=rewards,
            detail=detail,
            observed=observed,
        )

    def _look(self, acted: int) -> None:
        """Make room, and tell of the first long episode; some has had `acted` actions."""
        if acted >= self._actions.shape[1]:
            self._actions = np.concatenate([self._actions, np.zeros_like(self._actions)], axis=1)
            self._rewards = np.concatenate([self._rewards, np.zeros_like(self._rewards)], axis=1)
        if self._tell_long is not None and acted >= LONG_STEPS:
            self._tell_long()
            self._tell_long = None
        capacity = self._actions.shape[1]
        self._next_look = capacity if self._tell_long is None else min(capacity, LONG_STEPS)
