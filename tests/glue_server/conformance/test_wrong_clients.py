"""A client that breaks a rule is found out by the check of that rule, and passes another."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from glue_server.conformance.kit import checks_of, run_checks
from glue_server.conformance.road import Road
from glue_server.conformance.stage import Stage
from glue_server.conformance.verdicts import Verdict
from reglue import Box, TaskSpec
from reglue.calls import Actions, Budget, Done, Farewell, Numbered, Refusal, Turn
from reglue.conformance import ConformanceAgent, ConformanceEnvironment
from reglue.environment_calls import Play, Played, Slots
from reglue.errors import Refused
from reglue.parts import AgentPart
from reglue.session import Session
from reglue.streams import Stream
from reglue.v1 import agent_pb2
from reglue.wire.agent_messages import encode_reply
from reglue.worlds import Cell
from tests.glue_server.conformance.thread_clients import Play as Plays
from tests.glue_server.conformance.thread_clients import ThreadClients, session_of
from tests.leftovers import nothing_left

PATIENCE_S = 1.0


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """Clients in this process say why they leave."""
    log = logging.getLogger("reglue")
    level = log.level
    log.setLevel(logging.CRITICAL)
    yield
    log.setLevel(level)


def verdicts(role: str, play: Plays, *names: str) -> dict[str, Verdict]:
    """What becomes of these checks."""
    checks = [check for name in names for check in checks_of(role, name)]
    with nothing_left(), Road() as road:
        stage = Stage(role, ThreadClients(play), road, patience_s=PATIENCE_S)
        return {each.name: each for each in run_checks(checks, [stage], lambda _: None)}


def found(role: str, play: Plays, by: str, also: str = "talk.texts") -> str:
    """The words of the check that finds it out; `also` is one that the client passes."""
    became = verdicts(role, play, by, also)
    assert became[also].passed, became[also].detail
    assert not became[by].passed, "nobody noticed"
    return became[by].detail


# Agents.


class Swapping(ConformanceAgent):
    """Answers starts before steps."""

    def turn(self, turn: Turn) -> Any:
        answer: Any = super().turn(turn)
        return {name: np.roll(rows, len(turn.starts), 0) for name, rows in answer.items()}


class Single(ConformanceAgent):
    """Shows its author single precision."""

    def turn(self, turn: Turn) -> Any:
        with np.errstate(over="ignore"):
            observations = {
                name: rows.astype(np.float32).astype(rows.dtype)
                for name, rows in turn.observations.items()
            }
        return super().turn(replace(turn, observations=observations))


class BigEndian(ConformanceAgent):
    """Takes bytes as they came, on a machine of the other order."""

    def turn(self, turn: Turn) -> Any:
        observations = {name: rows.byteswap() for name, rows in turn.observations.items()}
        return super().turn(replace(turn, observations=observations))


class Endless(ConformanceAgent):
    """Is told of no ends."""

    def agent_end(self, *_: Any) -> None:
        pass


class Unforgetting(ConformanceAgent):
    """Begins anew once."""

    def agent_init(self, spec: TaskSpec) -> None:
        if len(self._memory) != spec.slots:
            super().agent_init(spec)


class Unlimited(ConformanceAgent):
    """Hears of no budget."""

    @property
    def budget(self) -> Budget:
        return Budget()

    @budget.setter
    def budget(self, value: Budget) -> None:
        pass


class Rewarded(ConformanceAgent):
    """Sees zeros where rewards are withheld."""

    def _rewards(self, rewards: Any) -> Any:
        return np.frombuffer(np.nan_to_num(rewards).tobytes(), np.uint8).reshape(-1, 8)


class Clinging(ConformanceAgent):
    """Keeps the episodes that it should give up."""

    def turn(self, turn: Turn) -> Any:
        answer = super().turn(turn)
        return answer.arrays if isinstance(answer, Actions) else answer


class Small(ConformanceAgent):
    """Has few slots."""

    max_slots = 3


class Lossy(ConformanceAgent):
    """Passes on what is ASCII."""

    def agent_message(self, message: str) -> str:
        return super().agent_message(message).encode("ascii", "replace").decode()


class BoundLess(ConformanceAgent):
    """Tells its author of no bounds."""

    def agent_init(self, spec: TaskSpec) -> None:
        bare = tuple(replace(each, domain=Box()) for each in spec.observations)
        self.spec = replace(spec, observations=bare)
        super().agent_init(self.spec)


AGENTS: Mapping[str, tuple[type[ConformanceAgent], str]] = {
    "rows swapped": (Swapping, "turns.end-and-start"),
    "single precision": (Single, "tensors.float64"),
    "the other byte order": (BigEndian, "tensors.uint16"),
    "no ends": (Endless, "turns.ends"),
    "init forgets nothing": (Unforgetting, "talk.init-again"),
    "no budget": (Unlimited, "turns.budget"),
    "rewards that are withheld": (Rewarded, "turns.withheld"),
    "abandon is dropped": (Clinging, "turns.abandon"),
    "texts of ASCII": (Lossy, "talk.texts"),
    "no bounds": (BoundLess, "tensors.box"),
    "another hello": (Small, "join.hello"),
}


@pytest.mark.parametrize("what", AGENTS)
def test_a_wrong_agent_is_found_out(what: str) -> None:
    agent, check = AGENTS[what]
    assert "wanted" in found("agent", session_of(agent), check, "talk.message-first")


# Their sessions.


class Repeating(Session):
    """Carries a call out again that comes again."""

    def _next(self, stream: Stream) -> tuple[int, Any]:
        self._taken = -1
        return super()._next(stream)


class Forgetful(Session):
    """Remembers no answer."""

    def _remember(self, seq: int, answer: Any) -> None:
        pass


class Homeless(Session):
    """Comes back without saying what it answered."""

    @property
    def _taken(self) -> int:
        return 0

    @_taken.setter
    def _taken(self, seq: int) -> None:
        pass


class Giving(Session):
    """Leaves when its connection breaks."""

    def _play(self) -> str:
        return self._stream()


class Narrow(Session):
    """Takes messages of gRPC's own limit."""

    def _stream(self) -> str:
        self._ticket.max_message_bytes = 4 * 2**20
        return super()._stream()


