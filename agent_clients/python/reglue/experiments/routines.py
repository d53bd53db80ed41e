"""RL-Glue's routines for benchmark programs, over slots.

The same program runs against `glue_server.Glue`, in its own process, and against
`reglue.Experiment`, over a network. Arrays have one row for each slot; with one slot,
the default, that is one row. Source: the RL-Glue concepts page (1.0) and Tanner &
White 2009, "RL-Glue: Language-Independent Software for Reinforcement-Learning
Experiments", JMLR 10 (3.0); where they differ, each form has its own name.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, SupportsIndex, TypeVar, cast

import numpy as np
import numpy.typing as npt

from reglue.errors import OutOfDomain
from reglue.messages.agent import (
    Adapt,
    AdaptBegin,
    Cleanup,
    Freeze,
    RoutineDone,
    TextMessage,
)
from reglue.messages.environment import GetRandomSeed, GetState, StandardizeRandomness
from reglue.messages.experiment import (
    Acted,
    Counts,
    EnvMessage,
    EpisodePlayed,
    ExperimentCall,
    Goal,
    RLAgentEnd,
    RLAgentStart,
    RLAgentStep,
    RLCounts,
    RLEnvStart,
    RLEnvStep,
    RLEpisode,
    RLInit,
    RLIterateGoal,
    RLSetRandomSeed,
    RLSetState,
    RLStart,
    RLStep,
    RLTasks,
    SnapshotKey,
    Started,
    Stepped,
    Tasks,
)
from reglue.spec import Arrays, TaskSpec

_Kind = TypeVar("_Kind")

Rows = Mapping[str, npt.ArrayLike]
"""name -> (rows, *shape), in the spec's dtypes or what casts to them."""


@dataclass(frozen=True, slots=True)
class Trajectory:
    """An episode as RL-Glue 1.0's RL_episode returns it: o0, a0, r1, o1, a1, …, rT.

    The terminal observation is omitted, as in 1.0. A truncated episode ends with the observation
    and action after the last reward.
    """

    observations: Arrays  # name -> (N, *shape): o0, o1, …; N = T if it ended, else T + 1
    actions: Arrays  # name -> (N, *shape): a0, a1, …
    rewards: npt.NDArray[np.float64]  # (T,): r1, …, rT
    terminated: bool
    truncated: bool


