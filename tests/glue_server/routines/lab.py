"""Peers that do what a test tells them, write down what they are asked, and check it."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from glue_server import LocalEnvironmentPort, LocalPort, StateMachine, Timeouts
from glue_server.agent.agent_port import MoreTime
from reglue import Actions, Agent, Box, EndKind, TaskSpec, TensorSpec, Turn
from reglue.environments.environment import Environment
from reglue.errors import OutOfOrder, UnknownKey
from reglue.experiments.routines import Routines
from reglue.messages.agent_messages import Reply
from reglue.messages.environment_messages import Cell, Play, Played
from reglue.messages.experiment_messages import ExperimentCall
from tests.error_facts import raises

SPEC = TaskSpec(
    observations=(TensorSpec("seen", "float64", (2,)),),
    actions=(TensorSpec("push", "float32", (1,), Box((-1.0,), (1.0,))),),
)
PATIENT = Timeouts(first_step_s=30.0, step_s=30.0, environment_s=30.0)
_STATE = struct.Struct("<dd")


class Lab(Environment):
    """Observes (steps taken, sum of pushes); each step earns what it pushed.

    `fate` says what becomes of a slot's next step or start: "ends", "truncates",
    "succeeds", "pays" (1.7e308) or "fails"; it goes on where nothing is said, until `length` steps
    are taken.
    """

    portable = True
    whole_turns = False
    raw_actions = True  # what an action pushes is what its step earns
    length = 0  # 0 means no end

    def __init__(self, spec: TaskSpec = SPEC) -> None:
        self.calls: list[Any] = []
        self.fate: dict[int, str] = {}
        self.cells: list[Cell] = []
        self.broken = ""  # a routine that raises
        self._task = spec
        self._live: dict[int, tuple[float, float]] = {}

    def env_init(self, slots: int) -> TaskSpec:
        self._note("env_init", slots)
        self._live = {}
        return self._task

    def play(self, play: Play) -> Played:
        self._note("play", play.slots.tolist(), list(play.starts))
        played = Played.blank(self.spec, play)
        faults: dict[int, str] = {}
        for row, slot in enumerate(play.slots.tolist()):
            push = float(play.actions["push"][row, 0])
            fate = self.fate.pop(slot, "")
            taken, total = self._live.pop(slot)  # a step where no episode is on is an error
            if fate == "fails":
                faults[slot] = "the bulb burst"
                continue
            played.observations["seen"][row] = taken + 1, total + push
            played.rewards[row] = 1.7e308 if fate == "pays" else push
            played.terminated[row] = fate == "ends" or taken + 1 == self.length
            played.truncated[row] = fate == "truncates"
            played.success[row] = fate == "succeeds"
            if not (played.terminated[row] or played.truncated[row]):
                self._live[slot] = taken + 1, total + push
        for slot, cell in play.starts.items():
            self.cells.append(cell)
            self._live.pop(slot, None)
            if self.fate.pop(slot, "") == "fails":
                faults[slot] = "the bulb burst"
            else:
                self._live[slot] = 0.0, 0.0
        return replace(played, faults=faults)

    def env_get_state(self, slot: int) -> bytes:
        self._note("get_state", slot)
        if slot not in self._live:
            raise OutOfOrder(got="no episode", wanted="one")
        return _STATE.pack(*self._live[slot])

    def env_set_state(self, slot: int, state: bytes) -> None:
        self._note("set_state", slot, state)
        if len(state) != _STATE.size:
            raise UnknownKey(got=f"{len(state)} bytes", wanted=f"{_STATE.size}")
        self._live[slot] = _STATE.unpack(state)

    def env_get_random_seed(self, slot: int) -> bytes:
        self._note("get_random_seed", slot)
        return b"seed"

    def env_set_random_seed(self, slot: int, seed: bytes) -> None:
        self._note("set_random_seed", slot, seed)
        assert seed == b"seed"

    def env_standardize_randomness(self, seed: int) -> None:
        self._note("standardize", seed)

    def env_message(self, message: str) -> str:
        self._note("message", message)
        return f"env {message}"

    def env_cleanup(self) -> None:
        self._note("cleanup")

    def _note(self, routine: str, *given: Any) -> None:
        self.calls.append((routine, *given))
        if self.broken == routine:
            raise RuntimeError(f"{routine} is broken")


class Course(Lab):
    """Two tasks; each episode takes two steps."""

    length = 2

    @property
    def variants(self) -> Mapping[str, int]:
        return {"hall": 3, "yard": 2}


class Actor(Agent):
    """Pushes 0.5 in slot 0, 0.25 in slot 1, and so on, and checks every turn.

    `fault` says how it answers the next turn that asks for actions: "nan", "gives up"
    (each in the first row), "too many", "raises" or "Done".
    """

    def __init__(self, *, partial: bool = False, episodic: bool = True, most: int = 0) -> None:
        self.partial_turns = partial
        self.episodic = episodic
        self.max_slots = most
        self.calls: list[Any] = []
        self.turns: list[Turn] = []
        self.fault = ""
        self.sends_too_many = False  # as a faulty SDK does; ours refuses
        self.broken = ""  # a routine that raises
        self._acting: set[int] = set()

    def agent_init(self, spec: TaskSpec) -> None:
        self._acting = set()
        self._note("init", spec.slots)

    def turn(self, turn: Turn) -> Any:
        ends, steps, starts = (part.slots.tolist() for part in (turn.ends, turn.steps, turn.starts))
        self._note("turn", ends, steps, starts)
        self.turns.append(turn)
        assert {*ends, *steps} <= self._acting, "an end or a step where the agent does not act"
        assert self.partial_turns or {*ends, *steps, *starts} >= self._acting, "not a whole turn"
        for part in (ends, steps, starts):
            assert part == sorted(part), "slots are in their order"
        asked = [*steps, *starts]
        self._acting = (self._acting - {*ends}) | {*asked}
        push = np.array([[0.5**slot / 2] for slot in asked], np.float32)
        return self._answer(asked, push) if asked else {}

    def _answer(self, asked: list[int], push: Any) -> Any:
        fault, self.fault = self.fault, ""
        match fault:
            case "nan":
                push[0] = np.nan
                self._acting.discard(asked[0])
            case "gives up":
                self._acting.discard(asked[0])
                return Actions({"push": push}, abandon=(asked[0],))
            case "too many":
                self._acting -= {*asked}
                self.sends_too_many = True
            case "raises":
                self._acting = set()
                raise RuntimeError("the agent fell")
            case "far":
                push[:] = 4.0
        return push

    def agent_freeze(self) -> None:
        self._note("freeze")

    def agent_message(self, message: str) -> str:
        self._note("message", message)
        return f"agent {message}"

    def agent_cleanup(self) -> None:
        self._note("cleanup")

    def _note(self, routine: str, *given: Any) -> None:
        self.calls.append((routine, *given))
        if self.broken == routine:
            self._acting = set()
            raise RuntimeError(f"{routine} is broken")


class Learner(Actor):
    """One that adapts."""

    def adapt_begin(self) -> None:
        self._note("adapt_begin")

    def adapt(self) -> None:
        self._note("adapt")


class ToldPort(LocalPort):
    """Remembers its refusals."""

    def __init__(self, actor: Actor) -> None:
        super().__init__(actor, "actor")
        self.refusals: list[str] = []
        self._actor = actor

    def receive(self, timeout_s: float, more_s: MoreTime | None = None) -> Reply:
        reply = super().receive(timeout_s)
        if self._actor.sends_too_many and isinstance(reply, Actions):
            self._actor.sends_too_many = False
            return Actions({"push": np.zeros((len(reply.arrays["push"]) + 1, 1))})
        return reply

    def refuse(self, refused: Any) -> None:
        self.refusals.append(refused.code)


class Bench(Routines):
    """A program with its lab and its actor, in this process."""

    def __init__(
        self, *, slots: int = 1, seed: int = 0, lab: Lab | None = None, actor: Actor | None = None
    ) -> None:
        super().__init__(slots=slots, seed=seed)
        self.slots = range(slots)
        self.lab = lab or Lab()
        self.actor = actor or Actor()
        self.port = ToldPort(self.actor)
        environment = LocalEnvironmentPort(self.lab, "lab")
        self.machine = StateMachine(environment, self.port, timeouts=PATIENT)

    def _call(self, call: ExperimentCall) -> object:
        return self.machine.run(call)

    def asked(self) -> tuple[list[Any], list[Any]]:
        """The calls to both since the last look."""
        calls = self.lab.calls[:], self.actor.calls[:]
        self.lab.calls.clear()
        self.actor.calls.clear()
        return calls

    def counts(self) -> list[tuple[float, int, int]]:
        """(return, steps, episodes) of each slot."""
        return [
            (self.return_(slot=slot), self.num_steps(slot=slot), self.num_episodes(slot=slot))
            for slot in self.slots
        ]


def ends_of(actor: Actor, before: int = 0) -> list[tuple[int, EndKind]]:
    """Every end that it was told, after so many turns."""
    return [
        (slot, EndKind(kind))
        for turn in actor.turns[before:]
        for slot, kind in zip(turn.ends.slots.tolist(), turn.ends.kinds.tolist(), strict=True)
    ]


def seen(step: float, total: float, rows: int = 1) -> Mapping[str, Any]:
    """Observations that a program gives."""
    return {"seen": [[step, total]] * rows}


def begun(**more: Any) -> Bench:
    """A program that has initialised; nobody was asked since."""
    bench = Bench(**more)
    bench.init()
    bench.asked()
    return bench


def started(**more: Any) -> Bench:
    """A program that has started; nobody was asked since."""
    bench = begun(**more)
    bench.start()
    bench.asked()
    return bench


def refused(
    bench: Bench, routine: Callable[[], object], kind: type[Exception], *named: object
) -> None:
    """It raises that, which names these, asks nobody and changes no count."""
    before = bench.counts()
    bench.asked()
    with raises(kind, *named):
        routine()
    assert bench.asked() == ([], [])
    assert bench.counts() == before


ROUTINES: dict[str, Callable[[Bench], object]] = {
    "RL_start": lambda rl: rl.start(),
    "RL_step": lambda rl: rl.step(),
    "RL_episode": lambda rl: rl.episode(3),
    "RL_cleanup": lambda rl: rl.cleanup(),
    "RL_freeze": lambda rl: rl.freeze(),
    "RL_adapt_begin": lambda rl: rl.adapt_begin(),
    "RL_adapt": lambda rl: rl.adapt(),
    "RL_tasks": lambda rl: rl.tasks,
    "RL_iterate_goal": lambda rl: rl.iterate_goal(),
    "RL_standardize_randomness": lambda rl: rl.standardize_randomness(),
    "RL_get_state": lambda rl: rl.get_state(),
    "RL_set_state": lambda rl: rl.set_state("key"),
    "RL_get_random_seed": lambda rl: rl.get_random_seed(),
    "RL_set_random_seed": lambda rl: rl.set_random_seed("key"),
    "RL_env_start": lambda rl: rl.env_start(),
    "RL_env_step": lambda rl: rl.env_step({"push": [[0.0]]}),
    "RL_agent_start": lambda rl: rl.agent_start(seen(0, 0)),
    "RL_agent_step": lambda rl: rl.agent_step([0.0], seen(0, 0)),
    "RL_agent_end": lambda rl: rl.agent_end([0.0], seen(0, 0)),
}
"""Everything that needs RL_init, in slot 0."""