class Stubborn(Session):
    """Opens its stream where it joined."""

    def _stream(self) -> str:
        self._ticket.address = ""
        return super()._stream()


class Insisting(Session):
    """Asks again when it was refused."""

    def play(self) -> str:
        try:
            return super().play()
        except Refused:
            return super().play()


class Unhurried(Session):
    """Takes no farewell."""

    def _next(self, stream: Stream) -> tuple[int, Any]:
        seq, call = super()._next(stream)
        if isinstance(call, Numbered) and isinstance(call.call, Farewell):
            raise ConnectionResetError("gone")
        return seq, call


SESSIONS: Mapping[str, tuple[type[Session], str]] = {
    "a repeated call is carried out again": (Repeating, "reconnect.answer-lost"),
    "answers are not remembered": (Forgetful, "reconnect.answer-lost"),
    "it does not say what it answered": (Homeless, "reconnect.two-answers-lost"),
    "it does not come back": (Giving, "reconnect.idle"),
    "max_message_bytes is ignored": (Narrow, "tensors.largest-turn"),
    "Ticket.address is ignored": (Stubborn, "join.elsewhere"),
    "it asks again and again": (Insisting, "join.place-taken"),
    "a farewell is no good end": (Unhurried, "farewell.at-once"),
}


@pytest.mark.parametrize("what", SESSIONS)
def test_a_wrong_session_is_found_out(what: str) -> None:
    session, check = SESSIONS[what]
    assert "wanted" in found("agent", session_of(ConformanceAgent, session=session), check)


# Their messages.


class Polite(AgentPart):
    """Answers refusals."""

    def answer(self, seq: int, call: Any) -> Any | None:
        if isinstance(call.call, Refusal):
            return encode_reply(seq, Done(), None)
        return super().answer(seq, call)


