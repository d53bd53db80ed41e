"""An agent of one function, and what an agent has seen of goals."""

from __future__ import annotations

from typing import Any

import numpy as np

from reglue.agents.agent import Agent, Policy, play
from reglue.errors import UsageError
from reglue.messages.agent_messages import (
    NO_ENDS,
    NO_STARTS,
    NO_STEPS,
    AgentInit,
    Ends,
    Phase,
    Starts,
    Steps,
    Turn,
)
from reglue.spec import TaskSpec, TensorSpec
from tests.error_facts import raises

ACTION = TensorSpec("action", "float32", (1,))
STATE = TensorSpec("observation", "float64", (3,))
GOAL = TensorSpec("desired_goal", "float64", (2,))


class Reader(Agent):
    """Stands still."""

    partial_turns = True

    def agent_start(self, observations: Any, starts: Starts) -> Any:
        return np.zeros((len(starts), 1))

    def agent_step(self, rewards: Any, observations: Any, steps: Steps) -> Any:
        return np.zeros((len(steps), 1))


def reader(*tensors: TensorSpec, slots: int = 3) -> Reader:
    agent = Reader()
    play(agent, AgentInit(TaskSpec(observations=tensors, actions=(ACTION,), slots=slots)))
    return agent


def slots(*numbers: int) -> Any:
    return np.array(numbers, np.uint32)


def turn(goals: list[list[float]], **parts: Any) -> Turn:
    parts = {"ends": NO_ENDS, "steps": NO_STEPS, "starts": NO_STARTS, **parts}
    rewards = np.zeros(len(parts["ends"]) + len(parts["steps"]))
    seen = {"observation": np.zeros((len(goals), 3)), "desired_goal": np.array(goals)}
    return Turn(Phase.TRAIN, **parts, rewards=rewards, observations=seen)


def starting(*numbers: int) -> Starts:
    return Starts(slots(*numbers), np.zeros(len(numbers), np.uint64))


def going_on(*numbers: int) -> Steps:
    return Steps(slots(*numbers), np.zeros(len(numbers), np.uint8))


def test_the_newest_goal_of_a_slot_is_told() -> None:
    agent = reader(STATE, GOAL)
    play(agent, turn([[1, 1], [2, 2]], starts=starting(2, 0)))
    assert agent.get_goal(2)["desired_goal"].tolist() == [1, 1]
    play(agent, turn([[3, 3]], steps=going_on(2)))
    assert agent.get_goal(2)["desired_goal"].tolist() == [3, 3]
    assert agent.get_goal(0)["desired_goal"].tolist() == [2, 2]  # not in that turn


def test_where_a_slot_ends_and_starts_the_start_counts() -> None:
    agent = reader(STATE, GOAL)
    ends = Ends(slots(1), np.ones(1, np.uint8))
    play(agent, turn([[1, 1], [2, 2], [3, 3]], ends=ends, steps=going_on(0), starts=starting(1)))
    assert agent.get_goal(1)["desired_goal"].tolist() == [3, 3]
    assert agent.get_goal(0)["desired_goal"].tolist() == [2, 2]


def test_it_is_known_in_the_routine_that_chooses() -> None:
    class Chooser(Reader):
        def agent_start(self, observations: Any, starts: Starts) -> Any:
            return [self.get_goal(int(slot))["desired_goal"][:1] for slot in starts.slots]

    agent = Chooser()
    play(agent, AgentInit(TaskSpec(observations=(STATE, GOAL), actions=(ACTION,), slots=2)))
    answer: Any = play(agent, turn([[7, 0], [8, 0]], starts=starting(1, 0)))
    assert answer.arrays["action"].tolist() == [[7], [8]]


def test_what_is_told_is_a_copy() -> None:
    agent = reader(STATE, GOAL)
    play(agent, turn([[1, 1]], starts=starting(0)))
    agent.get_goal(0)["desired_goal"][:] = 9
    assert agent.get_goal(0)["desired_goal"].tolist() == [1, 1]


def test_goals_are_known_by_the_end_of_their_names_and_may_have_parts() -> None:
    names = ["image_desired_goal", "desired_goal/kettle", "achieved_goal", "desired_goals"]
    agent = reader(*(TensorSpec(name, "float64", (1,)) for name in names), slots=1)
    seen = {name: np.ones((1, 1)) for name in names}
    play(agent, Turn(Phase.TRAIN, NO_ENDS, NO_STEPS, starting(0), np.zeros(0), seen))
    assert sorted(agent.get_goal(0)) == ["desired_goal/kettle", "image_desired_goal"]


def test_a_task_that_shows_no_goal_is_said_to() -> None:
    with raises(UsageError, ["observation"], "desired_goal"):
        reader(STATE).get_goal(0)


def test_a_slot_without_a_goal_yet_is_refused() -> None:
    agent = reader(STATE, GOAL)
    with raises(UsageError, "slot 1", "agent_start"):
        agent.get_goal(1)
    with raises(UsageError, got="slot 3", wanted="0 to 2"):
        agent.get_goal(3)


def test_a_new_task_forgets_the_goals_of_the_last_one() -> None:
    agent = reader(STATE, GOAL)
    play(agent, turn([[1, 1]], starts=starting(0)))
    play(agent, AgentInit(TaskSpec(observations=(STATE, GOAL), actions=(ACTION,), slots=1)))
    with raises(UsageError, "slot 0", "agent_start"):
        agent.get_goal(0)


# Policy.


def policy(*tensors: TensorSpec) -> tuple[Policy, list[Any]]:
    """A policy for three slots, and what its function was called with."""
    seen: list[Any] = []

    def act(observations: Any) -> Any:
        seen.append(observations)
        rows = next(iter(observations.values())) if isinstance(observations, dict) else observations
        return rows[:, :1]

    agent = Policy(act)
    play(agent, AgentInit(TaskSpec(observations=tensors, actions=(ACTION,), slots=3)))
    return agent, seen


def test_a_policy_gets_no_row_of_an_episode_that_ended() -> None:
    agent, seen = policy(GOAL)
    ends = Ends(slots(0), np.ones(1, np.uint8))
    rows = {"desired_goal": np.array([[1.0, 0], [2, 0], [3, 0]])}
    parts = (ends, going_on(1), starting(0))
    answer: Any = play(agent, Turn(Phase.TRAIN, *parts, rewards=np.zeros(2), observations=rows))
    assert seen[0].tolist() == [[2, 0], [3, 0]]
    assert answer.arrays["action"].tolist() == [[2], [3]]


def test_a_policy_is_not_called_when_every_episode_ended() -> None:
    agent, seen = policy(GOAL)
    ends = Ends(slots(0), np.ones(1, np.uint8))
    parts = (ends, NO_STEPS, NO_STARTS)
    rows = {"desired_goal": np.ones((1, 2))}
    answer: Any = play(agent, Turn(Phase.TRAIN, *parts, rewards=np.zeros(1), observations=rows))
    assert answer.arrays["action"].shape == (0, 1)
    assert not seen


def test_a_policy_gets_several_tensors_by_name() -> None:
    agent, seen = policy(STATE, GOAL)
    play(agent, turn([[1, 1], [2, 2]], starts=starting(0, 1)))
    assert sorted(seen[0]) == ["desired_goal", "observation"]
