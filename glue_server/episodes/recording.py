"""Episodes: what is ordered, what each slot has earned so far, and what came of it."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from env_adapters import Cell
from glue_server.agent.actions import Checked, unpacked
from glue_server.agent.turn_rows import among
from glue_server.environment.replaying import NO_SLOTS, Recalled
from glue_server.episodes.observed import Observed, ObservedParts, ObservedSlots
from reglue.errors import EnvironmentFault
from reglue.messages.agent_messages import ActionFlag
from reglue.messages.environment_messages import Flags, Play, Played, SlotIndex, Slots, index_of
from reglue.messages.value import value
from reglue.spec import Array, Arrays, TaskSpec


@value
class Order:
    """An episode to play; `unit` and `k` say where in the plan it stands."""

    unit: int
    k: int
    cell: Cell
    start_seed: int  # for the agent, opaque, 64 bits
    max_steps: int = 0  # cut the episode off after so many steps; 0 means no limit
    truncates: bool = False  # the agent gets its end, TRUNCATED


@value
class Outcome:
    """The result of an order."""

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

# A slot has room for two blocks of steps; when one slot is full, every full block is put away. Most
# episodes end before, if a row of actions is small: a block has as many as fill a page of memory.
_LEAST_BLOCK, _PAGE_BYTES = 64, 4096
_ONE = np.ones((), np.int64)  # NumPy looks at a Python number for as long as it adds


@dataclass(slots=True)
class _Earlier:
    """Blocks of an episode that were put away: their rewards' sum, and what is kept of them."""

    return_: float = 0.0
    actions: bytearray = field(default_factory=bytearray)
    rewards: bytearray = field(default_factory=bytearray)


@np.errstate(over="ignore", invalid="ignore")
def _sums(before: npt.ArrayLike, rewards: Array) -> Array:
    """`before`, (…), and `rewards`, (…, n), added up one after another: as no other sum does."""
    numbers = rewards.copy()
    if not numbers.size:
        return np.asarray(before)
    numbers[..., 0] += before
    sums: Array = np.add.accumulate(numbers, axis=-1)[..., -1]
    return sums


