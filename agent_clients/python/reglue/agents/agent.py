"""The agent's side of RL-Glue, over slots.

`Agent.turn` is the primitive: one exchange over all episodes in play. The
routines that people write, `agent_start`, `agent_step` and `agent_end`
(RL-Glue's names and argument order), are derived from it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn, TypeAlias

import numpy as np
import numpy.typing as npt

from reglue.errors import NotAnAgent, UsageError
from reglue.messages.agent_messages import (
    UNLIMITED,
    Actions,
    Adapt,
    AdaptBegin,
    AgentHello,
    AgentInit,
    Budget,
    Call,
    Cleanup,
    Ends,
    Farewell,
    Freeze,
    Phase,
    Refusal,
    Reply,
    RoutineDone,
    Starts,
    Steps,
    TextMessage,
    Turn,
)
from reglue.signatures import parameters_of, takes
from reglue.spec import Arrays, TaskSpec, TensorSpec, same_numbers
from reglue.version import sdk

Chosen: TypeAlias = npt.ArrayLike | Mapping[str, npt.ArrayLike]
"""Actions as an author returns them: rows of the only action tensor, or a dict
of rows by name. Cast to the spec's dtype by the SDK."""


class Agent:
    """Derive from it and write `agent_start` and `agent_step`, or `turn`.

    Observations are a dict of named arrays with one row for each slot, `(rows, *shape)`; rewards
    are float64 `(rows,)`. The agent may write to both and keep them. Return actions as `(rows,
    *shape)`, or as a dict of such arrays if the task has several; axes of length 1 may be omitted.
    Raises NotAnAgent for another shape.

    `self.spec` is the TaskSpec, `self.phase` the Phase of the present turn and
    `self.budget` the time that remains; they are set before the routine that needs them.
    If the task shows goals, `self.seen_goals` holds those that `get_goal` returns.
    """

    spec: TaskSpec
    phase: Phase
    budget: Budget = UNLIMITED
    seen_goals: Goals | None = None

    max_slots = 0
    """Most slots the agent plays at once; 0 means any number."""

    partial_turns = False
    """True if the agent answers each slot by itself, so that a turn may contain only some of the
    slots in play. Where it is judged, or adapts, it is then asked about one group of slots while
    environments step the others; the groups take turns in a fixed order. In training turns are
    whole."""

    episodic = True
    """False if the agent plays continuing tasks only, whose episodes do not end."""

    @property
    def adapts(self) -> bool:
        """True if meta-learning benchmarks may play the agent: by default, if it has adapt_begin
        or adapt. Set `adapts = True` for an agent that learns as it plays, or that should be
        judged although it learns nothing.
        """
        cls = type(self)
        return cls.adapt_begin is not Agent.adapt_begin or cls.adapt is not Agent.adapt

    def get_goal(self, slot: int) -> dict[str, npt.NDArray[Any]]:
        """The newest goal that was seen in `slot`, by the names of its tensors; copies.

        Tensors of goals are called `desired_goal`, or end so, as `state_desired_goal`. Raises
        UsageError if the task shows none, or the slot has had no observation yet.
        """
        if self.seen_goals is None:
            names = [tensor.name for tensor in self.spec.observations]
            raise UsageError(
                got=f"a task that shows {names}", wanted="a tensor called desired_goal"
            )
        return self.seen_goals.of(slot)

    def check_task(self, spec: TaskSpec) -> None:
        """Raise NotAnAgent if the agent cannot play this task. It changes nothing: it is called
        before `agent_init`, and of an agent in the benchmark's process before a run begins.
        """

    def agent_init(self, spec: TaskSpec) -> None:
        """Forget everything that was learned before. Raise NotCapable to refuse the task: nothing
        is then played or scored.
        """

    def agent_start(self, observations: Arrays, starts: Starts) -> Chosen:
        """Choose the first action of each episode that begins."""
        raise NotImplementedError

    def agent_step(
        self, rewards: npt.NDArray[np.float64], observations: Arrays, steps: Steps
    ) -> Chosen:
        """Choose the next action of each episode that continues."""
        raise NotImplementedError

    def agent_end(self, rewards: npt.NDArray[np.float64], observations: Arrays, ends: Ends) -> None:
        """Receive the last reward and observation of each episode that ended."""

    def agent_freeze(self) -> None:
        """Stop learning and exploring: what follows is judged."""

    def agent_message(self, message: str) -> str:
        """Answer a message of the benchmark's."""
        return ""

    def agent_cleanup(self) -> None:
        """Release what `agent_init` took."""

    def adapt_begin(self) -> None:
        """Return to the meta-trained state; a new wave of trials begins."""

    def adapt(self) -> None:
        """Learn from the episodes since `adapt_begin` or the last `adapt`."""

    def turn(self, turn: Turn) -> Actions | Chosen:
        """Answer a whole turn: rows for its steps, then for its starts."""
        ended, stepped = len(turn.ends), len(turn.ends) + len(turn.steps)
        if ended:
            self.agent_end(turn.rewards[:ended], _rows(turn, 0, ended), turn.ends)
        parts = []
        if len(turn.steps):
            rewards = turn.rewards[ended:stepped]
            parts.append(self.agent_step(rewards, _rows(turn, ended, stepped), turn.steps))
        if len(turn.starts):
            parts.append(self.agent_start(_rows(turn, stepped, None), turn.starts))
        return _stack(parts)


