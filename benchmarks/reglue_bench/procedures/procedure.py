"""The interface of procedures: one owns the units of a plan, and how they are played and judged."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, ClassVar, Protocol, Self, TypeAlias, TypeVar, overload

from pydantic import BaseModel, ValidationError

from glue_server import LOST, EpisodeRunner, Order, Outcome
from reglue.error_message import printable
from reglue.errors import AgentFault, BadArgument, EnvironmentFault
from reglue_bench.plan_settings import PlanSettings
from reglue_bench.plans.keys import PUBLIC
from reglue_bench.plans.plan import Parameter, Plan, PlanCell

_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class Todo:
    """A unit to play. `attempt` says how often it was begun before: a session that was killed, or
    whose unit is to be played again, began it. Within a session each unit is played once.
    """

    unit: int
    attempt: int


@dataclass(frozen=True, slots=True)
class Todos(Sequence[Todo]):
    """Units to play, in their order; 8 bytes each, as there may be millions."""

    units: array[int]
    attempts: array[int]  # which try of it is next

    def __len__(self) -> int:
        return len(self.units)

    @overload
    def __getitem__(self, place: int) -> Todo: ...

    @overload
    def __getitem__(self, place: slice) -> Todos: ...

    def __getitem__(self, place: int | slice) -> Todo | Todos:
        if isinstance(place, slice):
            return Todos(self.units[place], self.attempts[place])
        return Todo(self.units[place], self.attempts[place])

    @property
    def tried(self) -> dict[int, int]:
        """The try of each unit that was begun before."""
        pairs = zip(self.units, self.attempts, strict=True)
        return {unit: attempt for unit, attempt in pairs if attempt}

    def again(self, units: Collection[int]) -> Todos:
        """These units, each with its next try."""
        pairs = zip(self.units, self.attempts, strict=True)
        return Todos(self.units, array("I", (tried + (unit in units) for unit, tried in pairs)))

    def without(self, units: Collection[int]) -> Todos:
        """All units but these."""
        return self._at(place for place, unit in enumerate(self.units) if unit not in units)

    def dealt(self, agents: int) -> Iterator[Todos]:
        """The units of each agent that has any: agent `u % agents` plays unit u."""
        if agents == 1:
            return iter([self])
        shares: dict[int, array[int]] = {}
        for place, unit in enumerate(self.units):
            shares.setdefault(unit % agents, array("I")).append(place)
        return map(self._at, shares.values())

    def _at(self, places: Iterable[int]) -> Todos:
        selected = array("I", places)
        return Todos(
            array("I", (self.units[place] for place in selected)),
            array("I", (self.attempts[place] for place in selected)),
        )


Begin: TypeAlias = Callable[[Todo], None]
"""Gets each unit when it begins: from now on its agent may have seen an episode of it."""

Record: TypeAlias = Callable[[Todo, Sequence[Outcome]], None]
"""Commits a unit's outcomes, all at once."""

Watch: TypeAlias = Callable[[Outcome, str], None]
"""Gets each outcome and its phase (a key of PHASES) at once, committed or not."""

MakeOrder: TypeAlias = Callable[[int, PlanCell], Order]


class Agents(Protocol):
    """Gives a procedure the agents that it plays with."""

    def fresh(self) -> EpisodeRunner:
        """The glue, with an agent that has played no unit yet.

        If agents are processes that are started here, each call starts a new one and ends
        the one before. Otherwise there is one agent, and its `agent_init` makes it
        naive again. Raises AgentFault if none connects.
        """

    def explain(self, fault: AgentFault) -> str:
        """Describe a fault, with the agent's output."""

    def go_on(self, fault: AgentFault) -> None:
        """The agent was lost: raise `fault` unless another can be started."""


