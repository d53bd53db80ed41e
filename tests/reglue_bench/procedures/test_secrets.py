"""What an agent is sent by a procedure depends on no secret of its host."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from glue_server import EpisodeRunner, Order, Timeouts
from reglue import Agent
from reglue.errors import AgentFault
from reglue.v1 import agent_pb2 as pb
from reglue_bench.plans.keys import Submission, cell_key
from reglue_bench.plans.plan import PlanCell
from reglue_bench.procedures import Todo, procedure_of
from tests.glue_server.episodes.test_secrets import Tap
from tests.glue_server.playing import local
from tests.reglue_bench.toys import corridor_plan
from tests.worlds import Corridor


class Still(Agent):
    """Acts the same whatever it is sent."""

    adapts = True  # so that meta-learning takes it; it learns nothing

    def agent_start(self, observations, starts):  # type: ignore[no-untyped-def]
        return np.zeros((len(starts), 1))

    def agent_step(self, rewards, observations, steps):  # type: ignore[no-untyped-def]
        return np.zeros((len(steps), 1))


class OneAgent:
    """Who plays a procedure here."""

    def __init__(self, glue: EpisodeRunner) -> None:
        self._glue = glue

    def fresh(self) -> EpisodeRunner:
        return self._glue

    def explain(self, fault: AgentFault) -> str:
        return str(fault)

    def go_on(self, fault: AgentFault) -> None:
        raise fault


def played_under(secret: str, procedure: str, names: str) -> tuple[list[bytes], list[str]]:
    """All that an agent is sent in a run whose tasks look alike, and the tasks that it plays."""
    solved = {name: [2] * 3 for name in names.split()}
    plan = corridor_plan(procedure, solved=solved, slots=4, reveal_tasks=False)
    submission = Submission.new(plan.seed, secret)
    plan = replace(plan, order_key=submission.order.hex())
    tap, clock, tasks = Tap(Still()), itertools.count(), list[str]()
    glue = EpisodeRunner(
        tap,
        local(Corridor(solved=solved), 4),
        timeouts=Timeouts(first_step_s=1.0, step_s=1.0),
        clock=lambda: float(next(clock)),
    )

    def order(unit: int, cell: PlanCell) -> Order:
        asked: Order = plan.order(unit, cell, submission.starts, cell_key(secret))
        tasks.append(asked.cell.task)
        return asked

    made = procedure_of(plan)
    todo = [Todo(unit, 0) for unit in range(made.units)]
    made.play(OneAgent(glue), todo, order=order, record=lambda *_: None, watch=lambda *_: None)
    return tap.sent, tasks


@pytest.mark.parametrize("procedure", ["multi-task", "meta-learning"])
def test_under_two_secrets_nothing_but_start_seeds_differs(procedure: str) -> None:
    """Not the order of trials, nor how many bytes a message has."""
    one, tasks = played_under("a host's first secret", procedure, "a b c")
    other, others = played_under("a host's other secret", procedure, "attic kitchen yard")
    places = {"attic": "a", "kitchen": "b", "yard": "c"}
    assert tasks != [places[task] for task in others]
    assert [len(each) for each in one] == [len(each) for each in other]
    assert one != other
    assert [without_seeds(each) for each in one] == [without_seeds(each) for each in other]


def without_seeds(sent: bytes) -> bytes:
    message = pb.AgentCall.FromString(sent)
    del message.turn.start_seeds[:]
    return message.SerializeToString()
