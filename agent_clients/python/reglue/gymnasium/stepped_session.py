"""A session for a training loop: the program steps the slots, although the glue calls.

A glue calls, and an agent answers. A training loop wants to call, too: so the glue's turn waits
here until the loop steps or resets. Each slot is in one of three states: the program has seen a
step or start and acts next (`acts`); a start waits that the program has not seen (`waits`); or
there is no episode.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from reglue.action_masks import ACTION_MASK, action_mask
from reglue.agents.adaptation import agent_of
from reglue.agents.agent import Agent, play, visible_goals
from reglue.agents.model_agent import ModelAgent
from reglue.error_message import error_text
from reglue.errors import BadArgument, OutOfOrder, SessionLost, TrainingOver
from reglue.gymnasium.turn_result import Mask, TurnResult, mask_of, unless_empty
from reglue.messages.agent_messages import (
    UNLIMITED,
    Actions,
    AgentInit,
    Call,
    Cleanup,
    EndKind,
    Freeze,
    Numbered,
    Phase,
    Reply,
    RoutineDone,
    TextMessage,
    Turn,
)
from reglue.messages.environment_messages import Slots
from reglue.spec import Array, Arrays, TaskSpec

Calls: TypeAlias = Generator[Numbered, "Reply | None", str]
"""Yields each call of a glue's, is sent the reply, and returns the farewell's reason."""

# Numbers: NumPy looks for arrays in a member of an Enum.
_TERMINATED, _TRUNCATED, _VOID = map(int, EndKind)
_TRAIN = Phase.TRAIN


class LocalGlue(Protocol):
    """Plays a benchmark's episodes in this process; what it offers besides its calls."""

    def choose(self, seed: int | None) -> None:
        """Set the training seed before the first episode, unless it is None."""

    def succeeded(self, slot: int) -> bool | None:
        """Whether a slot's episode that ended last succeeded; None if that is not known."""

    def picture(self, slot: int, *, is_over: bool) -> Any:
        """(height, width, 3) uint8. Raises UsageError."""