class Policy(Agent):
    """An agent of one function, which maps a batch of observations to a batch of actions.

    Args:
        function: takes the observations of all episodes that continue or begin, `(rows, *shape)`:
            an array if the task has one observation tensor, else a dict of arrays by name.
            Returns actions, `(rows, *shape)`: an array if the task has one action tensor, else
            a dict; or the pair (actions, None), as Stable-Baselines3's `predict`. It gets no row
            for an episode that ended. It may write to the arrays and keep them.

    Raises NotAnAgent for a function that does not take one argument.

    Examples:
        >>> import numpy as np
        >>> import reglue
        >>> from glue_server import Glue
        >>> def pump(observations):  # (rows, 2): position and velocity
        ...     return np.where(observations[:, 1] < 0, 0, 2)
        >>> with Glue(environment="mountain-car", agent=reglue.Policy(pump)) as rl:
        ...     spec = rl.init()
        ...     ended = rl.episode()
        ...     print(ended, rl.return_())
        True -121.0
    """

    def __init__(self, function: Callable[[Any], Chosen]) -> None:
        if not takes(function, "observations"):
            name = getattr(function, "__name__", type(function).__name__)
            got = f"the function {name}{parameters_of(function)}"
            raise NotAnAgent(got=got, wanted="one argument: a batch of observations")
        self.function = function

    def turn(self, turn: Turn) -> Chosen:
        """Call the function, unless every episode of this turn ended."""
        if not len(turn.steps) + len(turn.starts):
            return {}
        observations = _rows(turn, len(turn.ends), None)
        seen = next(iter(observations.values())) if len(observations) == 1 else observations
        try:
            answer: Any = self.function(seen)
        except (TypeError, ValueError, IndexError) as error:  # as of code for one observation
            shapes = ", ".join(str(rows.shape) for rows in observations.values())
            error.add_note(f"observations come as a batch, {shapes}: a row for each episode")
            raise
        if isinstance(answer, tuple) and len(answer) == 2 and answer[1] is None:
            answer = answer[0]
        chosen: Chosen = answer
        return chosen


def _rows(turn: Turn, start: int, stop: int | None) -> dict[str, npt.NDArray[Any]]:
    return {name: rows[start:stop] for name, rows in turn.observations.items()}


def _stack(parts: list[Chosen]) -> Chosen:
    """One answer of several parts, in their order."""
    match parts:
        case []:
            return {}
        case [only]:
            return only
        case [Mapping() as first, Mapping() as second]:
            return {name: _concatenate([first[name], second[name]]) for name in first}
        case [first, second] if isinstance(first, Mapping) or isinstance(second, Mapping):
            raise NotAnAgent("agent_step() and agent_start() must both return a dict, or neither")
        case _:
            return _concatenate(parts)


def _concatenate(parts: list[Any]) -> npt.NDArray[Any]:
    arrays = [np.asarray(part) for part in parts]
    if len({array.shape[1:] for array in arrays}) > 1:
        shapes = " and ".join(str(array.shape) for array in arrays)
        raise NotAnAgent(
            f"agent_step() and agent_start() returned shapes {shapes}, "
            "wanted rows of one shape, one for each slot"
        )
    return np.concatenate(arrays)


def hello(agent: Agent, name: str) -> AgentHello:
    """The agent's declaration: its slots and abilities."""
    return AgentHello(
        agent=name[:200],
        sdk=sdk(),
        max_slots=agent.max_slots,
        partial_turns=agent.partial_turns,
        adapts=agent.adapts,
        episodic=agent.episodic,
    )


def play(agent: Agent, call: Call) -> Reply | None:
    """Call the routine; None for calls that are not answered. The agent's errors pass through."""
    match call:
        case Turn():
            agent.phase = call.phase
            if agent.seen_goals is not None:
                agent.seen_goals.see(call)
            rows = len(call.steps.slots) + len(call.starts.slots)
            return actions_of(agent.spec, agent.turn(_own(call)), rows)
        case AgentInit(spec):
            agent.check_task(spec)
            agent.spec = spec
            agent.seen_goals = visible_goals(spec)
            agent.agent_init(spec)
        case Freeze():
            agent.agent_freeze()
        case AdaptBegin():
            agent.adapt_begin()
        case Adapt():
            agent.adapt()
        case TextMessage(text):
            return TextMessage(agent.agent_message(text) or "")
        case Cleanup():
            agent.agent_cleanup()
        case Refusal() | Farewell():
            return None
    return RoutineDone()


def _own(turn: Turn) -> Turn:
    """The message with arrays that the agent may write to: shared ones are copied."""
    for array in (turn.rewards, *turn.observations.values()):
        if not array.flags.writeable:
            return _copied(turn)
    return turn


