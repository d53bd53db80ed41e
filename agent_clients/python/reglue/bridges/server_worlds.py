"""Worlds of a server of another protocol: a connection for each slot.

In a turn the requests of all slots are sent before the first answer is awaited.
"""

from __future__ import annotations

import math
import time
from abc import abstractmethod
from collections.abc import Generator, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from reglue.environments.environment import Environment
from reglue.error_message import brief, printable
from reglue.errors import (
    BadArgument,
    BadReply,
    EnvironmentFault,
    EnvironmentFull,
    EnvironmentLost,
    IllegalAction,
)
from reglue.messages.environment_messages import Cell, Play, Played
from reglue.retrying import Backoff
from reglue.rng import Rng
from reglue.spec import Arrays

Talk: TypeAlias = Generator[Sequence[Any], Any, None]
"""One slot's exchange with the server: a generator that yields requests and is sent the answers.

Raises EnvironmentFault, and IllegalAction if nothing changed.
"""

MOST_SEEDS = 2**31
"""Seeds are below this number: an int32 holds them, and NumPy's RandomState takes them."""

PAUSES = Backoff(0.1, factor=1.6, most_s=2.0)
"""Pauses between attempts to reach a server that answered before."""

_MOST_CHARACTERS = 4096  # of a fault: the protocol's limit
_FAREWELL_S = 1.0  # the longest wait for the answers to requests that end worlds


class Wait:
    """The time that is left for answers."""

    def __init__(self, timeout_s: float) -> None:
        self.timeout_s = timeout_s
        self._until = time.monotonic() + timeout_s

    @property
    def left_s(self) -> float:
        """Seconds, 0 or more."""
        return max(0.0, self._until - time.monotonic())


class Stream(Protocol):
    """A slot's connection."""

    owed: int  # answers that are still to be received
    has_failed: bool  # its world is to be replaced

    def send(self, requests: Sequence[Any], wait: Wait) -> None:
        """Send requests. Raises EnvironmentFault, or EnvironmentLost without a server."""

    def receive(self, requests: Sequence[Any], wait: Wait) -> Sequence[Any]:
        """The answers to what was sent. Raises EnvironmentFault, IllegalAction."""

    def close(self) -> None:
        """End the connection."""


