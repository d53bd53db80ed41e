"""The slots' environments in processes of their own, replaced when one dies."""

from __future__ import annotations

import contextlib
import logging
import os
import selectors
import socket
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from env_adapters import Cell, Step, SuiteName
from glue_server.frames import read_frame, write_frame
from glue_server.played import Answer, PlayRows
from reglue.environment_calls import Play, Played
from reglue.errors import EnvironmentFault, UsageError
from reglue.spec import TaskSpec
from reglue.wire.environment_bytes import environment_call_to_bytes, environment_reply_from_bytes
from reglue.wire.specs import spec_from_bytes

log = logging.getLogger("reglue")

MAX_REBUILDS = 3
"""After how many deaths of a worker that plays it again an episode is given up."""

_STDERR = 2


@dataclass(slots=True)
class _Live:
    """An episode as its worker knows it: enough to play it again from the start."""

    cell: Cell
    actions: list[bytes] = field(default_factory=list)
    waiting: bool = True  # for an answer
    deaths: int = 0  # of workers that were playing it again


class WorkerPool:
    """`workers` processes that share `slots` slots; slot s lives in worker s mod workers.

    A worker that dies is replaced; its live episodes are played again from their
    recorded actions, and whoever waits for an answer gets the same one.
    """

    def __init__(
        self, suite: SuiteName, slots: int, *, workers: int, log_file: Path | None = None
    ) -> None:
        self.executed = 0
        self._suite = suite
        self._log_file = log_file
        self._live: dict[int, _Live] = {}
        self._workers: list[_Worker] = []
        try:
            for _ in range(min(workers, slots)):
                self._workers.append(_Worker(suite, slots, log_file))
            specs = [worker.built() for worker in self._workers]  # all must be up
            self.spec = specs[0]
            self._rows = PlayRows(self.spec)
        except BaseException:
            self.close()
            raise

    @property
    def processes(self) -> list[int]:
        """Process ids of the workers, in the order of slots."""
        return [worker.process.pid for worker in self._workers]

    def send(self, starts: Mapping[int, Cell], steps: Mapping[int, bytes]) -> None:
        """Record the work and hand it to the workers of its slots."""
        for slot, cell in starts.items():
            self._live[slot] = _Live(cell)
        for slot, action in steps.items():
            self._live[slot].actions.append(action)
            self._live[slot].waiting = True
        self.executed += len(steps)
        for place, worker in enumerate(self._workers):
            mine = {s: c for s, c in starts.items() if s % len(self._workers) == place}
            moves = {s: a for s, a in steps.items() if s % len(self._workers) == place}
            if not mine and not moves:
                continue
            try:
                worker.send(self._rows.play(mine, moves))
            except OSError:
                log.debug("worker %d was gone before it got its work", worker.process.pid)
                # Its channel reads as closed: receive() finds and replaces it.

    def receive(self) -> dict[int, Answer]:
        """Answers of at least one worker; a dead one is replaced on the way."""
        answers: dict[int, Answer] = {}
        for place in self._readable():
            answers |= self._take(place)
        for slot, answer in answers.items():
            over = isinstance(answer, Step) and (answer.terminated or answer.truncated)
            if over or isinstance(answer, EnvironmentFault):
                del self._live[slot]
            else:
                self._live[slot].waiting = False
        return answers

    def close(self) -> None:
        """End the workers: they leave when their channel closes."""
        for worker in self._workers:
            worker.end()
        self._workers = []

    def _readable(self) -> list[int]:
        """Places whose worker has answered or died, of those that owe an answer."""
        waiting = [slot for slot, live in self._live.items() if live.waiting]
        with selectors.DefaultSelector() as selector:
            for place in {slot % len(self._workers) for slot in waiting}:
                selector.register(self._workers[place].channel, selectors.EVENT_READ, place)
            return sorted(key.data for key, _ in selector.select())

    def _take(self, place: int) -> dict[int, Answer]:
        try:
            return self._rows.answers(*self._workers[place].receive())
        except (EOFError, OSError):
            return self._replace(place)

    def _replace(self, place: int) -> dict[int, Answer]:
        """Play a dead worker's episodes again in a new one; the answers waited for."""
        log.warning("worker %d died; its episodes are rebuilt", self._workers[place].process.pid)
        mine = sorted(slot for slot in self._live if slot % len(self._workers) == place)
        while True:
            self._renew(place)
            answers: dict[int, Answer] = {}
            for slot in mine:
                try:
                    answers[slot] = self._replay(place, slot)
                except (EOFError, OSError):
                    self._live[slot].deaths += 1
                    break
            else:
                return {slot: answers[slot] for slot in mine if self._live[slot].waiting}

    def _replay(self, place: int, slot: int) -> Answer:
        worker, live = self._workers[place], self._live[slot]
        if live.deaths >= MAX_REBUILDS:
            return EnvironmentFault(f"{live.deaths} workers died while they played this episode")
        worker.send(self._rows.play({slot: live.cell}, {}))
        answer = self._rows.answers(*worker.receive())[slot]
        for action in live.actions:
            if isinstance(answer, EnvironmentFault):
                break
            worker.send(self._rows.play({}, {slot: action}))
            answer = self._rows.answers(*worker.receive())[slot]
            self.executed += 1
        return answer

    def _renew(self, place: int) -> None:
        self._workers[place].end()
        self._workers[place] = _Worker(self._suite, self.spec.slots, self._log_file)
        try:
            self._workers[place].built()
        except UsageError as error:  # it could be built before: nobody asked for anything wrong
            raise EnvironmentFault(f"a worker cannot be replaced: {error}") from error


