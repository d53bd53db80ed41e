"""Tasks share a thread: where one waits, the others go on."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator

import pytest

from glue_server.processes.event_loop import EventLoop, sleep
from tests.leftovers import nothing_left

PATIENCE_S = 20.0


@pytest.fixture
def loop() -> Iterator[EventLoop]:
    with nothing_left():
        loop = EventLoop("test-loop")
        yield loop
        loop.close(PATIENCE_S)


def test_a_task_that_waits_lets_others_go_on_in_the_same_thread(loop: EventLoop) -> None:
    told: list[tuple[str, int]] = []
    reads, writes = os.pipe()

    def reader() -> None:
        told.append(("waits", threading.get_ident()))
        loop.wait(time.monotonic() + PATIENCE_S, reads)
        told.append((os.read(reads, 1).decode(), threading.get_ident()))

    def writer() -> None:
        os.write(writes, b"r")
        told.append(("wrote", threading.get_ident()))

    tasks = [loop.begin(reader), loop.begin(writer)]
    for task in tasks:
        task.join(PATIENCE_S)
    os.close(reads)
    os.close(writes)
    assert [what for what, _ in told] == ["waits", "wrote", "r"]
    (thread,) = {thread for _, thread in told}
    assert thread != threading.get_ident()


def test_a_wait_ends_in_time(loop: EventLoop) -> None:
    passed: list[float] = []

    def waits() -> None:
        began = time.monotonic()
        sleep(0.05)
        passed.append(time.monotonic() - began)

    loop.begin(waits).join(PATIENCE_S)
    assert 0.05 <= passed[0] < PATIENCE_S


def test_another_thread_wakes_a_task(loop: EventLoop) -> None:
    is_set, woken = threading.Event(), threading.Event()

    def waits() -> None:
        while not is_set.is_set():
            loop.wait(time.monotonic() + 10 * PATIENCE_S)
        woken.set()

    task = loop.begin(waits)
    is_set.set()
    task.wake()
    assert woken.wait(PATIENCE_S)


def test_a_task_that_fails_ends_alone(loop: EventLoop, caplog: pytest.LogCaptureFixture) -> None:
    played = threading.Event()
    failed = loop.begin(lambda: print(1 // 0))
    failed.join(PATIENCE_S)
    assert not failed.is_alive
    loop.begin(played.set)
    assert played.wait(PATIENCE_S)
    assert "a task failed" in caplog.text


def test_a_loop_that_is_closed_ends_with_its_last_task(loop: EventLoop) -> None:
    may_end = threading.Event()

    def waits() -> None:
        while not may_end.is_set():
            sleep(0.01)

    task = loop.begin(waits)
    loop.close(0.1)
    assert task.is_alive
    may_end.set()
    task.join(PATIENCE_S)
    assert not task.is_alive


def test_a_task_that_begins_in_a_closed_loop_is_carried_out(loop: EventLoop) -> None:
    for _ in range(2):
        loop.close(PATIENCE_S)
        done = threading.Event()
        loop.begin(done.set)
        assert done.wait(PATIENCE_S)


def test_outside_of_tasks_there_is_no_loop() -> None:
    assert EventLoop.current() is None
    sleep(0.0)
