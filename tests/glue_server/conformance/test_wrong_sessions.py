"""A client that breaks a rule of sessions is found out by the check of that rule."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any

import pytest

from reglue.conformance import ConformanceAgent
from reglue.errors import Refused
from reglue.messages.agent_messages import Farewell, Fault, Numbered, Refusal, RoutineDone
from reglue.net.peer import AgentPeer
from reglue.net.session import Session
from reglue.net.streams import Stream
from reglue.v1 import agent_pb2
from tests.glue_server.conformance.findings import found, verdicts
from tests.glue_server.conformance.thread_clients import session_of

pytestmark = pytest.mark.usefixtures("quiet")


# Sessions.


class Repeating(Session):
    """Carries a call out again that comes again."""

    def _receive_call(self) -> tuple[int, Any]:
        message = self._parsed(self._receive() or b"")
        return message.seq, self._peer.read(message)


class Forgetful(Session):
    """Remembers no answer."""

    def _remember(self, seq: int, answer: bytes) -> None:
        pass


class Homeless(Session):
    """Comes back without saying what it answered."""

    @property
    def _answered(self) -> int:
        return 0

    @_answered.setter
    def _answered(self, seq: int) -> None:
        pass


class Giving(Session):
    """Leaves when its connection breaks."""

    def _calls(self) -> Generator[Any, Any, str]:
        return self._calls_of_stream()


class Narrow(Session):
    """Takes messages of three quarters of the limit."""

    def _open(self) -> Stream:
        self._ticket.max_message_bytes -= self._ticket.max_message_bytes // 4
        return super()._open()


class Stubborn(Session):
    """Opens its stream where it joined."""

    def _open(self) -> Stream:
        self._ticket.address = ""
        return super()._open()


class Insisting(Session):
    """Asks again when it was refused."""

    def play(self) -> str:
        try:
            return super().play()
        except Refused:
            return super().play()


class Unhurried(Session):
    """Takes no farewell."""

    def _receive_call(self) -> tuple[int, Any]:
        seq, call = super()._receive_call()
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
    "a farewell there is no good end": (Unhurried, "join.elsewhere"),
    "it asks again and again": (Insisting, "join.place-taken"),
    "a farewell is no good end": (Unhurried, "farewell.at-once"),
}


@pytest.mark.parametrize("what", SESSIONS)
def test_a_wrong_session_is_found_out(what: str) -> None:
    session, check = SESSIONS[what]
    assert "wanted" in found("agent", session_of(ConformanceAgent, session=session), check)


class Brief(Session):
    """Remembers its last answer alone."""

    def _remember(self, seq: int, answer: bytes) -> None:
        self._answers.clear()
        super()._remember(seq, answer)


def test_where_one_answer_is_lost_no_more_have_to_be_remembered() -> None:
    session, check = session_of(ConformanceAgent, session=Brief), "reconnect.answer-lost"
    verdict = verdicts("agent", session, check)[check]
    assert verdict.passed, verdict.detail


# Messages.


class Polite(AgentPeer):
    """Answers refusals."""

    def carry_out(self, call: Any) -> Any | None:
        return RoutineDone() if isinstance(call.call, Refusal) else super().carry_out(call)


class Guessing(AgentPeer):
    """Takes what it does not know for a call that returns nothing."""

    def read(self, message: Any) -> Numbered:
        if message.WhichOneof("call") is None:
            message.freeze.SetInParent()
        return super().read(message)


class Speechless(AgentPeer):
    """Does not say why it fails."""

    def encode(self, seq: int, reply: Any) -> bytes:
        return super().encode(seq, Fault("") if isinstance(reply, Fault) else reply)


class Misnumbered(AgentPeer):
    """Answers under another number at times."""

    def encode(self, seq: int, reply: Any) -> bytes:
        return super().encode(seq + (seq == 9), reply)


class Strict(AgentPeer):
    """Refuses what a later minor version adds."""

    def read(self, message: Any) -> Numbered:
        known = agent_pb2.AgentCall.FromString(message.SerializeToString())
        known.DiscardUnknownFields()
        assert known == message, "unknown fields"
        return super().read(message)


PARTS: Mapping[str, tuple[type[AgentPeer], str]] = {
    "refusals are answered": (Polite, "refusals.taken"),
    "an unknown call is answered": (Guessing, "broken.unknown-call"),
    "a fault without words": (Speechless, "faults.in-turn"),
    "another seq": (Misnumbered, "calls.once"),
    "unknown fields": (Strict, "calls.unknown-fields"),
}


@pytest.mark.parametrize("what", PARTS)
def test_a_wrong_part_is_found_out(what: str) -> None:
    part, check = PARTS[what]
    play = session_of(ConformanceAgent, part=part)
    assert found("agent", play, check, "calls.message-first")