class Routines:
    """RL_init, RL_start, RL_step, … by the names without RL_.

    A refused routine changes nothing. It raises OutOfOrder if it is not legal now, and says what
    to call first; NotSupported if the environment lacks it; UnknownKey for a key that this glue
    did not make; OutOfDomain for an unknown slot or an illegal argument.
    AgentFault and EnvironmentFault end the episodes of the slots.
    """

    def __init__(self, *, slots: int, seed: int, task: str = "", variant: int = 0) -> None:
        self._slots = _slot_count(slots)
        self._seed = _seed(seed)
        self._task = text_argument("task", task)
        self._variant = _variant(variant)

    def init(
        self,
        *,
        slots: int | None = None,
        seed: int | None = None,
        task: str | None = None,
        variant: int | None = None,
    ) -> TaskSpec:
        """RL_init: env_init, then agent_init. Counts are zero again.

        The arguments replace the program's own until the next init(). A `task` without a
        `variant` is played at variant 0.
        """
        goal = goal_argument(task, variant)
        call = RLInit(
            self._slots if slots is None else _slot_count(slots),
            self._seed if seed is None else _seed(seed),
            self._task if task is None else task,
            self._variant if goal is None else goal.variant,
        )
        return self._ask(call, TaskSpec)

    @property
    def tasks(self) -> dict[str, int]:
        """RL_tasks: what the environment can play since init(): each task's number of variants, in
        the environment's order.
        """
        return dict(self._ask(RLTasks(), Tasks).variants)

    def start(
        self, slots: Sequence[int] = (), *, task: str | None = None, variant: int | None = None
    ) -> Started:
        """RL_start: first observations and actions. An episode in play is cut off.

        The slots play `task` and `variant` from now on, if given: by default variant 0 of that
        task, or that variant of each slot's own task. No episode may be in play there. The agent
        does not see goals, and keeps what it has learned; a freeze() stays in effect.
        """
        return self._ask(RLStart(slots_argument(slots), goal_argument(task, variant)), Started)

    def step(self, slots: Sequence[int] = ()) -> Stepped:
        """RL_step in `slots`, or in all slots with an episode in play.

        Plays the agent's pending action, also in an episode that env_start() has begun since.
        """
        return self._ask(RLStep(slots_argument(slots)), Stepped)

    def episode(
        self,
        max_steps: int = 0,
        slots: Sequence[int] = (),
        *,
        task: str | None = None,
        variant: int | None = None,
    ) -> bool:
        """RL_episode of RL-Glue 3.0: one episode in each slot; True if all ended by themselves.

        The start counts as the first of `max_steps`; 0 means no limit. An episode that the limit
        cuts off gets no agent_end and is not counted. `task` and `variant` are as of start().
        """
        most = number_argument("max_steps", max_steps, most=MOST_UINT64)
        call = RLEpisode(most, slots_argument(slots), goal_argument(task, variant))
        played = self._ask(call, EpisodePlayed)
        return bool((played.terminated | played.truncated).all())

    def iterate_goal(self, slots: Sequence[int] = ()) -> None:
        """RL_iterate_goal: each slot's next start plays the next variant of its task, after the
        last one the first. Where nothing has been played since init(), the next one is that of
        init(). No episode may be in play.
        """
        self._ask(RLIterateGoal(slots_argument(slots)), RoutineDone)

    def episode_trajectory(self, steps: int, slot: int = 0) -> Trajectory:
        """RL_episode of RL-Glue 1.0: at most `steps` steps of the environment, and all of them."""
        most = number_argument("steps", steps, most=MOST_UINT64)
        started = self.start([slot])
        observations, actions = [started.observations], [started.actions]
        rewards: list[float] = []
        terminated = truncated = False
        while not (terminated or truncated) and len(rewards) < most:
            stepped = self.step([slot])
            rewards.append(float(stepped.rewards[0]))
            terminated, truncated = bool(stepped.terminated[0]), bool(stepped.truncated[0])
            if not (terminated or truncated):
                observations.append(stepped.observations)
                actions.append(stepped.actions)
        return Trajectory(
            _joined(observations), _joined(actions), np.array(rewards), terminated, truncated
        )

    def return_(self, discount: float = 1.0, *, slot: int = 0) -> float:
        """RL_return: the sum of rewards of the present or last episode."""
        if discount != 1.0:
            raise OutOfDomain(
                got=f"RL_return({discount})", wanted="1.0: discount inside the environment"
            )
        return self._counts(slot).sum_of_rewards

    def num_steps(self, *, slot: int = 0) -> int:
        """RL_num_steps of 3.0: actions chosen in the present or last episode."""
        return self._counts(slot).steps

    def num_episodes(self, *, slot: int = 0) -> int:
        """RL_num_episodes: episodes that ended by themselves since RL_init."""
        return self._counts(slot).episodes

    def success(self, *, slot: int = 0) -> bool:
        """RL_success: whether some step of the present or last episode was a success."""
        return self._counts(slot).success

    def cleanup(self) -> None:
        """RL_cleanup: env_cleanup, then agent_cleanup. Counts stay; init() comes next."""
        self._ask(Cleanup(), RoutineDone)

    def freeze(self) -> None:
        """RL_freeze: agent_freeze. What follows is judged, until init() or adapt_begin()."""
        self._ask(Freeze(), RoutineDone)

    def adapt_begin(self) -> None:
        """RL_adapt_begin: adapt_begin. The agent returns to what it was before adaptation; it
        adapts in what follows, until freeze().

        NotSupported if it cannot adapt. No episode may be in play: it must have ended, or been cut
        off by the limit of episode().
        """
        self._ask(AdaptBegin(), RoutineDone)

    def adapt(self) -> None:
        """RL_adapt: adapt. An adaptation step is over: the agent learns from its episodes, one or
        more, since adapt_begin() or the last adapt(). None may be in play.
        """
        self._ask(Adapt(), RoutineDone)

    def standardize_randomness(self, seed: int = 0) -> None:
        """RL_standardize_randomness: from now on the environment draws from `reglue.rng.Rng(seed,
        n)` in the n-th start, on every platform.
        """
        self._ask(StandardizeRandomness(_seed(seed)), RoutineDone)

    def get_state(self, slot: int = 0) -> str:
        """RL_get_state: a key for the environment's state, in mid-episode."""
        return self._ask(GetState(slot_argument(slot)), SnapshotKey).key

    def set_state(self, key: str, slot: int = 0) -> None:
        """RL_set_state: the environment continues from there, to the bit. The agent's next action
        and the counts do not change.
        """
        self._ask(RLSetState(slot_argument(slot), text_argument("key", key)), RoutineDone)

    def get_random_seed(self, slot: int = 0) -> str:
        """RL_get_random_seed: a key for the state of the environment's generators."""
        return self._ask(GetRandomSeed(slot_argument(slot)), SnapshotKey).key

    def set_random_seed(self, key: str, slot: int = 0) -> None:
        """RL_set_random_seed: set the state of the environment's generators."""
        self._ask(RLSetRandomSeed(slot_argument(slot), text_argument("key", key)), RoutineDone)

    def agent_message(self, text: str | None) -> str:
        """RL_agent_message; legal at any time. None is an empty message, as in RL-Glue."""
        return self._ask(TextMessage(_message(text)), TextMessage).text

    def env_message(self, text: str | None) -> str:
        """RL_env_message; legal at any time. None is an empty message, as in RL-Glue."""
        return self._ask(EnvMessage(_message(text)), TextMessage).text

    # Half steps, for programs that change what passes between agent and environment.

    def env_start(
        self, slots: Sequence[int] = (), *, task: str | None = None, variant: int | None = None
    ) -> Started:
        """RL_env_start: env_start alone; no actions. The agent is not called. In mid-episode the
        agent is still in the previous episode: a step() that follows plays its pending action in
        the new one. Call agent_end() and agent_start() for the agent. `task` and `variant` are as
        of start().
        """
        return self._ask(RLEnvStart(slots_argument(slots), goal_argument(task, variant)), Started)

    def env_step(self, actions: Rows, slots: Sequence[int] = (0,)) -> Stepped:
        """RL_env_step: env_step alone, with these actions; no next ones."""
        return self._ask(RLEnvStep(slots_argument(slots), rows_argument(actions)), Stepped)

    def agent_start(self, observations: Rows, slots: Sequence[int] = (0,)) -> Arrays:
        """RL_agent_start: agent_start alone; the actions are what step() plays next."""
        return self._ask(
            RLAgentStart(slots_argument(slots), rows_argument(observations)), Acted
        ).actions

    def agent_step(
        self, rewards: npt.ArrayLike, observations: Rows, slots: Sequence[int] = (0,)
    ) -> Arrays:
        """RL_agent_step: agent_step alone; the actions are what step() plays next."""
        call = RLAgentStep(
            slots_argument(slots), rewards_argument(rewards), rows_argument(observations)
        )
        return self._ask(call, Acted).actions

    def agent_end(
        self,
        rewards: npt.ArrayLike,
        observations: Rows,
        slots: Sequence[int] = (0,),
        *,
        truncated: bool = False,
    ) -> None:
        """RL_agent_end: agent_end alone, with the last observations."""
        call = RLAgentEnd(
            slots_argument(slots),
            rewards_argument(rewards),
            rows_argument(observations),
            bool(truncated),
        )
        self._ask(call, RoutineDone)

    def _call(self, call: ExperimentCall) -> object:
        """Carry a routine out."""
        raise NotImplementedError

    def _counts(self, slot: int) -> Counts:
        return self._ask(RLCounts(slot_argument(slot)), Counts)

    def _ask(self, call: ExperimentCall, kind: type[_Kind]) -> _Kind:
        answer = self._call(call)
        assert isinstance(answer, kind), f"{call} was answered by {answer}"
        return answer