@dataclass(frozen=True, slots=True)
class TrainedAgent:
    """Gives a judge the agent that has been trained; see Agents."""

    agents: Agents
    glue: EpisodeRunner

    def fresh(self) -> EpisodeRunner:
        """The same agent, which keeps what it has learned."""
        return self.glue

    def explain(self, fault: AgentFault) -> str:
        return self.agents.explain(fault)

    def go_on(self, fault: AgentFault) -> None:
        """There is no other agent that has learned this."""
        raise fault


class Procedure(ABC):
    """A way to play and judge a plan: the agents' learning, the judged episodes and the measure.

    A package registers a class of its own as an entry point of the group `reglue.procedures`;
    the entry point's name is the procedure's, as in `NAME:ENVIRONMENT`. What a procedure does not
    define is as for a frozen agent whose episodes are judged one by one.
    """

    about: ClassVar[str]
    """A line of the report on what it does."""

    settings: ClassVar[type[BaseModel]]
    """Its parameters. They are flags of `reglue bench` if they are part of Settings; else they
    are given as `--procedure-arg KEY=VALUE`."""

    unit: ClassVar[str] = "unit"
    """The name of a unit: `wave` or `run`; `unit` if it is a single episode."""

    slots_setting: ClassVar[str] = "slots"
    """The setting that says how many slots there are."""

    workers: ClassVar[int | None] = None
    """The default number of processes for its environments; None: as measured steps say."""

    keeps_rewards: ClassVar[bool] = False
    """Whether each step's reward is kept, beside the return."""

    adapts: ClassVar[bool] = False
    """Whether its agents have to say that they adapt."""

    hides_rewards: ClassVar[bool] = True
    """Whether its agents can play without rewards while they are judged (`--hide-rewards`)."""

    compares_goals: ClassVar[bool] = False
    """Whether its agents are compared on the same goals, which an environment must repeat."""

    counts_steps: ClassVar[bool] = False
    """Whether a cell tells its environment how many steps its unit has taken before."""

    judges_success: ClassVar[bool] = True
    """Whether the score is success; the return is the score only without reported success."""

    endless: ClassVar[Mapping[str, object]] = MappingProxyType({})
    """The settings that play a continuing task, as `--describe` has them; empty: it cannot."""

    trains_first: ClassVar[bool] = True
    """Whether `--train-steps` may train its agents before they are judged."""

    scored_by: ClassVar[str] = "reglue_bench.results.scoring:score"
    """The function that scores its runs: it gets the procedure and ScoreInputs.

    This and what follows is `module:name`, which is imported where it is used: a process that
    plays needs none of it.
    """

    counted_by: ClassVar[str] = "reglue_bench.terminal.tally:JudgedTally"
    """The Tally that counts its runs as they are played."""

    _known: tuple[int, Sequence[PlanCell]] = (-1, ())  # the unit of the last call

    @classmethod
    @abstractmethod
    def parameters(
        cls, settings: PlanSettings, variants: Mapping[str, int], /
    ) -> dict[str, Parameter]:
        """A plan's parameters. Raises UsageError for impossible settings."""

    @classmethod
    def slots(cls, settings: PlanSettings, default: int, /) -> int:
        """The default number of slots.

        Raises UsageError for a number that it cannot play.
        """
        return or_default(settings.slots, default)

    @classmethod
    def without_horizon(cls) -> dict[str, Parameter]:
        """Default parameters for environments that never truncate an episode."""
        return {}

    @classmethod
    def judged_by(cls, *, tells_success: bool) -> dict[str, Parameter]:
        """Parameters that say what a plan is judged by, given whether its environments report
        success.
        """
        is_by_return = cls.judges_success and not tells_success
        return {"judged_by": "return"} if is_by_return else {}

    @classmethod
    def measured_by(cls, parameters: Mapping[str, Any]) -> str:
        """The Measure by which plans of these parameters are judged."""
        if parameters.get("judged_by") == "return":
            return "reglue_bench.renderers.kinds:RETURN"
        return "reglue_bench.renderers.kinds:SUCCESS"

    @classmethod
    @abstractmethod
    def rehearsal(cls, plan: Plan, /) -> dict[str, object]:
        """Settings that make the plan short enough for `reglue try`."""

    @classmethod
    @abstractmethod
    def of(cls, plan: Plan) -> Self:
        """The procedure that plays a plan. Raises UsageError."""

    @property
    @abstractmethod
    def units(self) -> int:
        """The number of units of the plan. A unit is resumed as a whole."""

    @property
    def agents(self) -> int:
        """The number of agents that may play at once; agent `u % agents` plays unit u."""
        return 1

    @property
    @abstractmethod
    def goals(self) -> int:
        """The number of (task, variant) of the benchmark, planned or not."""

    @property
    def training_trial(self) -> tuple[int, ...]:
        """A training trial's numbers of episodes: before each `adapt`, and after the last one.

        Empty: its agents train on one episode after another, and are not asked to adapt.
        """
        return ()

    @abstractmethod
    def cells(self, unit: int) -> Sequence[PlanCell]:
        """The episodes of a unit, k = 0, 1, …; a pure function.

        Empty if their number is open, as in a run that is counted in steps.
        """

    def cell(self, unit: int, k: int) -> PlanCell:
        """Episode k of a unit."""
        if self._known[0] != unit:
            self._known = (unit, self.cells(unit))
        return self._known[1][k]

    def steps_left(self, episodes: int, steps: int) -> float:
        """The most steps of a unit's next episode, after these of both; 0: the unit is over."""
        return math.inf

    def after_steps(self, order: Order, steps: int) -> Order:
        """The order of an episode that begins after so many steps of its unit, if cells tell it."""
        return replace(order, cell=replace(order.cell, steps=steps)) if self.counts_steps else order

    @abstractmethod
    def play(
        self,
        agents: Agents,
        todo: Sequence[Todo],
        *,
        order: MakeOrder,
        begin: Begin,
        record: Record,
        watch: Watch,
    ) -> None:
        """Play the units once each, say that each begins, and record it when it is whole.

        When the agent is lost, its fault is recorded for the units in play, and raised
        unless the next unit has an agent of its own.
        """