class EpisodeRecording:
    """Actions and rewards of each slot: one row a slot, so that a turn over many slots stays cheap.

    Actions and rewards fill a slot's room. A block of them is added up in time, and joins the
    earlier steps of its slot's episode where these are kept.
    """

    def __init__(
        self,
        spec: TaskSpec,
        observed_to: ObservedParts | None = None,
        tell_long: Callable[[], None] | None = None,
        *,
        most_kept: int = sys.maxsize,
    ) -> None:
        """`tell_long` is called once, if an episode takes LONG_STEPS and the task's should end.

        An episode of more than `most_kept` steps is forgotten: it is not replayable, and its
        outcome has neither actions nor rewards.
        """
        self._tell_long = None if spec.continuing else tell_long
        self._tensors = spec.actions
        slots = spec.slots
        row_bytes = sum(tensor.row_bytes for tensor in spec.actions)
        self._row = np.dtype((np.void, row_bytes))  # NumPy moves one faster than as many bytes
        self.orders: dict[int, Order] = {}  # of the slots whose episode is on
        self.free = set(range(slots))  # the other slots
        self.ended = 0  # episodes so far
        self._flags = np.zeros(slots, np.uint8)  # ActionFlag bits of the action that is played
        self._has_flags = False  # any has been set so far; of most runs none is
        self._steps = np.zeros(slots, np.int64)
        self._has_acted = np.zeros(slots, np.bool_)  # an action is recorded that has not landed
        self._most = np.full(slots, _NO_LIMIT)  # steps that the order allows
        self._truncates: set[int] = set()  # slots that are truncated there
        self._clipped = np.zeros(slots, np.int64)
        self._defaulted = np.zeros(slots, np.int64)
        self._first_success = np.zeros(slots, np.int64)  # the step, from 1; 0: none yet
        # The rooms of all slots, one after another, and where each slot's next step stands in them.
        self._block = max(_LEAST_BLOCK, _PAGE_BYTES // max(8, row_bytes))
        self._room = 2 * self._block
        self._actions = np.zeros(slots * self._room, self._row)
        self._rewards = np.zeros(slots * self._room, "<f8")
        self._firsts = np.arange(0, slots * self._room, self._room)
        self._places = self._firsts.copy()
        # In how many turns, at the least, an order may have its last step, or a room be full or an
        # episode long.
        self._turns_to_cut, self._turns_to_full = _NO_LIMIT, min(self._room, LONG_STEPS)
        self._indexed: Slots = NO_SLOTS  # the slots that `_at` is made of
        self._at: SlotIndex = NO_SLOTS.astype(np.intp)
        self._most_kept = most_kept
        self._earlier = [_Earlier() for _ in range(slots)]  # steps before those of the block
        self._observed = None if observed_to is None else ObservedSlots(spec, observed_to)

    def begin(self, slot: int, order: Order) -> None:
        """Begin an episode."""
        self.orders[slot] = order
        self.free.discard(slot)
        self._most[slot] = order.max_steps or _NO_LIMIT
        if order.truncates:
            self._truncates.add(slot)
        self._turns_to_cut = min(self._turns_to_cut, int(self._most[slot]))
        for column in (self._steps, self._first_success, self._clipped, self._defaulted):
            column[slot] = 0
        self._has_acted[slot] = False
        self._earlier[slot] = _Earlier()

    def cut_off(self, slots: Slots) -> Flags | None:
        """Flags of those of `slots` that have taken all steps of their order, (rows,); or None."""
        if self._turns_to_cut > 0:
            return None
        self._turns_to_cut = int((self._most - self._steps).min())
        at = self._index(slots)
        cut: Flags = self._steps[at] >= self._most[at]
        return cut if 1 in cut.tobytes() else None

    def truncated(self, slots: Slots) -> Flags | None:
        """Flags of those of `slots` that end here, TRUNCATED, by their orders, (rows,); or None."""
        if not self._truncates or (cut := self.cut_off(slots)) is None:
            return None
        cut &= among(slots, self._truncates)
        return cut

    def act(self, slots: Slots, checked: Checked) -> None:
        """Record what is played next."""
        at = self._index(slots)
        self._actions[self._places[at]] = checked.packed.view(self._row)[:, 0]
        self._has_acted[at] = True
        if self._has_flags:
            self._flags[at] = 0
        if 1 in checked.clipped.tobytes():
            self._has_flags = True
            self._clipped[at] += checked.clipped
            self._flags[slots[checked.clipped]] = ActionFlag.CLIPPED
        if checked.defaulted:
            self._has_flags = True
            self._defaulted[at] += 1
            self._flags[at] = ActionFlag.DEFAULTED

    def flags(self, slots: Slots) -> npt.NDArray[np.uint8]:
        """The ActionFlag bits of the actions that are played, (rows,)."""
        if not self._has_flags:
            return np.zeros(len(slots), np.uint8)
        return np.array(self._flags[self._index(slots)])

    def land(self, slots: Slots, rewards: npt.NDArray[np.float64], success: Flags) -> None:
        """Record what the actions earned."""
        at = self._index(slots)
        places = self._places[at]
        self._rewards[places] = rewards
        self._places[at] = places + _ONE
        self._steps[at] += _ONE
        self._has_acted[at] = False
        if 1 in success.tobytes():
            first = slots[success & (self._first_success[at] == 0)]
            self._first_success[first] = self._steps[first]
        self._turns_to_cut -= 1
        self._turns_to_full -= 1
        if self._turns_to_full <= 0:
            self._make_room()

    def _index(self, slots: Slots) -> SlotIndex:
        """`slots` as an index of columns, made once while the same slots play turn after turn."""
        if slots is not self._indexed:
            self._at = index_of(slots, len(self._steps))
            self._indexed = slots
        return self._at

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
        """The episode's start, and its steps."""
        if slot not in self.orders:  # its agent is lost: its episode is over
            return
        if self._is_forgotten(slot):
            raise EnvironmentFault(
                "its episode is not replayable",
                got=f"more than {self._most_kept} steps",
                wanted="fewer",
            )
        yield Recalled(Play(NO_SLOTS, {}, {slot: self.orders[slot].cell}))
        acted, earned = self._all(slot)
        actions, rewards = unpacked(acted, self._tensors), np.frombuffer(earned, "<f8")
        slots = np.array([slot], np.uint32)
        for step in range(self._acted(slot)):
            action = {name: rows[step : step + 1] for name, rows in actions.items()}
            is_answered = step < len(rewards)
            reward = float(rewards[step]) if is_answered else None
            yield Recalled(Play(slots, action, {}), reward, is_answered)

    def outcome(self, slot: int, status: str = "ok", detail: str = "") -> Outcome:
        """End the slot's episode and return what came of it.

        A success counts only if nobody was at fault. Where the sum of its rewards is beyond what a
        float64 holds, it has crashed, as if a reward were.
        """
        order = self.orders.pop(slot)
        self.free.add(slot)
        self.ended += 1
        self._truncates.discard(slot)
        self._most[slot] = _NO_LIMIT
        steps = int(self._steps[slot])
        return_ = self._return(slot)
        if not math.isfinite(return_):
            if status == "ok":
                status = CRASHED
                detail = f"its return: got {return_}, wanted a finite sum of rewards"
            return_ = math.copysign(sys.float_info.max, return_)
        first_success = int(self._first_success[slot]) if status == "ok" else 0
        acted, rewards = self._all(slot)
        observed: Observed | None = None
        if self._observed is not None:
            row_bytes = self._row.itemsize
            observed = self._observed.end(slot, rewards, acted[: steps * row_bytes])
        self._places[slot] = self._firsts[slot]
        return Outcome(
            order=order,
            status=status,
            success=first_success > 0,
            return_=return_,
            steps=steps,
            clipped=int(self._clipped[slot]),
            defaulted=int(self._defaulted[slot]),
            first_success=first_success,
            actions=acted,
            rewards=rewards,
            detail=detail,
            observed=observed,
        )

    def _return(self, slot: int) -> float:
        """The sum of the episode's rewards: those that were put away, and those in the room."""
        return float(_sums(self._earlier[slot].return_, self._in_room(self._rewards, slot)))

    def _acted(self, slot: int) -> int:
        """The actions that are recorded."""
        return int(self._steps[slot]) + int(self._has_acted[slot])

    def _in_room(self, rooms: Array, slot: int, more: int = 0) -> Array:
        """The steps that a slot has in its room, and so many rows after them."""
        return rooms[self._firsts[slot] : self._places[slot] + more]

    def _all(self, slot: int) -> tuple[bytes, bytes]:
        """Actions as on the wire, and rewards, little-endian float64; empty if it is forgotten."""
        if self._is_forgotten(slot):
            return b"", b""
        earlier, acted = self._earlier[slot], int(self._has_acted[slot])
        actions = self._in_room(self._actions, slot, acted).tobytes()
        rewards = self._in_room(self._rewards, slot).tobytes()
        return bytes(earlier.actions) + actions, bytes(earlier.rewards) + rewards

    def _is_forgotten(self, slot: int) -> bool:
        return bool(self._steps[slot] > self._most_kept)

    def _make_room(self) -> None:
        """Put blocks away if a slot's room is full, tell of the first long episode, and see when
        either may be so next.
        """
        filled = self._places - self._firsts
        if filled.max() == self._room:
            at = (filled >= self._block).nonzero()[0]
            self._put_away(at)
            filled[at] -= self._block
        self._turns_to_full = self._room - int(filled.max())
        if self._tell_long is not None:
            to_long = LONG_STEPS - int(self._steps.max())
            if to_long > 0:
                self._turns_to_full = min(self._turns_to_full, to_long)
            else:
                self._tell_long()
                self._tell_long = None

    def _put_away(self, at: npt.NDArray[np.intp]) -> None:
        """Put the first block of these slots away."""
        block = self._block
        of_rewards = self._rewards.reshape(-1, self._room)
        of_actions = self._actions.reshape(-1, self._room)
        rewards, actions = of_rewards[at, :block], of_actions[at, :block]
        for rooms in (of_rewards, of_actions):
            rooms[at, :block] = rooms[at, block:]
        row_bytes, reward_bytes = block * self._row.itemsize, block * 8
        acted, earned, numbers = actions.tobytes(), rewards.tobytes(), at.tolist()
        returns = [self._earlier[slot].return_ for slot in numbers]
        sums = _sums(returns, rewards)
        forgets = (self._steps[at] > self._most_kept).tolist()
        for row, (slot, return_) in enumerate(zip(numbers, sums.tolist(), strict=True)):
            earlier = self._earlier[slot]
            earlier.return_ = return_
            if forgets[row]:
                earlier.actions, earlier.rewards = bytearray(), bytearray()
            else:
                earlier.actions += acted[row * row_bytes : (row + 1) * row_bytes]
                earlier.rewards += earned[row * reward_bytes : (row + 1) * reward_bytes]
        self._places[at] -= block