def _joined(parts: Sequence[Arrays]) -> dict[str, npt.NDArray[Any]]:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _slot_count(slots: object) -> int:
    return number_argument("slots", slots, least=1, most=MOST_UINT32)


def _variant(variant: object) -> int:
    return number_argument("variant", variant, most=MOST_UINT32)


def _seed(seed: object) -> int:
    return number_argument("seed", seed, most=MOST_SEED)


# A routine's arguments, checked before any call is sent. All raise OutOfDomain
# for a wrong type, and for what no call can carry.

MOST_UINT32 = 2**32 - 1
MOST_UINT64 = 2**64 - 1
MOST_SEED = 2**63 - 1


def number_argument(what: str, value: object, *, most: int, least: int = 0) -> int:
    """An integer from `least` to `most`."""
    try:
        number = int(operator.index(cast("SupportsIndex", value)))
    except TypeError:
        number = least - 1
    if not least <= number <= most:
        wanted = f"an integer from {least} to {most}"
        raise OutOfDomain(got=f"{what} {value!r}", wanted=wanted)
    return number


def slot_argument(slot: object) -> int:
    """The number of a slot; the glue checks that the slot exists."""
    return number_argument("slot", slot, most=MOST_UINT32)


def slots_argument(slots: object) -> tuple[int, ...]:
    """The numbers of slots."""
    if type(slots) is tuple and not slots:  # as most programs have it
        return ()
    if not isinstance(slots, Iterable):
        raise OutOfDomain(got=f"slots {slots!r}", wanted="a list of slots, such as [0]")
    return tuple(map(slot_argument, slots))


