"""Forbidden actions where a program steps."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from env_adapters.gymnasium import suite_of
from glue_server import Glue
from reglue import Agent
from reglue.errors import BadAgentReply, EnvironmentFault, OutOfDomain
from reglue.messages.agent_messages import Actions
from tests.error_facts import assert_named, raises
from tests.masked_doors import Doors, Last, Locks, Traps


class Told(Last):
    """Takes a shut door in the slots of `wrong`, once."""

    def __init__(self) -> None:
        super().__init__(partial=True)
        self.wrong: set[int] = set()

    def turn(self, turn: Any) -> Any:
        answer = super().turn(turn)
        if not answer:
            return answer
        asked = [*turn.steps.slots.tolist(), *turn.starts.slots.tolist()]
        shown = turn.observations["action_mask"][len(turn.ends) :]
        actions = answer.arrays["action"].copy()
        for row, slot in enumerate(asked):
            if slot in self.wrong:
                actions[row] = self._mask.first(shown[row : row + 1] == 0)[0]
                self.wrong.remove(slot)
        return Actions({"action": actions})


@contextmanager
def program(agent: Agent, env: type[Doors] = Doors, slots: int = 3) -> Iterator[Glue]:
    suite = suite_of(env)
    assert suite is not None
    with Glue(environment=suite, agent=agent, slots=slots) as rl:
        rl.init()
        yield rl


@pytest.mark.parametrize("env", [Doors, Locks])
def test_a_step_raises_the_agents_fault_and_the_others_go_on(env: type[Doors]) -> None:
    agent = Told()
    with program(agent, env) as rl, program(Last(partial=True), env) as whole:
        rl.start()
        whole.start()
        agent.wrong = {1}
        with raises(BadAgentReply, "slot 1", "'action_mask'") as caught:
            rl.step()
        assert caught.value.code == "OUT_OF_DOMAIN"
        whole.step()
        for _ in range(3):
            ours, others = rl.step(), whole.step()
            assert ours.slots == (0, 2)
            assert ours.rewards.tolist() == others.rewards[[0, 2]].tolist()
        rl.start([1])
        assert rl.step().slots == (0, 1, 2)


def test_an_episode_raises_it_too() -> None:
    agent = Told()
    with program(agent) as rl:
        agent.wrong = {0}
        with raises(BadAgentReply, "slot 0", "'action_mask'"):
            rl.episode()
        assert rl.episode()


def test_a_mask_that_allows_nothing_is_the_environments_fault() -> None:
    with program(Last(partial=True), Traps, slots=8) as rl:
        with pytest.raises(EnvironmentFault) as caught:
            rl.episode()
        assert_named(["'action_mask'", "which allows no action"], str(caught.value))


def test_half_steps_of_a_program_obey_the_newest_mask() -> None:
    with program(Last(partial=True), slots=2) as rl:
        [shown, _] = rl.env_start([0, 1]).observations["action_mask"]
        shut, is_open = int(shown.argmin()) + 1, int(shown.argmax()) + 1
        with raises(OutOfDomain, got=f"'action' = [{shut}]"):
            rl.env_step({"action": [shut]}, [0])
        assert rl.env_step({"action": [is_open]}, [0]).rewards.tolist() == [is_open]


def test_a_program_cannot_ask_for_an_action_where_none_is_legal() -> None:
    nothing: dict[str, Any] = {"seen": np.zeros((1, 2)), "action_mask": np.zeros((1, 5), np.int8)}
    one = {**nothing, "action_mask": np.eye(5, dtype=np.int8)[:1]}
    with program(Last(partial=True)) as rl:
        with raises(OutOfDomain, got="'action_mask' without a legal action"):
            rl.agent_start(nothing)
        assert rl.agent_start(one)["action"].tolist() == [1]
        with raises(OutOfDomain, got="'action_mask' without a legal action"):
            rl.agent_step([0.0], nothing)
        assert rl.agent_step([0.0], one)["action"].tolist() == [1]
        rl.agent_end([0.0], nothing)
