"""The environment's routines, each called and waited for."""

from __future__ import annotations

import logging
import math
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from typing import Self, TypeVar

from glue_server.environment.call_log import CallLog
from glue_server.environment.environment_port import EnvironmentPort
from glue_server.environment.replaying import MAX_REBUILDS, Recall, Replays, SlotRoutine
from glue_server.environment.replaying_together import JointReplays
from glue_server.processes.interrupts import check_stop, hurried
from glue_server.timeouts import Timeouts
from reglue.action_masks import ACTION_MASK, ActionMask, action_mask
from reglue.environments.environment import StandardRandomness
from reglue.error_message import brief
from reglue.errors import (
    ROUTINE_REFUSALS,
    BadReply,
    EnvironmentFault,
    EnvironmentTimeout,
    RoutineRefused,
)
from reglue.messages.agent_messages import Cleanup, Refusal, RoutineDone
from reglue.messages.environment_messages import (
    EnvironmentCall,
    EnvironmentHello,
    EnvironmentInit,
    EnvironmentReady,
    EnvironmentReply,
    GetState,
    Play,
    Played,
    SetState,
    Snapshot,
    StandardizeRandomness,
)
from reglue.spec import TaskSpec

log = logging.getLogger("reglue")

_CLEANUP_S = 10.0  # how long `close` waits for env_cleanup

_Kind = TypeVar("_Kind")