def goal_argument(task: object, variant: object) -> Goal | None:
    """The goal of later starts; None keeps the present one. The glue checks that it exists."""
    if task is None and variant is None:
        return None
    return Goal(
        "" if task is None else text_argument("task", task),
        0 if variant is None else _variant(variant),
    )


def text_argument(what: str, text: object) -> str:
    """A string that UTF-8 can encode: one without lone surrogates."""
    if not isinstance(text, str):
        raise OutOfDomain(got=f"{what} {text!r}", wanted="a string")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise OutOfDomain(got=f"{what} {text!r}", wanted="text that UTF-8 can encode") from None
    return text


def _message(text: object) -> str:
    return "" if text is None else text_argument("message", text)


def rows_argument(rows: object) -> dict[str, npt.NDArray[Any]]:
    """Named arrays of numbers; the glue checks their shapes."""
    if not isinstance(rows, Mapping) or not all(isinstance(name, str) for name in rows):
        raise OutOfDomain(got=repr(rows), wanted="a dict of named arrays, one row for each slot")
    return {name: _array(repr(name), values) for name, values in rows.items()}


def rewards_argument(rewards: object) -> npt.NDArray[np.float64]:
    """One number for each slot, (rows,)."""
    return _array("rewards", rewards).astype(np.float64).reshape(-1)


def _array(what: str, values: object) -> npt.NDArray[Any]:
    try:
        array = np.asarray(values)
    except ValueError:  # rows of different lengths
        array = np.array(None)
    if array.dtype.kind not in "biuf":
        raise OutOfDomain(got=f"{what} = {values!r}", wanted="numbers, one row for each slot")
    return array