class ServerWorlds(Environment):
    """An environment whose slots are worlds of a server.

    Subclasses define the requests of a slot that joins, starts, steps and leaves.
    """

    whole_turns = False
    separate_slots = True
    tells_success = False

    def __init__(self, server: str, timeout_s: object) -> None:
        """Raises BadArgument.

        Args:
            server: The server in messages, such as `the OpenEnv server at http://127.0.0.1:8000`.
            timeout_s: Seconds that the server may take for its answers to a turn.
        """
        if type(timeout_s) not in (int, float) or not 0 < float(str(timeout_s)) < math.inf:
            got = f"answer_timeout_s {brief(timeout_s)}"
            raise BadArgument(got=got, wanted="seconds, more than 0")
        self._server, self._timeout_s = server, float(str(timeout_s))
        self._streams: dict[int, Any] = {}

    @abstractmethod
    def _open(self, slot: int) -> Stream:
        """A new connection, which may not be established yet."""

    @abstractmethod
    def _joining(self, slot: int) -> Talk:
        """Make the slot's world."""

    @abstractmethod
    def _starting(self, slot: int, cell: Cell, row: int, answer: Played) -> Talk:
        """Begin an episode, and write its first observation to the row."""

    @abstractmethod
    def _stepping(self, slot: int, row: int, actions: Arrays, answer: Played) -> Talk:
        """Take a step, and write what it earns to the row."""

    @abstractmethod
    def _leaving(self, slot: int) -> Talk:
        """End the slot's world."""

    def play(self, play: Play) -> Played:
        """Send the requests of all slots, then receive the answers."""
        answer = Played.blank(self.spec, play, is_fresh=True)
        slots = [*play.slots.tolist(), *play.starts]
        talks = {
            slot: self._starting(slot, play.starts[slot], row, answer)
            if slot in play.starts
            else self._stepping(slot, row, play.actions, answer)
            for row, slot in enumerate(slots)
        }
        errors = self._talk(talks, self._timeout_s)
        faults = {slot: str(error) for slot, error in errors.items()}
        for row, slot in enumerate(slots):
            if slot in faults:
                for values in answer.observations.values():
                    values[row] = 0
        domains = self._domains
        faults |= domains.mistakes(answer.observations, slots, faults)
        return Played(
            answer.rewards,
            answer.observations,
            answer.terminated,
            answer.truncated,
            answer.success,
            faults,
            illegal={slot for slot, error in errors.items() if isinstance(error, IllegalAction)},
            outside=domains.outside_last,
            is_fresh=True,
        )

    def _join_all(self, slots: int) -> None:
        """Make a world for each slot. Raises EnvironmentFault."""
        errors = self._talk({slot: self._joining(slot) for slot in range(slots)}, self._timeout_s)
        if errors:
            raise errors[min(errors)]

    def _leave_all(self) -> None:
        """End the worlds that answer, and all connections."""
        try:
            in_step = [slot for slot, each in self._streams.items() if not each.owed]
            timeout_s = min(self._timeout_s, _FAREWELL_S)
            self._talk({slot: self._leaving(slot) for slot in in_step}, timeout_s)
        finally:
            for stream in self._streams.values():
                stream.close()
            self._streams.clear()

    def _seed(self, cell: Cell) -> int:
        """An episode's seed, less than MOST_SEEDS unless the run's seeds are those of reset."""
        return cell.seed if cell.seeds_reset else Rng(cell.seed, cell.repeat).below(MOST_SEEDS)

    def _wait(self, timeout_s: float) -> Wait:
        """The time for the next answers, which begins now."""
        return Wait(timeout_s)

    def _talk(
        self, talks: Mapping[int, Talk], timeout_s: float
    ) -> dict[int, EnvironmentFault | IllegalAction]:
        """Carry out the exchanges of several slots together.

        Returns the errors by slot. Raises EnvironmentLost.
        """
        errors: dict[int, EnvironmentFault | IllegalAction] = {}
        answers: dict[int, Sequence[Any] | None] = dict.fromkeys(talks)
        while answers:
            wait, asked = self._wait(timeout_s), {}
            for slot, received in answers.items():
                try:
                    requests = talks[slot].send(received)
                    self._stream(slot).send(requests, wait)
                    asked[slot] = requests
                except StopIteration:
                    continue
                except EnvironmentLost as error:
                    raise self._lost(slot, error) from None
                except (EnvironmentFault, IllegalAction, BadReply) as error:
                    errors[slot] = self._failed(slot, error)
            answers, wait = {}, self._wait(timeout_s)  # after connections are made
            for slot, requests in asked.items():
                try:
                    answers[slot] = self._stream(slot).receive(requests, wait)
                except EnvironmentLost as error:
                    raise self._lost(slot, error) from None
                except (EnvironmentFault, IllegalAction) as error:
                    errors[slot] = self._failed(slot, error)
        return errors

    def _stream(self, slot: int) -> Any:
        if slot not in self._streams:
            self._streams[slot] = self._open(slot)
        return self._streams[slot]

    def _failed(self, slot: int, error: Exception) -> EnvironmentFault | IllegalAction:
        """The error, with the server's name. A world that failed is replaced, as its later
        episodes could be wrong.
        """
        what = self._words(slot, error)
        if isinstance(error, IllegalAction):
            return IllegalAction(what)
        stream = self._streams.get(slot)
        if stream is not None and (stream.owed or stream.has_failed):
            self._streams.pop(slot).close()
        elif stream is not None:
            stream.has_failed = True
        kind = EnvironmentFull if isinstance(error, EnvironmentFull) else EnvironmentFault
        return kind(what)

    def _lost(self, slot: int, error: EnvironmentLost) -> EnvironmentLost:
        """The error, with the name of the server that cannot be reached."""
        self._streams.pop(slot).close()
        return EnvironmentLost(self._words(slot, error))

    def _words(self, slot: int, error: Exception) -> str:
        """The error's message, after the server and the slot."""
        return printable(f"{self._server}, slot {slot}: {error}"[:_MOST_CHARACTERS])