class _Worker:
    """One process and our end of its channel."""

    def __init__(self, suite: SuiteName, slots: int, log_file: Path | None) -> None:
        self.channel, theirs = socket.socketpair()
        self._spec: TaskSpec | None = None
        self._play: Play | None = None
        with theirs:
            self.process = _spawn(theirs.fileno(), log_file)
        with contextlib.suppress(ConnectionError):  # dead already: built() says so
            config = dict(suite.config)
            write_frame(self.channel, {"factory": suite.factory, "config": config, "slots": slots})

    def built(self) -> TaskSpec:
        """What the worker says of its suite. Raises UsageError, EnvironmentFault."""
        try:
            head, body = read_frame(self.channel)
        except (EOFError, OSError) as error:
            raise EnvironmentFault("a worker died before it had built its suite") from error
        if "refused" in head:
            raise UsageError(head["refused"])
        self._spec = spec_from_bytes(bytes(body))
        return self._spec

    def send(self, play: Play) -> None:
        """Hand work over. Raises OSError if the worker is gone."""
        assert self._spec is not None, "built() comes first"
        self._play = play
        write_frame(self.channel, {}, environment_call_to_bytes(play, self._spec))

    def receive(self) -> tuple[Play, Played]:
        """That work, and what became of it. Raises EOFError or OSError if the worker is gone."""
        assert self._spec is not None, "built() comes first"
        assert self._play is not None, "receive() follows send()"
        _, body = read_frame(self.channel)
        played = environment_reply_from_bytes(bytes(body), self._play, self._spec)
        assert isinstance(played, Played), f"a worker answered {played}"
        return self._play, played

    def end(self) -> None:
        """Close the channel, which ends the process; kill one that does not listen."""
        self.channel.close()
        try:
            self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def _spawn(descriptor: int, log_file: Path | None) -> subprocess.Popen[bytes]:
    """Start a worker: no fork of our state, no share in the terminal's Ctrl-C."""
    # The worker imports what we can import, a script's own folder too.
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    output = log_file.open("ab") if log_file else None
    try:
        return subprocess.Popen(
            [sys.executable, "-m", "glue_server.worker", str(descriptor)],
            pass_fds=[descriptor],
            stdin=subprocess.DEVNULL,
            stdout=output or _STDERR,
            stderr=output or _STDERR,
            env=environment,
            start_new_session=True,
        )
    finally:
        if output:
            output.close()