class SteppedSession:
    """The slots of a session, which the program steps.

    A method raises SessionLost if the session is lost, and TrainingOver if the program cannot step
    on: the glue froze the agent, began another run, or said farewell. Ctrl-C in a step ends it.
    """

    def __init__(self, calls: Calls, local: LocalGlue | None = None) -> None:
        """Wait for AgentInit. Raises as `connect`."""
        self._local = local
        self.policy: Agent | None = None  # plays the episodes that are judged
        self.budget = UNLIMITED
        self.phase = Phase.TRAIN
        self._calls = calls
        self._ended = ""  # why there is no session any more
        self._stopped: Call | None = None  # the call that stops the program's loop
        self._was_cleaned = False
        self._reply: Reply | None = None  # to the last call, unless that is a turn
        init = self._call()
        if not isinstance(init, AgentInit):
            raise SessionLost(self._ended or f"got {type(init).__name__}, wanted AgentInit first")
        self._init(init.spec)

    def _init(self, spec: TaskSpec) -> None:
        """A task, and no episodes yet."""
        self.spec, slots = spec, spec.slots
        self._mask = action_mask(spec)
        self.acts, self.waits, self.untouched = (np.zeros(slots, np.bool_) for _ in range(3))
        self.start_seeds = np.zeros(slots, np.uint64)
        self._everyone = np.arange(slots, dtype=np.uint32).tobytes()
        self._order = self._everyone  # in which the last plain turn had all slots
        self._places: Slots | None = None  # the same, as an index; None: as numbered
        self._turn: Turn | None = None  # that waits for its answer
        self._action_slots = np.zeros(0, np.uint32)  # the slots of its rows, in order
        self._nobody = np.zeros(slots, np.bool_)
        self.is_plain = False  # all slots have stepped and act; nearly always, so it is quick
        self._finals, self._starts = (
            {tensor.name: tensor.empty(slots) for tensor in spec.observations} for _ in range(2)
        )
        self._has_played = self._has_trained = False  # by the program
        self._reply = RoutineDone()

    # Steps and starts.

    def choose(self, seed: int | None) -> None:
        """Set the training seed before the first episode, if this process plays the episodes."""
        if self._local is not None:
            self._local.choose(seed)

    def succeeded(self, slot: int) -> bool | None:
        """Whether a slot's episode that ended last succeeded; None if the glue does not say."""
        return None if self._local is None else self._local.succeeded(slot)

    def picture(self, slot: int) -> Any:
        """The picture that a slot shows, (height, width, 3) uint8. Raises UsageError."""
        assert self._local is not None, "only local sessions can render"
        return self._local.picture(slot, is_over=not self.acts[slot])

    def begin(self) -> None:
        """Wait until an episode is in play, or a start waits."""
        self.check_open()
        while not (self.acts.any() or self.waits.any()):
            self._exchange(None, self.waits)
            self.check_open()

    def act(self, arrays: Arrays) -> TurnResult:
        """Play `arrays`, name -> (S, *shape), where the program acts; starts that wait are held.

        Raises BadArgument, with nothing played, for an action that a mask forbids.
        """
        if self._mask is not None:
            allowed = self._mask.allowed({ACTION_MASK: self._newest(ACTION_MASK)})
            for slot, (got, wanted) in self._mask.mistakes(allowed, arrays).items():
                if self.acts[slot]:
                    raise BadArgument(got=f"{got} in slot {slot}", wanted=wanted)
        return self._exchange(arrays, self._nobody if self.is_plain else self.waits.copy())

    def look_ahead(self) -> Mask:
        """Receive the next turn, if all episodes are over. Returns the slots in which a start
        waits.

        If another call comes, the next method raises TrainingOver or SessionLost.
        """
        if not (self.acts.any() or self.waits.any() or self._stopped or self._ended):
            self._exchange(None, self.waits)
        return self.waits

    def renew(self, mask: Mask) -> None:
        """Abandon the episodes in play in the slots of `mask`; then starts wait there."""
        abandoned = mask & self.acts
        if abandoned.any():
            self._exchange(None, ~abandoned, abandoned)

    def show(self, mask: Mask) -> None:
        """Note that the program has seen the starts in the slots of `mask`, and acts there next."""
        starts = mask & self.waits
        self.waits &= ~starts
        self.acts |= starts
        self.untouched |= starts

    def observations(self) -> dict[str, Array]:
        """The newest observation of each slot that the program may see, name -> (S, *shape);
        copies.
        """
        return {name: self._newest(name) for name in self._finals}

    def _newest(self, name: str) -> Array:
        """The same of one tensor."""
        turn = self._turn
        if turn is not None and self.is_plain:
            return self._in_place(turn.observations[name])
        rows = self._finals[name].copy()
        if turn is not None:
            first = len(turn.ends)
            rows[turn.steps.slots] = turn.observations[name][first : first + len(turn.steps)]
        at_start = self.untouched.nonzero()[0]
        rows[at_start] = self._starts[name][at_start]
        return rows

    def finals(self, slot: int) -> dict[str, Array]:
        """The last observation of the slot's last episode, by name; copies."""
        return {name: rows[slot].copy() for name, rows in self._finals.items()}

    # Evaluation, runs and the end.

    def check_open(self) -> None:
        """Raise TrainingOver or SessionLost if nothing can be stepped."""
        if self._ended:
            raise (TrainingOver if self._was_cleaned else SessionLost)(self._ended)
        if isinstance(self._stopped, AgentInit):
            raise TrainingOver(
                "the run is over, and the glue begins another, with an agent that knows nothing: "
                "make a new learner, then reset()"
            )
        if self._stopped is not None:
            raise TrainingOver(
                "the glue has frozen the agent, or judges it in between: "
                "env.unwrapped.evaluate(policy) plays those episodes, close() leaves"
            )

    def begin_run(self) -> None:
        """Go on if the glue begins another run."""
        if isinstance(self._stopped, AgentInit):
            if self._stopped.spec != self.spec:
                raise SessionLost("the glue begins a run of another task: make a new environment")
            self._stopped = None
            self._init(self.spec)

    def evaluate(self, policy: object) -> str | None:
        """Let `policy` play the episodes that are judged.

        Returns the reason of the glue's farewell, or None if training goes on: call reset() then.
        """
        if self._ended:
            self.check_open()
        if self._stopped is None or isinstance(self._stopped, AgentInit):
            raise OutOfOrder(
                got="evaluate() while the glue judges nothing", wanted="step() until TrainingOver"
            )
        before, self.policy = self.policy, _player(policy, self.spec)
        try:
            call, self._stopped = self._stopped, None
            self._reply = self._carry_out(call)
            self._exchange(None, self.waits)
        finally:
            self.policy = before
        return self._ended or None

    def set_policy(self, policy: object) -> None:
        """Let `policy` play the episodes that are judged; with None they raise TrainingOver."""
        self.policy = None if policy is None else _player(policy, self.spec)

    def leave(self) -> None:
        """End the session, and tell the glue."""
        self._ended, self.is_plain = self._ended or "the environment was closed", False
        self._calls.close()

    # Turns.

    def _exchange(
        self, arrays: Arrays | None, held: Mask, abandoned: Mask | None = None
    ) -> TurnResult:
        """Answer the last call, and receive the next turn. Without `arrays` actions are zeros.

        If no turn comes, all episodes are cut off.
        """
        try:
            if self._turn is not None:
                self._reply = self._answer(arrays, held, abandoned)
            turn = self._next_turn()
            result = self._cut_off() if turn is None else self._read_turn(turn, held, abandoned)
            self._turn, self.is_plain = turn, result.is_plain
            if turn is not None and not result.is_plain:
                self._action_slots = turn.steps.slots
                if len(turn.starts):
                    self._action_slots = np.concatenate([turn.steps.slots, turn.starts.slots])
            return result
        except (KeyboardInterrupt, SystemExit):  # what was played and what is known may differ
            self._ended = self._ended or "the session is over: it was interrupted in a step"
            self.leave()
            raise

    def _answer(self, arrays: Arrays | None, held: Mask, abandoned: Mask | None) -> Actions:
        slots_to_act = self._action_slots
        if self.is_plain and arrays is not None:
            if self._places is None:
                return Actions(arrays)
            return Actions({name: values[self._places] for name, values in arrays.items()})
        if self.is_plain and self._turn is not None:
            slots_to_act = self._turn.steps.slots
        if arrays is None:
            rows: Arrays = {each.name: each.empty(len(slots_to_act)) for each in self.spec.actions}
        elif slots_to_act.tobytes() == self._everyone:
            rows = arrays
        else:
            rows = {name: values[slots_to_act] for name, values in arrays.items()}
        return Actions(
            rows,
            abandon=()
            if abandoned is None
            else tuple(slots_to_act[abandoned[slots_to_act]].tolist()),
            held=tuple(slots_to_act[held[slots_to_act]].tolist()) if 1 in held.tobytes() else (),
        )

    def _read_turn(self, turn: Turn, held: Mask, abandoned: Mask | None) -> TurnResult:
        """The results of `turn`; the last answer held the slots of `held` and abandoned those of
        `abandoned`.
        """
        self.phase = turn.phase
        in_parts = len(turn.ends) or len(turn.starts) or 1 in held.tobytes()
        if in_parts or not self._are_all(turn.steps.slots):
            return self._read_turn_in_parts(
                turn, held, self._nobody if abandoned is None else abandoned
            )
        if not self.is_plain:
            self.untouched[:] = False
        terminated, truncated = self._masks(2)
        rewards = self._in_place(turn.rewards)
        result = TurnResult(rewards, terminated, truncated, self._nobody, is_plain=True)
        return result.flagged(turn.steps.slots, turn.steps.flags)

    def _are_all(self, stepped: Slots) -> bool:
        """Whether all slots have stepped; from then on `_places` is the order of their rows.

        A slot that began an episode later than others comes after them.
        """
        if (order := stepped.tobytes()) == self._order:
            return True
        if sorted(stepped.tolist()) != [*range(self.spec.slots)]:
            return False
        self._order, self._places = order, None if order == self._everyone else stepped
        return True

    def _in_place(self, rows: Array) -> Array:
        """A copy of the rows of a plain turn, by slot."""
        if self._places is None:
            return rows.copy()
        own = np.empty_like(rows)
        own[self._places] = rows
        return own

    def _read_turn_in_parts(self, turn: Turn, held: Mask, abandoned: Mask) -> TurnResult:
        """The results of a turn with ends, starts or held slots, or without some slots."""
        ended, ends, steps = len(turn.ends), turn.ends.slots, turn.steps.slots
        rewards, (terminated, truncated, started) = np.zeros(self.spec.slots), self._masks(3)
        void: Mask | None = None
        rewards[steps] = turn.rewards[ended:]
        if ended:
            rewards[ends] = turn.rewards[:ended]
            terminated[ends] = turn.ends.kinds == _TERMINATED
            truncated[ends] = turn.ends.kinds >= _TRUNCATED
            if _VOID in turn.ends.kinds.tobytes():
                void = mask_of(ends, turn.ends.kinds == _VOID, self.spec.slots)
        over = terminated | truncated
        cut_off: Mask | None = None
        if len(turn.starts):
            started[turn.starts.slots] = True
            started &= ~held
            cut_off = unless_empty(started & self.acts & ~(abandoned | over))
        if cut_off is not None:
            self._keep_finals(cut_off)
            truncated |= cut_off
        for name, rows in self._finals.items():
            rows[ends] = turn.observations[name][:ended]
        self.acts &= ~(over | started | abandoned)
        self.untouched &= self.acts & held
        if 1 in started.tobytes():
            self._keep_starts(turn, started)
        result = TurnResult(rewards, terminated, truncated, started, void=void, cut_off=cut_off)
        return result.flagged(steps, turn.steps.flags)

    def _cut_off(self) -> TurnResult:
        """The results if no turn comes: all episodes are over."""
        cut_off = self.acts.copy()
        self._keep_finals(cut_off)
        for mask in (self.acts, self.waits, self.untouched):
            mask[:] = False
        terminated, started = self._masks(2)
        rewards = np.zeros(len(cut_off))
        return TurnResult(rewards, terminated, cut_off, started, cut_off=unless_empty(cut_off))

    def _masks(self, count: int) -> npt.NDArray[np.bool_]:
        """Masks in which no slot is set, (count, S)."""
        return np.zeros((count, self.spec.slots), np.bool_)

    def _keep_starts(self, turn: Turn, started: Mask) -> None:
        places = started[turn.starts.slots].nonzero()[0]
        at, first = turn.starts.slots[places], len(turn.ends) + len(turn.steps)
        self.start_seeds[at] = turn.starts.seeds[places]
        for name, rows in self._starts.items():
            rows[at] = turn.observations[name][first + places]
        self.waits |= started

    def _keep_finals(self, mask: Mask) -> None:
        """Remember what the program saw last in the slots of `mask`, whose episodes have no last
        step.
        """
        seen = self.observations()
        for name, rows in self._finals.items():
            rows[mask] = seen[name][mask]

    # Calls.

    def _next_turn(self) -> Turn | None:
        """Receive the program's next turn; None if a call stops its loop."""
        while (call := self._call()) is not None:
            is_judged = isinstance(call, Turn) and self.policy and call.phase is not _TRAIN
            if not is_judged and self._stops(call):
                self._stopped = call
                return None
            if isinstance(call, Turn) and not is_judged:
                self._has_played = True
                self._has_trained |= call.phase is _TRAIN
                return call
            self._reply = self._carry_out(call)
        return None

    def _call(self) -> Call | None:
        """Receive the next call; None after the farewell."""
        reply, self._reply = self._reply, None
        try:
            numbered = self._calls.send(reply)
        except StopIteration as end:
            self._ended = f"the session is over, the glue said: {end.value}"
            return None
        except BaseException as error:
            self._ended = f"the session is over: {error_text(error)}"
            self.is_plain = False
            raise
        self.budget = numbered.budget
        return numbered.call

    def _stops(self, call: Call) -> bool:
        """Whether a call stops the program's loop before it is answered."""
        match call:
            case AgentInit():
                return self._has_played
            case Freeze():
                return self._has_played and self.policy is None
            case Turn():
                return self._has_trained and call.phase is not _TRAIN
            case _:
                return False

    def _carry_out(self, call: Call) -> Reply | None:
        match call:
            case AgentInit(spec):
                self._init(spec)
                return RoutineDone()
            case Cleanup():
                self._was_cleaned = True
                return RoutineDone()
            case _ if self.policy is None:
                return TextMessage("") if isinstance(call, TextMessage) else RoutineDone()
        try:
            return play(self.policy, call)
        except BaseException as error:
            self._ended = f"the session is over: the policy failed: {error}"
            self._calls.throw(error)  # so that the glue learns of it
            raise


def _player(policy: object, spec: TaskSpec) -> Agent:
    """The agent that plays as `policy`; it keeps what it has learned. Raises NotAnAgent."""
    agent = agent_of(policy)
    agent.check_task(spec)
    agent.spec, agent.seen_goals = spec, visible_goals(spec)
    if isinstance(agent, ModelAgent):  # makes room for the states of episodes
        agent.agent_init(spec)
    return agent
