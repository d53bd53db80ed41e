"""The recipe in the refusal of an agent that cannot adapt: that of its own language."""

from __future__ import annotations

import pytest

from glue_server.agent.capability import adapting_agent
from reglue.messages.agent_messages import AgentHello


@pytest.mark.parametrize(
    ("sdk", "named"),
    [
        ("reglue-python 0.1.0", ["Python"]),
        ("reglue-typescript 0.1.0", ["TypeScript"]),
        ("reglue-cpp 0.1.0", ["C++"]),
        ("reglue-c 0.1.0", ["C"]),
        ("reglue-julia 0.1.0", ["Julia"]),
        ("somebody's own", []),
        ("", []),
    ],
)
def test_a_refusal_says_how_an_agent_of_that_sdk_declares_that_it_adapts(
    sdk: str, named: list[str]
) -> None:
    wanted = adapting_agent(AgentHello("agent", sdk))
    languages = ["Python", "TypeScript", "C++", "C", "Julia"]
    assert [name for name in languages if f"{name}: " in wanted] == named
