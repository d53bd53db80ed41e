"""A procedure's messages to an agent depend on no secret of its host."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from env_adapters import Cell
from glue_server import EpisodeRunner, Order, Outcome, Timeouts
from glue_server.agent.agent_port import MoreTime
from reglue import Agent, Step, Turn
from reglue.errors import AgentFault
from reglue.messages.agent_messages import UNLIMITED, Actions, Budget, Call, Reply
from reglue.spec import Arrays
from reglue.v1 import agent_pb2 as pb
from reglue_bench.benchmark.benchmark import make_plan
from reglue_bench.plans.keys import Submission, cell_key, training_key
from reglue_bench.plans.plan import PlanCell
from reglue_bench.procedures import Todo, procedure_of
from reglue_bench.settings import read_settings
from tests.glue_server.episodes.test_episode_secrets import Tap
from tests.glue_server.playing import local
from tests.worlds import Corridor, Walk

ALIKE = (2, 2, 2)
SECRETS = ("a host's first secret", "a host's other secret")
PLACES = {"attic": "a", "kitchen": "b", "yard": "c"}

META = {"meta_batch_size": 4, "adaptation_episodes": 2, "num_evals": 2, "slots": None}
TRAINED = {"train_steps": 60, "eval_every": 30, "eval_episodes": 4}


class Still(Agent):
    """Acts the same whatever it is sent."""

    adapts = True  # so that meta-learning takes it; it learns nothing
    turns = 0

    def turn(self, turn: Turn) -> Any:
        self.turns += 1
        return np.zeros((len(turn.steps) + len(turn.starts), 1))


class Erring(Still):
    """Acts out of bounds, plays what is no number, and gives up."""

    def turn(self, turn: Turn) -> Any:
        actions = super().turn(turn)
        if not len(actions):
            return actions
        match self.turns % 7:
            case 2:
                actions[0] = 7.5
            case 3:
                actions[-1] = np.nan
            case 6:
                slot = int([*turn.steps.slots, *turn.starts.slots][0])
                return Actions({"action": actions}, abandon=(slot,))
        return actions


class Lagging(Tap):
    """Answers each fifth turn only when the next call has come."""

    def __init__(self, agent: Agent) -> None:
        super().__init__(agent)
        self._turns = 0
        self._is_late = False
        self._kept: Any = None

    def send(self, call: Call, budget: Budget = UNLIMITED) -> None:
        kept, self._kept = self._kept, None
        if kept is not None:
            self._line.say(kept)
        self._turns += isinstance(call, Turn)
        self._is_late = isinstance(call, Turn) and self._turns % 5 == 4
        super().send(call, budget)

    def arrive(self, reply: Any) -> None:
        if self._is_late:
            self._kept = reply
        else:
            super().arrive(reply)

    def receive(self, timeout_s: float, more_s: MoreTime | None = None) -> Reply | None:
        return self.taken(timeout_s) if self._kept is not None else super().receive(timeout_s)


class Telling(Corridor):
    """A corridor whose rewards and successes tell the task and the variant."""

    def __init__(self, **corridor: Any) -> None:
        super().__init__(**corridor)
        self.spec = replace(self.spec, rewards_in_evaluation=True, reward_range=(0.0, 40.0))

    def world(self) -> Walk:
        return Paying(self)


class Paying(Walk):
    def start(self, cell: Cell) -> Arrays:
        self._worth = 10.0 * [*self._corridor.solved].index(cell.task) + cell.variant
        return super().start(cell)

    def step(self, action: Arrays) -> Step:
        return replace(super().step(action), reward=self._worth)


class OneAgent:
    """The player of a procedure here."""

    def __init__(self, glue: EpisodeRunner) -> None:
        self._glue = glue

    def fresh(self) -> EpisodeRunner:
        return self._glue

    def explain(self, fault: AgentFault) -> str:
        return str(fault)

    def go_on(self, fault: AgentFault) -> None:
        raise fault


class Played:
    """A run under a secret: all that its agent is sent, and what it plays."""

    def __init__(
        self, secret: str, procedure: str, tap: Tap, suite: type[Corridor], **options: Any
    ) -> None:
        """The tasks have other names for each secret, and `solved` says how they succeed."""
        names = "abc" if secret == SECRETS[0] else PLACES
        steps: Sequence[Sequence[int]] = options.pop("solved", (ALIKE,) * 3)
        solved = dict(zip(names, steps, strict=True))
        settings: Mapping[str, Any] = {"slots": 4, **options}
        settings = {name: value for name, value in settings.items() if value is not None}
        arguments = {"solved": {task: [*of] for task, of in solved.items()}}
        self.asked = read_settings(
            benchmark=f"{procedure}:{suite.__module__}:{suite.__qualname__}",
            secret=secret,
            environment_args=arguments,
            **settings,
        )
        plan, submission = make_plan(self.asked), Submission.new(0, secret)
        plan = replace(plan, order_key=submission.order.hex())
        if plan.procedure == "training":
            plan = replace(plan, training_key=training_key(0, secret, None).hex())
        clock = itertools.count()
        glue = EpisodeRunner(
            tap,
            local(suite(solved=solved), plan.slots),
            timeouts=Timeouts(first_step_s=0.02, step_s=0.02, plays_defaults=True),
            clock=lambda: float(next(clock)),
        )
        glue.hides_rewards = plan.hides_rewards
        self.cells: list[tuple[str, int]] = []
        self.outcomes: list[Outcome] = []

        def order(unit: int, cell: PlanCell) -> Order:
            made = plan.order(unit, cell, submission.starts, cell_key(secret))
            self.cells.append((PLACES.get(made.cell.task, made.cell.task), made.cell.variant))
            return made

        procedure_of(plan).play(
            OneAgent(glue),
            [Todo(unit, 0) for unit in range(procedure_of(plan).units)],
            order=order,
            begin=lambda _: None,
            record=lambda todo, outcomes: self.outcomes.extend(outcomes),
            watch=lambda *_: None,
        )
        self.sent = tap.sent


def differ_in_seeds_alone(one: Played, other: Played) -> None:
    assert one.cells != other.cells
    assert [len(each) for each in one.sent] == [len(each) for each in other.sent]
    assert one.sent != other.sent
    assert [without_seeds(each) for each in one.sent] == [without_seeds(e) for e in other.sent]


def without_seeds(sent: bytes) -> bytes:
    message = pb.AgentCall.FromString(sent)
    del message.turn.start_seeds[:]
    return message.SerializeToString()


@pytest.mark.parametrize("tap", [Tap, Lagging], ids=["in time", "late"])
@pytest.mark.parametrize("agent", [Still, Erring])
@pytest.mark.parametrize(
    ("procedure", "options"),
    [
        ("multi-task", {"num_episodes": 6}),
        ("evaluate", {"num_episodes": 6}),
        ("meta-learning", META),
        ("multi-task", {"num_episodes": 3, **TRAINED}),
        ("meta-learning", {**META, "num_evals": 1, **TRAINED}),
    ],
    ids=["multi-task", "evaluate", "meta-learning", "training", "meta-training"],
)
def test_under_two_secrets_nothing_but_start_seeds_differs(
    procedure: str, options: dict[str, Any], agent: type[Agent], tap: type[Tap]
) -> None:
    """Not the order of trials, nor how many bytes a message has; also of an agent that errs."""
    runs = [Played(secret, procedure, tap(agent()), Corridor, **options) for secret in SECRETS]
    differ_in_seeds_alone(*runs)
    kinds = {pb.AgentCall.FromString(each).WhichOneof("call") for each in runs[0].sent}
    assert ("refusal" in kinds) == (agent is Erring)
    assert any(outcome.defaulted for outcome in runs[0].outcomes) == (tap is Lagging)


@pytest.mark.parametrize("variants", ["rotate", "per-run"])
@pytest.mark.parametrize("tap", [Tap, Lagging], ids=["in time", "late"])
def test_nor_in_online_runs(tap: type[Tap], variants: str) -> None:
    options = {"runs": 2, "episodes": 9, "slots": None, "variants": variants}
    differ_in_seeds_alone(
        *(Played(secret, "online", tap(Still()), Corridor, **options) for secret in SECRETS)
    )


@pytest.mark.parametrize("procedure", ["multi-task", "evaluate"])
def test_nor_where_rewards_and_successes_would_tell_and_are_hidden(procedure: str) -> None:
    """The tasks, in another order and of another difficulty, look all the same."""
    hidden: dict[str, Any] = {"num_episodes": 6, "hide_rewards": True, "hide_success_ends": True}
    solved = [((1, 2, 3), (0, 0, 0), (5, 4, 1)), ((0, 5, 0), (1, 1, 2), (0, 3, 0))]
    runs = [
        Played(secret, procedure, Tap(Still()), Telling, solved=of, **hidden)
        for secret, of in zip(SECRETS, solved, strict=True)
    ]
    differ_in_seeds_alone(*runs)
    won = [sum(outcome.success for outcome in run.outcomes) for run in runs]
    assert won[0] != won[1]


@pytest.mark.parametrize("shown", ["hide_rewards", "hide_success_ends"])
def test_what_is_not_hidden_is_seen(shown: str) -> None:
    """Guards the test above: rewards, or ends, alone would tell."""
    hidden = {"num_episodes": 6, "hide_rewards": True, "hide_success_ends": True, shown: None}
    solved = ((1, 2, 3), (0, 0, 0), (5, 4, 1))
    one, other = (
        Played(secret, "multi-task", Tap(Still()), Telling, solved=solved, **hidden)
        for secret in SECRETS
    )
    assert [without_seeds(each) for each in one.sent] != [without_seeds(e) for e in other.sent]
