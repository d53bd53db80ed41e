"""An agent's description of itself, and its lacks."""

from __future__ import annotations

import pytest

from reglue import Agent
from reglue.agents.adaptation import check_agent
from reglue.agents.agent import hello
from reglue.errors import NotAnAgent
from tests.error_facts import raises


def test_a_long_name_is_cut_to_what_the_contract_allows() -> None:
    assert len(hello(Agent(), "x" * 300).agent) == 200


def test_who_has_no_method_to_adapt_does_not_say_that_it_adapts() -> None:
    class Plain(Agent):
        """Plays."""

    class Adapting(Agent):
        def adapt(self) -> None:
            """Learn."""

    class Baseline(Agent):
        adapts = True

    said = [hello(agent, "x").adapts for agent in (Plain(), Adapting(), Baseline())]
    assert said == [False, True, True]


def test_hello_tells_what_the_agent_can_do() -> None:
    class Small(Agent):
        max_slots = 4
        partial_turns = True

        @property
        def adapts(self) -> bool:
            return False

    said = hello(Small(), "small")
    assert (said.max_slots, said.partial_turns, said.adapts) == (4, True, False)


@pytest.mark.parametrize("missing", ["agent_start", "agent_step"])
def test_a_method_that_is_missing_is_named(missing: str) -> None:
    other = {"agent_start", "agent_step"} - {missing}
    made = type("Half", (Agent,), {name: lambda *_: [] for name in other})
    with raises(NotAnAgent, "Half", f"lacks {missing}()"):
        check_agent(made())


def test_an_agent_with_turn_needs_no_other_method() -> None:
    check_agent(type("Whole", (Agent,), {"turn": lambda *_: {}})())
