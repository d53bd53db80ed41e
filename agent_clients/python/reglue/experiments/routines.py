"""RL-Glue's routines for benchmark programs, over slots.

The same program runs against `glue_server.Glue`, in its own process, and against
`reglue.Experiment`, over a network. Arrays have one row for each slot; with one slot,
the default, that is one row. Source: the RL-Glue concepts page (1.0) and Tanner &
White 2009, "RL-Glue: Language-Independent Software for Reinforcement-Learning
Experiments", JMLR 10 (3.0); if they differ, each form has its own name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from reglue.errors import OutOfDomain
from reglue.experiments import routine_arguments as arguments
from reglue.messages.agent_messages import (
    Adapt,
    AdaptBegin,
    Cleanup,
    Freeze,
    RoutineDone,
    TextMessage,
)
from reglue.messages.environment_messages import GetRandomSeed, GetState, StandardizeRandomness
from reglue.messages.experiment_messages import (
    Acted,
    Counts,
    EnvMessage,
    EpisodePlayed,
    ExperimentCall,
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
        self._slots = arguments.slot_count(slots)
        self._seed = arguments.seed(seed)
        self._task = arguments.text("task", task)
        self._variant = arguments.variant_number(variant)

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
        goal = arguments.goal(task, variant)
        call = RLInit(
            self._slots if slots is None else arguments.slot_count(slots),
            self._seed if seed is None else arguments.seed(seed),
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
        return self._ask(RLStart(arguments.slots(slots), arguments.goal(task, variant)), Started)

    def step(self, slots: Sequence[int] = ()) -> Stepped:
        """RL_step in `slots`, or in all slots with an episode in play.

        Plays the agent's pending action, also in an episode that env_start() has begun since.
        """
        return self._ask(RLStep(arguments.slots(slots)), Stepped)

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
        most = arguments.number("max_steps", max_steps, most=arguments.MOST_UINT64)
        call = RLEpisode(most, arguments.slots(slots), arguments.goal(task, variant))
        played = self._ask(call, EpisodePlayed)
        return bool((played.terminated | played.truncated).all())

    def iterate_goal(self, slots: Sequence[int] = ()) -> None:
        """RL_iterate_goal: each slot's next start plays the next variant of its task, after the
        last one the first. A slot that has not played since init() starts with what init()
        chose. No episode may be in play.
        """
        self._ask(RLIterateGoal(arguments.slots(slots)), RoutineDone)

    def episode_trajectory(self, steps: int, slot: int = 0) -> Trajectory:
        """RL_episode of RL-Glue 1.0: at most `steps` steps of the environment, and all of them."""
        most = arguments.number("steps", steps, most=arguments.MOST_UINT64)
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
        self._ask(StandardizeRandomness(arguments.seed(seed)), RoutineDone)

    def get_state(self, slot: int = 0) -> str:
        """RL_get_state: a key for the environment's state, in mid-episode."""
        return self._ask(GetState(arguments.slot(slot)), SnapshotKey).key

    def set_state(self, key: str, slot: int = 0) -> None:
        """RL_set_state: the environment continues from there, to the bit. The agent's next action
        and the counts do not change.
        """
        self._ask(RLSetState(arguments.slot(slot), arguments.text("key", key)), RoutineDone)

    def get_random_seed(self, slot: int = 0) -> str:
        """RL_get_random_seed: a key for the state of the environment's generators."""
        return self._ask(GetRandomSeed(arguments.slot(slot)), SnapshotKey).key

    def set_random_seed(self, key: str, slot: int = 0) -> None:
        """RL_set_random_seed: set the state of the environment's generators."""
        self._ask(RLSetRandomSeed(arguments.slot(slot), arguments.text("key", key)), RoutineDone)

    def agent_message(self, text: str | None) -> str:
        """RL_agent_message; legal at any time. None is an empty message, as in RL-Glue."""
        return self._ask(TextMessage(arguments.message(text)), TextMessage).text

    def env_message(self, text: str | None) -> str:
        """RL_env_message; legal at any time. None is an empty message, as in RL-Glue."""
        return self._ask(EnvMessage(arguments.message(text)), TextMessage).text

    # Half steps, for programs that change what passes between agent and environment.

    def env_start(
        self, slots: Sequence[int] = (), *, task: str | None = None, variant: int | None = None
    ) -> Started:
        """RL_env_start: env_start alone; no actions. The agent is not called. In mid-episode the
        agent is still in the previous episode: a step() that follows plays its pending action in
        the new one. Call agent_end() and agent_start() for the agent. `task` and `variant` are as
        of start().
        """
        return self._ask(RLEnvStart(arguments.slots(slots), arguments.goal(task, variant)), Started)

    def env_step(self, actions: Rows, slots: Sequence[int] = (0,)) -> Stepped:
        """RL_env_step: env_step alone, with these actions; no next ones."""
        return self._ask(RLEnvStep(arguments.slots(slots), arguments.rows(actions)), Stepped)

    def agent_start(self, observations: Rows, slots: Sequence[int] = (0,)) -> Arrays:
        """RL_agent_start: agent_start alone; the actions are what step() plays next."""
        return self._ask(
            RLAgentStart(arguments.slots(slots), arguments.rows(observations)), Acted
        ).actions

    def agent_step(
        self, rewards: npt.ArrayLike, observations: Rows, slots: Sequence[int] = (0,)
    ) -> Arrays:
        """RL_agent_step: agent_step alone; the actions are what step() plays next."""
        call = RLAgentStep(
            arguments.slots(slots), arguments.rewards(rewards), arguments.rows(observations)
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
            arguments.slots(slots),
            arguments.rewards(rewards),
            arguments.rows(observations),
            bool(truncated),
        )
        self._ask(call, RoutineDone)

    def _call(self, call: ExperimentCall) -> object:
        """Carry a routine out."""
        raise NotImplementedError

    def _counts(self, slot: int) -> Counts:
        return self._ask(RLCounts(arguments.slot(slot)), Counts)

    def _ask(self, call: ExperimentCall, kind: type[_Kind]) -> _Kind:
        answer = self._call(call)
        assert isinstance(answer, kind), f"{call} was answered by {answer}"
        return answer


def _joined(parts: Sequence[Arrays]) -> dict[str, npt.NDArray[Any]]:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
