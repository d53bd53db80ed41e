"""An agent that is written for one episode."""

from __future__ import annotations

from typing import Any

import numpy as np

from reglue.agents.agent import play
from reglue.agents.episode import AgentEpisode, EpisodeAgent
from reglue.messages.agent_messages import (
    NO_ENDS,
    NO_STEPS,
    Actions,
    AgentInit,
    EndKind,
    Ends,
    Phase,
    Starts,
    Steps,
    Turn,
)
from reglue.spec import TaskSpec, TensorSpec
from tests.error_facts import raises

PLACE, GOAL = TensorSpec("place", "float64", (2,)), TensorSpec("goal", "float64", ())
PUSH, TURN = TensorSpec("push", "float64", ()), TensorSpec("turn", "float64", (2,))


class Remembering(AgentEpisode):
    """Answers with its seed, and how often it was asked."""

    def __init__(self, seed: int, said: list[Any]) -> None:
        self.seed, self.asked, self.said = seed, 0, said

    def start(self, observation: Any) -> Any:
        self.said.append(observation)
        return float(self.seed)

    def step(self, reward: float, observation: Any) -> Any:
        self.asked += 1
        return self.seed + self.asked / 10 + reward

    def end(self, reward: float, observation: Any, kind: EndKind) -> None:
        self.said.append((self.seed, self.asked, reward, observation.tolist(), kind))


class Remembers(EpisodeAgent):
    def __init__(self) -> None:
        self.said: list[Any] = []

    def new_episode(self, seed: int) -> AgentEpisode:
        return Remembering(seed, self.said)


def starts(slots: list[int], seeds: list[int]) -> Starts:
    return Starts(np.array(slots, np.uint32), np.array(seeds, np.uint64))


def seen(rows: int) -> np.ndarray[Any, Any]:
    return np.arange(rows * 2, dtype=np.float64).reshape(rows, 2)


def test_each_slots_episode_remembers_its_own_and_is_forgotten_at_its_end() -> None:
    agent = Remembers()
    play(agent, AgentInit(TaskSpec(observations=(PLACE,), actions=(PUSH,), slots=3)))

    def asked(turn: Turn) -> list[float]:
        answer = play(agent, turn)
        assert isinstance(answer, Actions)
        return list(answer.arrays["push"].tolist())

    begun = starts([2, 0], [20, 7])
    first = Turn(Phase.TRAIN, NO_ENDS, NO_STEPS, begun, np.zeros(0), {"place": seen(2)})
    assert asked(first) == [20.0, 7.0]
    ends = Ends(np.array([2], np.uint32), np.array([EndKind.TRUNCATED], np.uint8))
    steps = Steps(np.array([0], np.uint32), np.zeros(1, np.uint8))
    turn = Turn(
        Phase.TRAIN, ends, steps, starts([2], [5]), np.array([-1.0, 2.0]), {"place": seen(3)}
    )
    assert asked(turn) == [9.1, 5.0]  # slot 0 goes on, and slot 2 begins again
    assert agent.said[2] == (20, 0, -1.0, [0.0, 1.0], EndKind.TRUNCATED)
    assert agent.said[3].tolist() == [4.0, 5.0]


def test_several_tensors_are_dicts_of_one_episodes_arrays() -> None:
    class Both(Remembering):
        def start(self, observation: Any) -> Any:
            self.said.append({name: array.tolist() for name, array in observation.items()})
            return {"push": observation["goal"], "turn": observation["place"]}

    class Agents(Remembers):
        def new_episode(self, seed: int) -> AgentEpisode:
            return Both(seed, self.said)

    agent = Agents()
    play(agent, AgentInit(TaskSpec(observations=(PLACE, GOAL), actions=(PUSH, TURN), slots=2)))
    seen_by_name = {"place": seen(2), "goal": np.array([3.0, 4.0])}
    turn = Turn(Phase.TRAIN, NO_ENDS, NO_STEPS, starts([0, 1], [1, 2]), np.zeros(0), seen_by_name)
    answer = play(agent, turn)
    assert isinstance(answer, Actions)
    assert agent.said[1] == {"place": [2.0, 3.0], "goal": 4.0}
    assert answer.arrays["push"].tolist() == [3.0, 4.0]
    assert answer.arrays["turn"].tolist() == [[0.0, 1.0], [2.0, 3.0]]


def test_an_agent_without_episodes_is_refused_where_it_is_made() -> None:
    class Nothing(EpisodeAgent):
        pass

    with raises(TypeError, "new_episode"):
        Nothing()  # type: ignore[abstract]