def _copied(turn: Turn) -> Turn:
    observations = {}
    for name, rows in turn.observations.items():
        observations[name] = rows if rows.flags.writeable else rows.copy()
    rewards = turn.rewards if turn.rewards.flags.writeable else turn.rewards.copy()
    return Turn(turn.phase, turn.ends, turn.steps, turn.starts, rewards, observations)


def actions_of(spec: TaskSpec, answer: Any, rows: int) -> Actions:
    """The answer as named arrays of the spec's dtypes, (rows, *shape). Raises NotAnAgent."""
    abandon: tuple[int, ...] = ()
    held: tuple[int, ...] = ()
    if isinstance(answer, Actions):
        answer, abandon, held = answer.arrays, answer.abandon, answer.held
    if answer is None:
        raise NotAnAgent(
            got="None as the answer to a turn", wanted="actions: does every routine return them?"
        )
    if isinstance(answer, np.ndarray) or not isinstance(answer, Mapping):
        answer = {spec.actions[0].name: answer}
    arrays = {}
    for tensor in spec.actions:
        if tensor.name not in answer and (answer or rows):
            _refuse_names(spec, answer)
        arrays[tensor.name] = _cast(tensor, answer.get(tensor.name, ()), rows)
    if len(answer) > len(arrays):
        _refuse_names(spec, answer)
    return Actions(arrays, abandon, held)


def _refuse_names(spec: TaskSpec, answer: Mapping[str, Any]) -> NoReturn:
    wanted = sorted(tensor.name for tensor in spec.actions)
    raise NotAnAgent(got=f"actions {sorted(answer)}", wanted=wanted)


def _cast(tensor: TensorSpec, value: npt.ArrayLike, rows: int) -> npt.NDArray[Any]:
    """A copy in the spec's dtype, (rows, *shape): agents may use their arrays again.

    Integers must keep their value. Axes of length 1 may be missing or extra, since they do not
    change the order of numbers.
    """
    wanted = (rows, *tensor.shape)
    if (
        type(value) is np.ndarray  # as most agents answer
        and value.dtype == tensor.numpy_dtype
        and value.shape == wanted
    ):
        return value.copy()
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise NotAnAgent(f"action {tensor.name!r}", got="masked elements", wanted="numbers")
    try:
        array = np.asarray(value)
    except ValueError as error:  # rows of different lengths
        raise NotAnAgent(f"action {tensor.name!r}: {error}") from None
    if array.shape != wanted:
        if not _is_same_order(array.shape, wanted):
            raise NotAnAgent(
                f"action {tensor.name!r}",
                got=f"shape {array.shape}",
                wanted=f"{wanted}: one row for each slot",
            )
        array = array.reshape(wanted)
    cast = same_numbers(array, tensor.numpy_dtype)
    if cast is None:
        raise NotAnAgent(f"action {tensor.name!r}", got=array, wanted=f"numbers of {tensor.dtype}")
    return cast.copy() if cast is array else cast


def _is_same_order(got: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    """Whether the shapes differ only by axes of length 1, or both are empty."""
    if 0 in got and 0 in wanted:
        return True
    return [size for size in got if size != 1] == [size for size in wanted if size != 1]


class Goals:
    """The newest rows of the tensors that are goals, by slot."""

    def __init__(self, tensors: list[TensorSpec], slots: int) -> None:
        self._rows = {
            tensor.name: np.zeros((slots, *tensor.shape), tensor.numpy_dtype) for tensor in tensors
        }
        self._seen = np.zeros(slots, bool)

    def see(self, turn: Turn) -> None:
        """Take the turn's rows; if a slot ends and starts, the start's."""
        for slots, first in _parts(turn):
            self._seen[slots] = True
            for name, rows in self._rows.items():
                rows[slots] = turn.observations[name][first : first + len(slots)]

    def of(self, slot: int) -> dict[str, npt.NDArray[Any]]:
        """Copies, by name. Raises UsageError."""
        if not 0 <= slot < len(self._seen):
            raise UsageError(got=f"slot {slot}", wanted=f"0 to {len(self._seen) - 1}")
        if not self._seen[slot]:
            raise UsageError(f"nothing was seen in slot {slot} yet; wait for its agent_start")
        return {name: rows[slot].copy() for name, rows in self._rows.items()}


def visible_goals(spec: TaskSpec) -> Goals | None:
    """The goal tensors that will be seen; None if the task shows none."""
    tensors = [tensor for tensor in spec.observations if _is_goal(tensor.name)]
    return Goals(tensors, spec.slots) if tensors else None


def _is_goal(name: str) -> bool:
    """Whether it is a goal, or a part of one, which follows a slash."""
    return any(part.endswith("desired_goal") for part in name.split("/"))


def _parts(turn: Turn) -> list[tuple[npt.NDArray[np.uint32], int]]:
    """The slots of each part that exists, and its first row."""
    parts, first = [], 0
    for part in (turn.ends, turn.steps, turn.starts):
        if len(part):
            parts.append((part.slots, first))
            first += len(part)
    return parts