class EnvironmentCalls:
    """Calls an environment through its port. All raise EnvironmentFault when it is lost.

    Its maker closes it. A user that was lent one does not.
    """

    ready: EnvironmentReady

    def __init__(
        self,
        port: EnvironmentPort,
        *,
        timeout_s: float = Timeouts.environment_s,
        most_late: int = 1,
    ) -> None:
        """Args:
        timeout_s: How long each answer may take, seconds.
        most_late: The environment is lost after so many late answers to Plays in a row. The
            slots of an earlier one are at fault, and play goes on.
        """
        self._port = port
        self._timeout_s = timeout_s
        self._most_late = most_late
        self._under_way: deque[Play] = deque()
        self._answers: deque[tuple[Play, Played]] = deque()  # that came while others played again
        self._standard: StandardRandomness | None = None
        self._log: CallLog | None = None
        self._mask: ActionMask | None = None
        self._replays: Replays | JointReplays | None = None
        if port.renews:
            self.recall_from(CallLog())
        self._since = -math.inf  # when it could begin with the oldest Play, monotonic seconds
        self._crashed_s = 0.0  # see `take_crashed_s`
        self._rebuilds_crashes = False  # slots are blank because of them
        self._saves = False  # states, which another process can set
        self._late = 0  # answers in a row
        self._steps = 0  # that were sent
        self.outside = 0  # observations outside of their Box
        self.is_lost = False  # for good: no call after that makes sense
        self._is_closed = False

    @property
    def hello(self) -> EnvironmentHello:
        """The environment's description of itself."""
        return self._port.hello

    @property
    def where(self) -> str:
        """The place at which episodes that begin now are played, in words."""
        return self._port.where

    @property
    def spec(self) -> TaskSpec:
        """The task, with S slots; `init` comes first."""
        return self.ready.spec

    @property
    def executed(self) -> int:
        """Steps simulated so far, those that were played again too."""
        return self._steps

    def take_crashed_s(self) -> float:
        """Seconds that were spent, since the last call, on episodes that crashed.

        This time is charged to the agent, including the replay of other slots' episodes.
        """
        seconds, self._crashed_s = self._crashed_s, 0.0
        return seconds

    def init(self, slots: int) -> EnvironmentReady:
        """env_init. Raises RoutineRefused, too, and EnvironmentFault for an unplayable promise.

        Plays whose answers nobody took are waited for first, and forgotten.
        """
        self._receive_under_way()
        self._answers.clear()
        ready = self.ask(EnvironmentInit(slots), EnvironmentReady)
        self._standard = None
        _check_ready(ready, slots)
        self.is_lost = False
        self.ready = ready
        self._mask = action_mask(ready.spec)
        if ready.whole_turns:
            recall = self._replays.recall if self._replays else None
            self._replays = JointReplays(self._port, ready, recall, self._exchange, self._begin)
        self._saves = ready.restores and ready.portable
        return ready

    def opened(self, slots: int) -> Self:
        """Itself, after `init`. Closes it if that fails."""
        try:
            self.init(slots)
        except BaseException:
            self.close()
            raise
        return self

    def play(self, play: Play) -> Played:
        """Send a Play and wait for its answer."""
        self.send(play)
        return self.receive()

    def send(self, play: Play) -> None:
        """Hand a Play over. Several may be under way; they are answered in their order."""
        check_stop()
        if self._standard is not None and play.starts:
            play = self._numbered(play, self._standard)
        if self._replays is not None and (self._port.blank or self._replays.lost):
            for slot in play.starts:
                self._replays.lost.pop(slot, None)
            began = time.monotonic()
            for slot in play.slots.tolist():
                self._replays.rebuild(slot)
            if self._rebuilds_crashes:
                self._crashed_s += time.monotonic() - began
        if self._log is not None:
            self._log.add(play)
        self._post(play)

    def receive(self) -> Played:
        """Wait for the answer to the oldest Play.

        If the environment of a slot failed, its episode is played again in a fresh one, from
        the recorded actions: see `recall_from`. If it comes through, that is the answer. The faults
        that are left are in it. An answer that does not fit is the fault of every slot that was
        asked. A mask that allows no action while the episode is on is a fault, too.
        """
        play, played = self._answers.popleft() if self._answers else self._receive_oldest()
        if self._replays is not None and (played.faults or self._replays.lost):
            self._receive_under_way()  # a replaced process sends no more answers
            began = time.monotonic()
            played = self._replays.settled(play, played)
            self._rebuilds_crashes = bool(played.crashed)
            if played.crashed:
                self._crashed_s += time.monotonic() - began
        if self._mask is not None:
            played = _with_blocked(self._mask, play, played)
        self.outside += played.outside
        if self._log is not None:
            self._log.answered(play, played)
            self._shorten_log(self._log)
        return played

    def recall_from(self, recall: Recall) -> None:
        """From now on `recall` remembers what is played, and nothing else is kept here.

        Without this call, episodes are remembered here if the port can renew workers.
        """
        self._log = recall if isinstance(recall, CallLog) else None
        if isinstance(self._replays, JointReplays):
            self._replays.recall = recall
            return
        self._replays = Replays(
            self._port,
            recall,
            self._exchange,
            self._change,
            is_late=lambda: self._late > 0,
            is_repeatable=lambda: self.ready.repeatable,
        )

    def fails_again(self, episode: Sequence[Play]) -> str | None:
        """Play an episode of one slot again, whose environment was lost in its last step.

        Returns why it fails in that step again, lost or not; None if it does not. Raises
        EnvironmentFault if the environment is lost before.
        """
        for play in episode:
            is_last = play is episode[-1]
            try:
                played = self._exchange(play)
            except EnvironmentFault as fault:
                if is_last:
                    return str(fault)
                raise
            if played.faults:
                return next(iter(played.faults.values())) if is_last else None
            if not is_last and (played.terminated | played.truncated).any():
                return None
        return None

    @property
    def is_away(self) -> bool:
        """Whether the environment is away, though it may come back."""
        return self._port.is_away

    def filenos(self) -> Sequence[int]:
        """One of them is readable when a part of the next answer waits; see the port."""
        return self._port.filenos()

    def is_ready(self) -> bool:
        """Whether the next answer has come, or its time is up."""
        if self._answers or self._port.is_ready():
            return True
        return time.monotonic() >= self._since + self._timeout_s

    def ask(
        self, call: EnvironmentCall, kind: type[_Kind], *, timeout_s: float | None = None
    ) -> _Kind:
        """Send a call other than a Play and wait for its answer, a `kind`.

        Raises RoutineRefused (or the kind of it that the environment named), after which
        nothing has changed, and EnvironmentFault for anything else.
        """
        if isinstance(call, SlotRoutine):
            return self._routine(call, kind)
        reply = self._ask(call, kind, self._timeout_s if timeout_s is None else timeout_s)
        if isinstance(call, StandardizeRandomness) and self._port.renews:
            self._standard = StandardRandomness(call.seed)
        return reply

    def _routine(self, call: SlotRoutine, kind: type[_Kind]) -> _Kind:
        """A routine of one slot; again if its process dies of it."""
        for left in reversed(range(MAX_REBUILDS)):
            if self._replays is not None:
                self._replays.rebuild(call.slot)
                lost = self._replays.lost
                if isinstance(call, SetState):  # its episode begins anew
                    lost.pop(call.slot, None)
                elif call.slot in lost:
                    raise EnvironmentFault(f"slot {call.slot} is lost: {lost[call.slot]}")
            try:
                reply = self._ask(call, kind, self._timeout_s)
            except EnvironmentFault:
                if left and call.slot in self._port.blank:
                    continue
                raise
            if self._log is not None and isinstance(reply, RoutineDone):
                self._log.change(call)
                self._shorten_log(self._log)
            return reply
        raise AssertionError

    def _shorten_log(self, calls: CallLog) -> None:
        """Save the states of long episodes, so that their calls need not be kept."""
        for slot in calls.long:
            calls.shorten(slot, self._saved_state(slot))

    def _saved_state(self, slot: int) -> bytes | None:
        """None: the environment saves none. One that fails to is not asked again."""
        if not self._saves or (self._replays is not None and slot in self._replays.lost):
            return None
        try:
            return self._routine(GetState(slot), Snapshot).snapshot
        except (EnvironmentFault, RoutineRefused) as error:
            log.info("the environment saves no state of slot %d: %s", slot, error)
            self._saves = False
            return None

    def _ask(self, call: EnvironmentCall, kind: type[_Kind], timeout_s: float) -> _Kind:
        self._port.send(call)
        try:
            reply = self._receive_reply(timeout_s)
            if isinstance(reply, Refusal):
                refusal = ROUTINE_REFUSALS.get(reply.code, RoutineRefused)
                raise refusal(got=reply.got, wanted=reply.wanted)
            if not isinstance(reply, kind):
                raise BadReply("WRONG_KIND", got=type(reply).__name__, wanted=kind.__name__)
        except BadReply as refused:
            self._port.refuse(refused)
            what = f"the environment's answer does not fit: {refused}"
            raise EnvironmentFault(what) from refused
        return reply

    def close(self) -> None:
        """Call env_cleanup, unless the environment is lost already, and let it go."""
        if self._is_closed:
            return
        self._is_closed = True
        try:
            if not (self.is_lost or self._under_way):
                self.ask(
                    Cleanup(), RoutineDone, timeout_s=min(self._timeout_s, hurried(_CLEANUP_S))
                )
        except (EnvironmentFault, RoutineRefused) as error:
            log.debug("the environment was not cleaned up: %s", error)
        self._port.close("the run is over, thank you")

    def _numbered(self, play: Play, standard: StandardRandomness) -> Play:
        """With standardized randomness, the n-th start draws from (seed, n): see Worlds.

        Workers cannot count: each has some of the starts.
        """
        starts = {slot: standard.next(cell) for slot, cell in play.starts.items()}
        return Play(play.slots, play.actions, starts)

    def _post(self, play: Play) -> None:
        if not self._under_way:
            self._since = time.monotonic()
        self._under_way.append(play)
        try:
            self._port.send(play)
        except EnvironmentFault:
            self.is_lost = True
            self._under_way.clear()  # no answer is to come
            raise
        self._steps += len(play.slots)

    def _exchange(self, play: Play) -> Played:
        """Play something again, once what is under way has been answered."""
        self._receive_under_way()
        self._post(play)
        return self._receive_oldest()[1]

    def _receive_under_way(self) -> None:
        while self._under_way:
            self._answers.append(self._receive_oldest())

    def _begin(self) -> None:
        """Play nothing in any slot, as after `init`. Raises EnvironmentFault."""
        self._receive_under_way()
        ready = self._ask(EnvironmentInit(self.spec.slots), EnvironmentReady, self._timeout_s)
        if ready != self.ready:
            raise EnvironmentFault("env_init returned another task when it was called again")

    def _change(self, call: SlotRoutine) -> None:
        self._ask(call, RoutineDone, self._timeout_s)

    def _receive_oldest(self) -> tuple[Play, Played]:
        """The oldest Play under way, and its answer as the environment gave it."""
        play = self._under_way.popleft()
        self.is_lost, late = True, 0  # unless it answers, or may be late again
        try:
            played = self._receive_reply(self._timeout_s)
            if not isinstance(played, Played):
                raise BadReply("WRONG_KIND", got=type(played).__name__, wanted="Played")
        except BadReply as refused:
            self._port.refuse(refused)
            played = self._faulty(play, f"the environment's answer does not fit: {refused}")
        except EnvironmentTimeout as error:
            late = self._late + 1
            if late >= self._most_late:
                raise
            played = self._faulty(play, str(error))
        self.is_lost, self._late = False, late
        self._since = time.monotonic()
        return play, played

    def _receive_reply(self, timeout_s: float) -> EnvironmentReply:
        """The next answer; waits anew whenever the environment was busy with an earlier one."""
        while (reply := self._port.receive(timeout_s)) is None:
            pass
        return reply

    def _faulty(self, play: Play, what: str) -> Played:
        """An answer in which every slot that was asked is at fault."""
        faults = dict.fromkeys((*play.slots.tolist(), *play.starts), what)
        return Played.blank(self.spec, play, faults)


