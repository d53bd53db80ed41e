"""Refusals to a benchmark program in each language that chooses goals and lets an agent adapt: the
same words everywhere, and nothing has changed.

The programs are those of `reglue conformance`, which an agent tells what to call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy.typing as npt
import pytest

from glue_server import Glue
from reglue.agents.agent import Agent
from reglue.client import connect
from reglue.conformance.experiment_under_test import ConformanceExperiment
from reglue.environments.slot_worlds import Worlds
from reglue.messages.agent_messages import Turn
from reglue.spec import TaskSpec
from tests.agent_clients.client_programs import LANGUAGES, conformance_program, run
from tests.glue_server.hubs import a_hub
from tests.glue_server.playing import still
from tests.worlds import Corridor

pytestmark = pytest.mark.timeout(900)  # the first test compiles clients

CORRIDOR = Corridor(solved={"walk": [0, 0], "run": [0]}, show=True)

BAD_INPUT = (  # an instruction, and the code it is refused with
    ("adapt_begin", "OUT_OF_ORDER"),  # before init
    ("adapt", "OUT_OF_ORDER"),
    ("tasks", "OUT_OF_ORDER"),
    ("iterate_goal", "OUT_OF_ORDER"),
    ("init 1 3", ""),
    ("episode 0", ""),
    ("adapt", "OUT_OF_ORDER"),  # before adapt_begin
    ("start", ""),
    ("adapt_begin", "OUT_OF_ORDER"),  # in mid-episode
    ("step", ""),
    ("episode 0", ""),
    ("adapt_begin", ""),
    ("adapt", "OUT_OF_ORDER"),  # with nothing to learn from
    ("start", ""),
    ("adapt", "OUT_OF_ORDER"),  # in mid-episode
    ("start of 1", "OUT_OF_ORDER"),  # while an episode is in play
    ("episode 0 of 0 run", "OUT_OF_ORDER"),
    ("env_start of 1 walk", "OUT_OF_ORDER"),
    ("iterate_goal", "OUT_OF_ORDER"),
    ("step", ""),
    ("episode 2", ""),
    ("adapt", ""),
    ("adapt", "OUT_OF_ORDER"),  # twice
    ("episode 0", ""),
    ("freeze", ""),
    ("adapt", "OUT_OF_ORDER"),  # after a freeze
    ("start of 0 nowhere", "OUT_OF_DOMAIN"),  # a goal that does not exist
    ("episode 0 of 2 walk", "OUT_OF_DOMAIN"),
    ("env_start of 4294967295", "OUT_OF_DOMAIN"),
    ("start of 1 run", "OUT_OF_DOMAIN"),  # of another task
    ("iterate_goal 1", "OUT_OF_DOMAIN"),  # in a slot that does not exist
    ("tasks", ""),
    ("iterate_goal", ""),
    ("episode 0", ""),
    ("adapt_begin", ""),
    ("episode 0 of 0 run", ""),
    ("adapt", ""),
)

CANNOT_ADAPT = (
    ("init 1 3", ""),
    ("adapt_begin", "NOT_SUPPORTED"),
    ("adapt", "NOT_SUPPORTED"),
    ("episode 2", ""),
    ("adapt_begin", "NOT_SUPPORTED"),
    ("freeze", ""),
    ("episode 0 of 1", ""),
    ("adapt", "NOT_SUPPORTED"),
    ("start", ""),
)


class Instructor(Agent):
    """Tells a program what to call, and records its refusals and the agent's calls."""

    adapts = True

    def __init__(self, instructions: Sequence[str]) -> None:
        self._instructions = iter(instructions)
        self.refusals: list[str] = []  # of each, or ""
        self.calls: list[object] = []

    def agent_init(self, spec: TaskSpec) -> None:
        self.calls.append("init")

    def turn(self, turn: Turn) -> npt.NDArray[Any]:
        seen = turn.observations["observation"].tolist()  # with task and variant
        self.calls.append((turn.phase, seen, turn.ends.slots.tolist(), turn.starts.seeds.tolist()))
        return still(turn)

    def adapt_begin(self) -> None:
        self.calls.append("adapt_begin")

    def adapt(self) -> None:
        self.calls.append("adapt")

    def agent_freeze(self) -> None:
        self.calls.append("freeze")

    def agent_message(self, message: str) -> str:
        if message != "did nothing":  # which comes first
            _, _, refusal = message.partition("did refused ")
            self.refusals.append(refusal)
        return next(self._instructions, "leave")


class Fixed(Instructor):
    """An agent without adaptation, like that of an older client."""

    adapts = False


def at_once(agent: Instructor) -> Instructor:
    """The agent, after all its instructions in this process."""
    with Glue(environment=CORRIDOR, agent=agent) as rl:
        ConformanceExperiment(rl).run()
    return agent


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    ("kind", "table"), [(Instructor, BAD_INPUT), (Fixed, CANNOT_ADAPT)], ids=["bad input", "fixed"]
)
def test_refusals_have_the_same_words_in_every_language_and_change_nothing(
    kind: type[Instructor],
    table: Sequence[tuple[str, str]],
    language: str,
    libreglue: Mapping[str, str],
) -> None:
    agent = kind([instruction for instruction, _ in table])
    program = conformance_program(language, "experiment")
    with ThreadPoolExecutor(2) as pool, a_hub() as (server, _):
        for role, peer in (("agent", agent), ("environment", Worlds(CORRIDOR))):
            pool.submit(connect, peer, server.address, server.tokens[role])
        where = {"REGLUE_ADDRESS": server.address, "REGLUE_TOKEN": server.tokens["experiment"]}
        run(*program, environment={**where, **libreglue})
    here = at_once(kind([instruction for instruction, _ in table]))
    legal = at_once(kind([instruction for instruction, code in table if not code]))
    assert agent.refusals == here.refusals
    assert [refused.partition(" ")[0] for refused in agent.refusals] == [code for _, code in table]
    assert agent.calls == here.calls == legal.calls
    if kind is Fixed:
        assert all("'Fixed'" in refused for refused in filter(None, agent.refusals))
