"""Calls one client as the glue does, and compares each answer with the reference's."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from glue_server.conformance.comparing import check_refused, check_reply, check_same
from glue_server.conformance.drivers.reference import Reference
from reglue.errors import AgentFault, BadReply, EnvironmentFault, NotConforming
from reglue.messages.agent_messages import Budget, TextMessage
from reglue.spec import TaskSpec


class Driver:
    """Calls a client as the glue does; several calls may be under way."""

    def __init__(self, port: Any, reference: Reference, *, timeout_s: float) -> None:
        self.port = port
        self._reference = reference
        self._timeout_s = timeout_s
        self._wanted: deque[tuple[Any, Any]] = deque()  # calls under way, and their answers

    def begin(self, spec: TaskSpec) -> None:
        """Start the client on a task."""
        raise NotImplementedError

    def go(self, slots: Sequence[int] | None = None) -> None:
        """Send the next exchange of these slots, by default of all."""
        raise NotImplementedError

    def play(self, rounds: int = 1, slots: Sequence[int] | None = None) -> None:
        """Play `rounds` exchanges, one after another."""
        for _ in range(rounds):
            self.go(slots)
            self.take()

    def send(
        self,
        call: Any,
        budget: Budget = Budget(),  # noqa: B008 - frozen
        *,
        for_reference: Any = None,
    ) -> Any:
        """Send a call; returns the wanted reply.

        The reference gets `for_reference` instead if a field is opaque.
        """
        wanted = self._wanted_of(call, budget, for_reference or call)
        self._wanted.append((call, wanted))
        return wanted

    def take(self) -> Any:
        """The reply to the oldest call under way. Raises NotConforming."""
        call, wanted = self._wanted.popleft()
        reply = self._receive(f"the reply to {type(call).__name__}", type(wanted))
        self._check(call, reply, wanted)
        return reply

    def ask(self, call: Any, budget: Budget = Budget()) -> Any:  # noqa: B008 - frozen
        """Send a call, and wait for the reply."""
        self.send(call, budget)
        return self.take()

    def ask_refused(self, call: Any, code: str) -> None:
        """Send a call that must be refused with `code`."""
        check_refused(call, self.ask(call), code)

    def counts(self) -> dict[str, int]:
        """The client's count of calls by routine. Raises NotConforming unless it is the kit's."""
        got, wanted = self.hear("counts")
        try:
            counts: dict[str, int] = json.loads(got)
        except ValueError:
            raise NotConforming("`counts`", got=repr(got), wanted="a JSON object") from None
        check_same("`counts`", counts, json.loads(wanted))
        return counts

    def hear(self, command: str) -> tuple[str, str]:
        """The client's answer to a message, and the reference's."""
        self.port.send(TextMessage(command))
        reply = self._receive(f"`{command}`", TextMessage)
        if not isinstance(reply, TextMessage):
            raise NotConforming(f"`{command}`", got=type(reply).__name__, wanted="TextMessage")
        return reply.text, self._reference(TextMessage(command), Budget()).text

    def _wanted_of(self, call: Any, budget: Budget, for_reference: Any) -> Any:
        """Send the call; returns the wanted reply."""
        self._put(call, budget)
        return self._reference(for_reference, budget)

    def _put(self, call: Any, budget: Budget) -> None:
        with _as_verdict(f"sending {type(call).__name__}", "a client that is there"):
            self.port.send(call, budget)

    def _check(self, call: Any, reply: Any, wanted: Any) -> None:
        """Raise NotConforming if `reply` is not the one that is wanted."""
        check_reply(call, reply, wanted)

    def _receive(self, what: str, wanted: type) -> Any:
        with _as_verdict(what, wanted.__name__):
            return self.port.receive(self._timeout_s)


@contextmanager
def _as_verdict(what: str, wanted: str) -> Iterator[None]:
    """Raise NotConforming for the errors of a client that is gone, failed or answers wrongly."""
    try:
        yield
    except (AgentFault, BadReply, EnvironmentFault) as error:
        got = str(error).partition(";")[0]  # without advice to those who run benchmarks
        raise NotConforming(what, got=got, wanted=wanted) from error
