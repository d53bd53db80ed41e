"""An agent's remaining time, and the glue's waits for it."""

from __future__ import annotations

from collections.abc import Collection

from glue_server.timeouts import Timeouts
from reglue.errors import AgentTimeout
from reglue.messages.agent_messages import Adapt, AdaptBegin, AgentInit, Budget, Call, Phase, Turn
from reglue.messages.environment_messages import Slots


class TimeBudget:
    """An agent's time. Every call carries what remains.

    A call may take its step's time and what the bank still holds; what it takes beyond
    its step's time is drawn from the bank. Adaptation calls of a wave, and all calls of a
    run, share what is set for them. A run begins at AgentInit, with all of it. The time in which
    crashed episodes are played again is charged to the run, too, so that crashes delay no others.

    A slot that the agent holds has one step's time from when it was first asked for, however many
    turns that takes: by holding slots an agent gains no time. Loops that train hold as they like.
    """

    def __init__(self, timeouts: Timeouts) -> None:
        self._timeouts = timeouts
        self._is_first_turn: bool
        self._bank_s: float
        self._adapt_s: float | None
        self._run_s: float | None
        self._charged_s: float  # of the run's, for what its actions cost others
        self._held_s: dict[int, float] = {}  # by slot, the agent's time since it was asked for
        self._spent_s = 0.0  # by the last answer
        self._told_s: tuple[float | None, ...] = ()  # what `_told` says
        self._told: Budget
        self._renew()

    def budget(self, call: Call) -> Budget:
        """The agent's remaining time for `call` and after it. Raises AgentTimeout at 0."""
        if not isinstance(call, Turn):
            self._begin(call)
        if self._run_s == 0 or self._adapt_s == 0:
            self._check(call)
        left_s = (self._left_s(call), self._bank_s, self._adapt_s, self._run_s)
        if left_s != self._told_s:
            self._told_s, self._told = left_s, self._budget(*left_s)
        return self._told

    def wait_s(self, call: Call) -> float:
        """The longest wait for the answer to `call`, seconds."""
        limit_s = self._left_s(call) + self._bank_s
        if self._run_s is not None:
            limit_s = min(limit_s, self._run_s)
        if self._adapt_s is not None and _adapts(call):
            limit_s = min(limit_s, self._adapt_s)
        return limit_s

    def spend(self, call: Call, spent_s: float) -> None:
        """Subtract the time that an answer took from the remaining time."""
        over_s = spent_s - self._left_s(call)
        if over_s > 0.0:
            self._bank_s = max(0.0, self._bank_s - over_s)
        self._spent_s = spent_s
        if self._run_s is not None:
            self._run_s = max(0.0, self._run_s - spent_s)
        if self._adapt_s is not None and _adapts(call):
            self._adapt_s = max(0.0, self._adapt_s - spent_s)
        if isinstance(call, Turn):
            self._is_first_turn = False

    def charge(self, seconds: float) -> None:
        """Take time from the run's that its agent did not take itself, but brought about."""
        self._charged_s += seconds
        if self._run_s is not None:
            self._run_s = max(0.0, self._run_s - seconds)

    def note_held(self, asked: Slots, held: Collection[int]) -> None:
        """Note the slots of the last turn answered that the agent holds."""
        if not held and not self._held_s:
            return
        ages = {slot: age_s + self._spent_s for slot, age_s in self._held_s.items()}
        new = dict.fromkeys(held, self._spent_s)
        done = {*asked.tolist()} - {*held}
        self._held_s = {slot: s for slot, s in {**new, **ages}.items() if slot not in done}

    def _left_s(self, call: Call) -> float:
        """The rest of a step's time, seconds, for the slot of the call that was asked first."""
        if not isinstance(call, Turn):
            return self._timeouts.first_step_s
        step_s = self._timeouts.first_step_s if self._is_first_turn else self._timeouts.step_s
        if not self._held_s or call.phase is Phase.TRAIN:
            return step_s
        slots = (*call.steps.slots.tolist(), *call.starts.slots.tolist())
        return max(0.0, step_s - max((self._held_s.get(slot, 0.0) for slot in slots), default=0.0))

    def _budget(
        self, step_s: float, bank_s: float, adapt_s: float | None, run_s: float | None
    ) -> Budget:
        return Budget(
            step_us=_us(step_s),
            bank_us=_us(bank_s) if self._timeouts.bank_s else None,
            adapt_us=_us(adapt_s),
            run_us=_us(run_s),
        )

    def _renew(self) -> None:
        self._is_first_turn = True
        self._held_s = {}
        self._charged_s = 0.0
        self._bank_s = self._timeouts.bank_s
        self._adapt_s = self._timeouts.adapt_s
        self._run_s = self._timeouts.run_s

    def _begin(self, call: Call) -> None:
        match call:
            case AgentInit():
                self._renew()
            case AdaptBegin():
                self._adapt_s = self._timeouts.adapt_s

    def _check(self, call: Call) -> None:
        if self._run_s == 0:
            charged = (
                f"; {self._charged_s:.0f} s of it went to environments that its actions made fail"
            )
            raise AgentTimeout(
                "the agent has used up its time for the run" + charged * bool(self._charged_s)
            )
        if self._adapt_s == 0 and _adapts(call):
            raise AgentTimeout("the agent has used up its time to adapt")


def _adapts(call: Call) -> bool:
    """Whether a call belongs to a wave's adaptation."""
    if isinstance(call, Turn):
        return call.phase is Phase.ADAPT
    return isinstance(call, AdaptBegin | Adapt)


def _us(seconds: float | None) -> int | None:
    return None if seconds is None else round(1e6 * seconds)