class Guessing(AgentPart):
    """Takes what it does not know for a call that returns nothing."""

    def read(self, message: Any) -> Numbered:
        if message.WhichOneof("call") is None:
            message.freeze.SetInParent()
        return super().read(message)


class Speechless(AgentPart):
    """Does not say why it fails."""

    def fault(self, seq: int, what: str) -> Any:
        return super().fault(seq, "")


class Misnumbered(AgentPart):
    """Answers under another number at times."""

    def answer(self, seq: int, call: Any) -> Any | None:
        return super().answer(seq + (seq == 9), call)


class Strict(AgentPart):
    """Refuses what a later minor version adds."""

    def read(self, message: Any) -> Numbered:
        known = agent_pb2.AgentCall.FromString(message.SerializeToString())
        known.DiscardUnknownFields()
        assert known == message, "unknown fields"
        return super().read(message)


PARTS: Mapping[str, tuple[type[AgentPart], str]] = {
    "refusals are answered": (Polite, "refusals.taken"),
    "an unknown call is answered": (Guessing, "broken.unknown-call"),
    "a fault without words": (Speechless, "faults.in-turn"),
    "another seq": (Misnumbered, "talk.once"),
    "unknown fields": (Strict, "talk.unknown-fields"),
}


@pytest.mark.parametrize("what", PARTS)
def test_a_wrong_part_is_found_out(what: str) -> None:
    part, check = PARTS[what]
    play = session_of(ConformanceAgent, part=part)
    assert found("agent", play, check, "talk.message-first")


# Environments.


class Confusing(ConformanceEnvironment):
    """Takes the end of a task for the end of time."""

    def play(self, play: Play) -> Played:
        played = super().play(play)
        return replace(played, terminated=played.truncated, truncated=played.terminated)


class Trusting(ConformanceEnvironment):
    """Takes any bytes for a state."""

    def env_set_state(self, slot: int, state: bytes) -> None:
        if state.startswith(b"state"):
            super().env_set_state(slot, state)


class Shallow(ConformanceEnvironment):
    """Keeps a state without its chance."""

    def env_set_state(self, slot: int, state: bytes) -> None:
        chance = self._episodes[slot].chance
        super().env_set_state(slot, state)
        self._episodes[slot] = replace(self._episodes[slot], chance=chance)


class Countless(ConformanceEnvironment):
    """Has all starts alike where chance is numbered."""

    def _numbered(self, cell: Cell) -> Cell:
        return cell if self._standard is None else replace(cell, seed=self._standard[0], repeat=0)


class Deaf(ConformanceEnvironment):
    """Does not say which slot failed."""

    def play(self, play: Play) -> Played:
        return replace(super().play(play), faults={})


class Lenient(ConformanceEnvironment):
    """Plays on where success should end an episode."""

    def env_start(self, cells: Mapping[int, Cell]) -> Any:
        shown = super().env_start(cells)
        for slot in cells:
            self._episodes[slot] = replace(self._episodes[slot], is_judged=False)
        return shown


class Sorted(ConformanceEnvironment):
    """Answers in the order of slots."""

    def env_step(self, actions: Any, slots: Slots) -> Any:
        order = np.argsort(slots)
        return super().env_step({name: a[order] for name, a in actions.items()}, slots[order])


ENVIRONMENTS: Mapping[str, tuple[type[ConformanceEnvironment], str]] = {
    "flags swapped": (Confusing, "talk.one-slot"),
    "any state is taken": (Trusting, "states.unknown-keys"),
    "half a state is kept": (Shallow, "states.state"),
    "starts are not numbered": (Countless, "environment.standardize"),
    "faults are dropped": (Deaf, "environment.slot-fault"),
    "success does not end": (Lenient, "talk.many-slots"),
    "rows sorted": (Sorted, "talk.some-slots"),
}


@pytest.mark.parametrize("what", ENVIRONMENTS)
def test_a_wrong_environment_is_found_out(what: str) -> None:
    environment, check = ENVIRONMENTS[what]
    assert "wanted" in found("environment", session_of(environment), check)
