"""A child of our own: its parent's end, its own end, and how both end."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from glue_server.processes.child import (
    Channel,
    Child,
    Parent,
    ParentGone,
    end_together,
    exit_after,
    inherited_channel,
)
from glue_server.processes.interrupts import is_stopping
from glue_server.processes.message_codec import Codec, UnknownMessage, encoded
from glue_server.processes.readable import readable
from tests.leftovers import nothing_left
from tests.waiting import PATIENCE_S, halt, until


@dataclass(frozen=True, slots=True)
class Words:
    """A message in both directions."""

    words: str


@dataclass(frozen=True, slots=True)
class Strange:
    """A message that no end knows."""


CODEC = Codec[Words](Words)


def main() -> None:
    """A child that sends back what it receives, fails at `fail` and sleeps at `sleep`."""
    parent = Parent(inherited_channel(CODEC), leave_s=0.1)

    def play() -> None:
        while True:
            match parent.receive():
                case Words("fail"):
                    raise ValueError("it fails")
                case Words("sleep"):
                    time.sleep(1000.0)
                case message:
                    parent.send(message)

    exit_after(play)


@pytest.fixture
def child(tmp_path: Path) -> Iterator[Child[Words]]:
    with nothing_left():
        started = Child(__name__, CODEC, log_file=tmp_path / "log")
        yield started
        started.leave()
        started.end(PATIENCE_S)


def answers(child: Child[Words]) -> None:
    """Wait until it is up."""
    child.send(Words("hello"))
    assert child.receive(PATIENCE_S) == Words("hello")


def test_a_child_answers_and_leaves_with_its_channel(child: Child[Words]) -> None:
    answers(child)
    assert child.is_alive()
    child.leave()
    until(lambda: not child.is_alive(), "it has left")
    assert child.death(0.0) in ("exit code 0", "exit code 1")  # 1: the timer was first


def test_a_child_that_does_not_listen_is_ended_by_its_timer(child: Child[Words]) -> None:
    answers(child)
    child.send(Words("sleep"))
    child.leave()
    assert child.death(PATIENCE_S) == "exit code 1"


def test_an_error_of_a_child_is_printed_and_its_exit_code(
    child: Child[Words], tmp_path: Path
) -> None:
    child.send(Words("fail"))
    with pytest.raises(EOFError):
        child.receive(PATIENCE_S)
    assert child.death(PATIENCE_S) == "exit code 1"
    assert "it fails" in (tmp_path / "log").read_text("utf-8")


def test_a_message_that_a_child_does_not_know_ends_it(child: Child[Words], tmp_path: Path) -> None:
    answers(child)
    child.send(Strange())
    child.death(PATIENCE_S)
    assert not child.is_alive()
    assert "UnknownMessage" in (tmp_path / "log").read_text("utf-8")


def test_a_child_that_is_silent_is_late(child: Child[Words]) -> None:
    with pytest.raises(TimeoutError):
        child.receive(0.0)


def test_children_that_hang_share_one_deadline(tmp_path: Path) -> None:
    with nothing_left():
        children = [Child(__name__, CODEC, log_file=tmp_path / "log") for _ in range(3)]
        for each in children:
            halt(each.pid)
            each.leave()
        end_together(children, within_s=0.0)
        assert [each.death(0.0) for each in children] == [
            "killed by SIGKILL, perhaps for want of memory"
        ] * 3


class Ends:
    """Both ends of a socket pair, one as a channel."""

    def __init__(self, **more: float) -> None:
        ours, self.theirs = socket.socketpair()
        self.channel = Channel(ours, CODEC, **more)


@pytest.fixture
def ends() -> Iterator[Callable[..., Ends]]:
    made: list[Ends] = []

    def make(**more: float) -> Ends:
        made.append(Ends(**more))
        return made[-1]

    yield make
    for each in made:
        each.channel.leave()
        each.theirs.close()


def test_channels_that_have_something_are_found_among_others(ends: Callable[..., Ends]) -> None:
    silent, sends, gone = ends(), ends(), ends()
    sends.theirs.sendall(encoded(Words("hello")))
    gone.theirs.close()
    channels = [each.channel for each in (silent, sends, gone)]
    assert {*readable(channels, PATIENCE_S)} == {sends.channel, gone.channel}
    assert readable([silent.channel], 0.0) == []


def test_the_rest_of_a_message_is_waited_for_and_not_for_ever(ends: Callable[..., Ends]) -> None:
    late = ends(silence_s=0.01)
    late.theirs.sendall(encoded(Words("hello"))[:-1])
    with pytest.raises(TimeoutError):
        late.channel.receive(PATIENCE_S)


def test_a_strange_message_is_an_error_at_the_parent(ends: Callable[..., Ends]) -> None:
    strange = ends()
    strange.theirs.sendall(encoded(Strange()))
    with pytest.raises(UnknownMessage):
        strange.channel.receive(PATIENCE_S)


def test_messages_of_several_threads_stay_whole(ends: Callable[..., Ends]) -> None:
    one = ends()
    words = [letter * 100_000 for letter in "abcd"]
    threads = [threading.Thread(target=one.channel.send, args=(Words(each),)) for each in words]
    for thread in threads:
        thread.start()
    other = Channel(one.theirs, CODEC)
    assert sorted(other.receive(PATIENCE_S).words for _ in words) == words
    for thread in threads:
        thread.join()


@pytest.fixture
def exits(own_stop: None, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The codes with which a Parent would have ended this process."""
    codes: list[int] = []
    monkeypatch.setattr(os, "_exit", codes.append)
    return codes


def test_a_parent_that_has_gone_is_gone_for_each_who_asks(
    ends: Callable[..., Ends], exits: list[int]
) -> None:
    one = ends()
    parent = Parent(one.channel, leave_s=0.0)
    one.theirs.sendall(encoded(Words("the last")))
    one.theirs.close()
    assert parent.receive(PATIENCE_S) == Words("the last")
    for _ in range(2):
        with pytest.raises(ParentGone):
            parent.receive(PATIENCE_S)
    until(is_stopping, "play ends")
    with pytest.raises(ParentGone):
        parent.send(Words("too late"))
    until(lambda: exits == [1], "it is ended")


def test_a_parent_that_does_not_answer_counts_as_gone(
    ends: Callable[..., Ends], exits: list[int]
) -> None:
    one = ends()
    parent = Parent(one.channel, leave_s=0.0)
    with pytest.raises(ParentGone):
        parent.receive(0.01)
    assert not is_stopping()
    one.theirs.close()
    until(lambda: exits == [1], "it is ended")


if __name__ == "__main__":
    main()


def test_a_message_that_was_sent_in_part_ends_the_channel() -> None:
    """Whatever came after it would be read as its rest."""
    ours, theirs = (Channel(end, CODEC, silence_s=0.05) for end in socket.socketpair())
    with ours.socket, theirs.socket:
        with pytest.raises(TimeoutError):
            ours.send(Words("x" * 10_000_000))
        with pytest.raises(BrokenPipeError):
            ours.send(Words("hello"))
        with pytest.raises(EOFError):
            theirs.receive(PATIENCE_S)


def test_a_channel_that_is_closed_receives_nothing() -> None:
    ours, theirs = (Channel(end, CODEC) for end in socket.socketpair())
    theirs.socket.close()
    ours.leave()
    with pytest.raises(EOFError):
        ours.receive(0.0)
    assert readable([ours], 0.0) == [ours]  # who receives from it is told so
