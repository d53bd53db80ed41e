"""The engine's side of processes that play."""

from __future__ import annotations

import socket
from array import array
from functools import partial
from pathlib import Path

import pytest

from glue_server.processes.child import Channel, Child
from glue_server.processes.interrupts import interruptible, stop_play
from glue_server.processes.message_codec import UnknownMessage, encoded
from reglue_bench.engines import dealing
from reglue_bench.engines.dealing import DealingEngine
from reglue_bench.engines.process_players import SHARD_PROCESS, LocalPlayers, Players
from reglue_bench.engines.shard import FROM_SHARD, Farewell, FromShard, Shard
from reglue_bench.procedures.procedure import Todos
from tests.leftovers import nothing_left
from tests.waiting import halt

UNITS = Todos(array("I", range(4)), array("I", [0] * 4))


def engine(players: Players[FromShard], folder: Path) -> DealingEngine:
    """One whose processes get nothing to play before they say where they are."""

    def never(*_: object) -> None:
        raise AssertionError

    return DealingEngine(
        players,
        never,  # type: ignore[arg-type]
        4,
        never,  # type: ignore[arg-type]
        folder=folder,
        isolate=never,
        admit=never,
        note_machine=never,
        say=never,
        note_event=never,
    )


class Hanging(LocalPlayers):
    """Stopped processes; play ends as they are waited for. Notes how long each may take to end."""

    def __init__(self, processes: int) -> None:
        super().__init__(processes)
        self.given: list[float] = []

    def begin(self, number: int) -> Child[FromShard]:
        process = Stopped(self.given)
        halt(process.pid)
        return process


class Stopped(Child[FromShard]):
    """One of them."""

    def __init__(self, given: list[float]) -> None:
        super().__init__(SHARD_PROCESS, FROM_SHARD)
        self._given = given

    def fileno(self) -> int:
        stop_play()
        return super().fileno()

    def end(self, within_s: float) -> None:
        self._given.append(within_s)
        super().end(within_s)


@pytest.mark.usefixtures("own_stop")
def test_processes_that_hang_share_one_deadline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dealing, "_LEAVE_S", 0.1)
    players = Hanging(4)

    with nothing_left():
        playing = engine(players, tmp_path)
        play = partial(playing.play, UNITS, begin=print, record=print, watch=print)
        assert interruptible(play)
        playing.close("it is over")
    assert players.given[1:] == [0.0, 0.0, 0.0]  # the first took all of it


class Sends(Players[FromShard]):
    """One process, whose first bytes are those."""

    elsewhere = False
    most = 1

    def __init__(self, sent: bytes) -> None:
        self._sent = sent

    def open(self) -> None:
        """Nothing to do."""

    def begin(self, number: int) -> Sending:
        return Sending(self._sent)

    def close(self, within_s: float) -> None:
        """Nothing to do."""


class Sending(Channel[FromShard]):
    """Its process."""

    def __init__(self, sent: bytes) -> None:
        ours, self._theirs = socket.socketpair()
        super().__init__(ours, FROM_SHARD)
        self._theirs.sendall(sent)
        self._theirs.shutdown(socket.SHUT_WR)

    def death(self, within_s: float) -> str:
        return ""

    def end(self, within_s: float) -> None:
        self._theirs.close()


@pytest.mark.parametrize("message", [Farewell("it is over"), Shard(b"", b""), None])
def test_a_message_of_no_known_kind_is_an_error(tmp_path: Path, message: object) -> None:
    sent = bytes(8) if message is None else encoded(message)
    playing = engine(Sends(sent), tmp_path)
    with pytest.raises(UnknownMessage):
        playing.play(UNITS, begin=print, record=print, watch=print)
    playing.close("it is over")