@contextmanager
def recorded(
    todo: Todo,
    record: Record,
    outcomes: Callable[[str, str], Sequence[Outcome]],
    played: Iterable[Outcome],
) -> Iterator[None]:
    """Record a unit that these lines play, also if its agent or its environment is lost.

    `outcomes` gets the status and detail of what was not played. If none of `played`, which is read
    then, was lost with its environment, the unit has no row, and is another try.
    """
    try:
        yield
    except AgentFault as fault:
        record(todo, outcomes(fault.status, str(fault)))
        raise
    except (EnvironmentFault, KeyboardInterrupt):
        if lost := [each.detail for each in played if each.status == LOST]:
            record(todo, outcomes(LOST, lost[0]))
        raise
    record(todo, outcomes("", ""))


def or_default(value: _Value | None, default: _Value) -> _Value:
    """The value, or the default if it is None."""
    return default if value is None else value


def plan_parameters(settings: type[BaseModel], plan: Plan) -> dict[str, Any]:
    """The parameters of a procedure in a plan, as keywords; `settings` names them.

    Raises BadArgument if they are not as its settings say: a plan may be a stranger's.
    """
    values = {name: each for name, each in plan.parameters.items() if name in settings.model_fields}
    try:
        settings.model_validate(values, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        name, got = ".".join(map(str, first["loc"])), printable(repr(first["input"]))[:100]
        raise BadArgument(f"its plan: {name}: got {got}: {first['msg']}") from error
    return values


def secret_order(plan: Plan) -> bytes:
    """The key of a run's own order of its plan's episodes; empty without a secret."""
    return b"" if plan.cells == PUBLIC else bytes.fromhex(plan.order_key)


def shows_tasks(plan: Plan) -> bool:
    """Whether its agents see which task they play: by a one-hot, by name or by an instruction."""
    return any(plan.parameters.get(name) for name in ("one_hot", "reveal_tasks", "instruction"))