def _with_blocked(mask: ActionMask, play: Play, played: Played) -> Played:
    """With a fault for each slot in which an episode is on and no action is legal."""
    allowed = mask.allowed(played.observations)
    blocked = mask.blocks(allowed)
    if 1 not in blocked.tobytes():
        return played
    blocked[: len(play.slots)] &= ~(played.terminated | played.truncated)
    slots = [*play.slots.tolist(), *play.starts]
    faults: dict[int, str] = {}
    for row in blocked.nonzero()[0].tolist():
        got = f"{brief(allowed[row].astype(int).tolist())}, which allows no action"
        wanted = "one or more while the episode is on"
        faults[slots[row]] = f"{ACTION_MASK!r}: got {got}, wanted {wanted}"
    return replace(played, faults={**faults, **played.faults})


def _check_ready(ready: EnvironmentReady, slots: int) -> None:
    """Raise EnvironmentFault for a promise that cannot be played."""
    if ready.spec.slots != slots:
        raise EnvironmentFault(f"env_init: got a TaskSpec of {ready.spec.slots} slots, not {slots}")
    if not ready.variants or min(ready.variants.values()) < 1:
        raise EnvironmentFault(
            "env_init", got=f"tasks {dict(ready.variants)}", wanted="at least one, with variants"
        )
