"""Probe agents that log what they are given, and a scripted world to play them in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from reglue.agents.adaptation import agent_of
from reglue.agents.agent import Agent
from reglue.messages.agent_messages import EndKind, Ends, Phase, Starts, Steps, Turn
from reglue.spec import TaskSpec, TensorSpec

Log: TypeAlias = list[tuple[str, object]]
HORIZON = 5


# Probes: what they are given goes into `log`, what they answer depends on it.


class Evaluated:
    """Meta-World's `Agent`, with a recurrent state."""

    def __init__(self) -> None:
        self.log: Log = []
        self.state = np.zeros(2)

    def eval_action(self, observations: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        self.log.append(("eval_action", frozen(observations)))
        self.state = self.state + 1
        return np.stack([observations[:, 0], self.state], axis=1)

    def reset(self, env_mask: npt.NDArray[np.bool_]) -> None:
        self.log.append(("reset", frozen(env_mask)))
        self.state = np.where(env_mask, 0.0, self.state)


class EachTimestep(Evaluated):
    """Adapts as RL² does: a state that every timestep moves."""

    def init(self) -> None:
        self.log.append(("init", None))
        self.memory = np.zeros(2)

    def adapt_action(
        self, observations: npt.NDArray[Any]
    ) -> tuple[npt.NDArray[np.float64], dict[str, npt.NDArray[Any]]]:
        self.log.append(("adapt_action", frozen(observations)))
        return np.stack([observations[:, 3], self.memory], axis=1), {"memory": self.memory}

    def step(self, timestep: Any) -> None:
        self.log.append(("step", frozen(timestep)))
        self.memory = 0.5 * timestep.aux_policy_outputs["memory"] + timestep.reward

    def adapt(self) -> None:
        self.log.append(("adapt", None))


class EachAdaptationStep(EachTimestep):
    """Adapts as MAML does: a buffer, and an update of what acts."""

    def init(self) -> None:
        super().init()
        self.buffer: list[Any] = []

    def step(self, timestep: Any) -> None:
        self.log.append(("step", frozen(timestep)))
        self.buffer.append(timestep)

    def adapt(self) -> None:
        super().adapt()
        self.memory = cast(
            npt.NDArray[np.float64], np.mean([each.reward for each in self.buffer], axis=0)
        )
        self.buffer = []


class Both(EachAdaptationStep):
    """Adapts as either does."""

    def step(self, timestep: Any) -> None:
        EachAdaptationStep.step(self, timestep)
        self.memory = 0.5 * self.memory + timestep.reward


def frozen(value: Any) -> object:
    """A copy to compare: what it holds, bit for bit, its dtypes and shapes."""
    match value:
        case np.ndarray():
            return value.dtype.str, value.shape, value.tolist()
        case dict():
            return {key: frozen(each) for key, each in value.items()}
        case _:
            return tuple(frozen(each) for each in value)


# One scripted world, played by upstream's loops and, as turns, by ours.


class ScriptedEnvs:
    """A vector environment with SAME_STEP autoreset, one task an environment.

    `successes` says for each environment at which step each episode succeeds.
    Observations are environment, goal, episode and time; rewards 1, or while
    success does not end episodes the time and the action.
    """

    names = ("SawyerReachEnvV3", "SawyerPushEnvV3")

    def __init__(self, *successes: Sequence[int | None]) -> None:
        self.successes, self.num_envs = successes, len(successes)
        self.goal, self.ends_at_success = 0, True
        self.episode = np.full(self.num_envs, -1)
        self.time = np.zeros(self.num_envs, int)

    def get_attr(self, name: str) -> Sequence[object]:
        return {
            "task_name": self.names[: self.num_envs],
            "terminate_on_success": [self.ends_at_success] * self.num_envs,
        }[name]

    def call(self, name: str, *arguments: bool) -> None:
        match name:
            case "toggle_terminate_on_success":
                (self.ends_at_success,) = arguments
            case "sample_tasks":
                self.goal += 1

    def reset(self) -> tuple[npt.NDArray[np.float64], dict[str, object]]:
        self.episode, self.time = self.episode + 1, self.time * 0
        return self.observation(), {}

    def step(self, actions: npt.NDArray[Any]) -> tuple[Any, ...]:
        self.time = self.time + 1
        wanted = [each[k % len(each)] for each, k in zip(self.successes, self.episode, strict=True)]
        success = np.array(
            [at is not None and at <= t for at, t in zip(wanted, self.time, strict=True)]
        )
        terminated = success & self.ends_at_success
        truncated = (self.time >= HORIZON) & ~terminated
        done = terminated | truncated
        rewards = np.ones(self.num_envs) if self.ends_at_success else self.time + actions.sum(1)
        infos = {
            "final_obs": self.observation(),
            "final_info": {"episode": {"r": self.time.astype(float)}, "success": success},
        }
        self.episode, self.time = self.episode + done, np.where(done, 0, self.time)
        return self.observation(), rewards, terminated, truncated, infos

    def observation(self) -> npt.NDArray[np.float64]:
        goal = np.full(self.num_envs, self.goal)
        index = np.arange(self.num_envs)
        return np.stack([index, goal, self.episode, self.time], axis=1).astype(float)


def task(*, slots: int = 2, dtype: str = "float64") -> TaskSpec:
    return TaskSpec(
        observations=(TensorSpec("observation", dtype, (4,)),),
        actions=(TensorSpec("action", "float64", (2,)),),
        slots=slots,
    )


def ready(probe: object, spec: TaskSpec | None = None) -> Agent:
    agent = agent_of(probe)
    agent.spec = spec or task()
    agent.agent_init(agent.spec)
    return agent


def rollout(agent: Agent, envs: ScriptedEnvs, *, phase: Phase, episodes: int) -> None:
    """Play until each slot has its episodes; rows in descending order of slots."""
    slots = np.arange(envs.num_envs)[::-1]
    envs.call("toggle_terminate_on_success", phase == Phase.EVALUATE)
    turn = make_turn(phase, starts=slots, observations=envs.reset()[0][slots])
    played = np.zeros(envs.num_envs, int)
    while True:
        actions = np.zeros((envs.num_envs, 2))
        answer = cast(dict[str, Any], agent.turn(turn))
        actions[np.concatenate([turn.steps.slots, turn.starts.slots])] = answer["action"]
        observations, rewards, terminated, truncated, infos = envs.step(actions)
        done = terminated | truncated
        played += done
        over = bool((played >= episodes).all())
        ended = slots[done[slots]]
        stepped, started = ([], []) if over else (slots[~done[slots]], ended)
        rows = [infos["final_obs"][ended]] + [observations[each] for each in (stepped, started)]
        turn = make_turn(
            phase,
            ends=ended,
            kinds=np.where(terminated, EndKind.TERMINATED, EndKind.TRUNCATED)[ended],
            steps=stepped,
            starts=started,
            rewards=rewards[np.concatenate([ended, stepped]).astype(int)],
            observations=np.concatenate([each.reshape(-1, 4) for each in rows]),
        )
        if over:
            assert agent.turn(turn) == {}
            return


def make_turn(
    phase: Phase,
    *,
    ends: Any = (),
    kinds: Any = None,
    steps: Any = (),
    starts: Any = (),
    rewards: Any = None,
    observations: Any = None,
) -> Turn:
    """A turn of the slots named; rewards 1 and observations 7 unless told."""
    slots = [np.array(each, np.uint32) for each in (ends, steps, starts)]
    told, rows = len(ends) + len(steps), len(ends) + len(steps) + len(starts)
    if kinds is None:
        kinds = [EndKind.TRUNCATED] * len(ends)
    return Turn(
        phase,
        Ends(slots[0], np.array(kinds, np.uint8)),
        Steps(slots[1], np.zeros(len(steps), np.uint8)),
        Starts(slots[2], np.arange(len(starts), dtype=np.uint64)),
        np.ones(told) if rewards is None else np.array(rewards, np.float64),
        {"observation": np.full((rows, 4), 7.0) if observations is None else observations},
    )
