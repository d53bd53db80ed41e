"""The work of a hub for a step: counts, which do not depend on the machine."""

from __future__ import annotations

import select
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from types import FrameType, SimpleNamespace
from typing import Any, TypeAlias

import pytest

from reglue.experiments.experiment import Experiment
from reglue.net.unix_socket import UnixSocket
from tests.glue_server.hubs import Start, a_hub, corridor
from tests.glue_server.playing import Follower
from tests.waiting import PATIENCE_S, until

Called: TypeAlias = Callable[[str], int]
NET = "reglue.net.unix_socket"
SPIN = "reglue.net.adaptive_spin"
STEPS = 5  # of an episode in the corridor
EPISODES = 20
MOST_CALLS = 150  # of functions of Python, a step
WAITS = FINDS = True
OURS = "functions of Python"


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> Iterator[Called]:
    """Counts of calls by the run's thread of a function of C, or of any of Python."""
    monkeypatch.setattr(f"{SPIN}._cores", lambda: 1)
    for module in ("glue_server.peers.hub", "glue_server.rpc.peer_streams"):
        # A program that is slow here is not looked for: that would be one more call.
        monkeypatch.setattr(f"{module}._LOOK_S", PATIENCE_S)
    monkeypatch.setattr("glue_server.rpc.peer_streams._ALONE_S", PATIENCE_S)  # nor the loop entered
    found: Counter[tuple[int, str]] = Counter()

    def count(frame: FrameType, event: str, what: Any) -> None:
        if event == "c_call":
            found[threading.get_ident(), what.__name__] += 1
        elif event == "call" and not frame.f_code.co_filename.startswith("<"):
            found[threading.get_ident(), OURS] += 1

    def of_run(name: str) -> int:
        (run,) = (each for each in threading.enumerate() if each.name == "reglue-runs")
        assert run.ident is not None
        counts = list(found.items())
        return sum(n for (thread, what), n in counts if thread == run.ident and what == name)

    threading.setprofile(count)
    yield of_run
    threading.setprofile(None)


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> Counter[tuple[bool, bool]]:
    """Counts of the run's thread's polls: whether it may wait, and finds something.

    The clock of waits stands still: one that is over before it begins depends on the machine.
    """
    monkeypatch.setattr("glue_server.peers.hub._GONE_S", 1e6)
    for module in ("glue_server.processes.event_loop", "glue_server.rpc.peer_streams", NET, SPIN):
        monkeypatch.setattr(f"{module}.time", SimpleNamespace(monotonic=lambda: 0.0))
    found: Counter[tuple[bool, bool]] = Counter()
    kernels = select.poll

    class Counted:
        def __init__(self) -> None:
            poll = kernels()
            self.register, self.unregister, self._poll = poll.register, poll.unregister, poll.poll

        def poll(self, timeout_ms: float | None = None) -> list[tuple[int, int]]:
            ready = self._poll(timeout_ms)
            if threading.current_thread().name == "reglue-runs":
                found[timeout_ms != 0, bool(ready)] += 1
            return ready

    monkeypatch.setattr(select, "poll", Counted)
    return found


@pytest.fixture
def rl(start: Start, called: Called) -> Iterator[Experiment]:
    """A program whose environment and agent are there, after RL_init."""
    with a_hub() as (server, _):
        start(Follower(), server.address, server.tokens["agent"])
        start(corridor(), server.address, server.tokens["environment"])
        with Experiment(server.address, server.tokens["experiment"]) as program:
            program.init()
            yield program


def test_a_step_is_three_messages_in_and_three_out(rl: Experiment, called: Called) -> None:
    rl.start()
    sent, read = called("sendmsg"), called("recv_into")
    for _ in range(STEPS - 1):
        rl.step()
    assert called("sendmsg") - sent == 3 * (STEPS - 1)
    assert called("recv_into") - read == 3 * (STEPS - 1)


def waits_for_its_program() -> bool:
    """Whether the run is through with a step, of which the program has just got the answer."""
    (run,) = (each for each in threading.enumerate() if each.name == "reglue-runs")
    assert run.ident is not None
    code = sys._current_frames()[run.ident].f_code
    return code is UnixSocket.receive.__code__


def test_a_step_costs_no_message_of_protobuf_and_few_calls(rl: Experiment, called: Called) -> None:
    """Of an episode after the first two, in which layouts are made."""
    for _ in range(2):
        rl.start()
        rl.step()
        rl.step()
        rl.episode(0)
    rl.start()
    names = (OURS, "FromString", "SerializeToString")
    assert called("FromString"), "that is what protobuf calls it"
    assert called("SerializeToString"), "that too"
    until(waits_for_its_program, "the run waits for its program")
    before = [called(name) for name in names]
    for _ in range(STEPS - 1):
        rl.step()
    until(waits_for_its_program, "the run waits for its program")
    calls, *others = [called(name) - was for name, was in zip(names, before, strict=True)]
    assert others == [0, 0]
    assert calls <= MOST_CALLS * (STEPS - 1)


def test_an_episode_looks_at_no_socket_in_vain(
    looks: Counter[tuple[bool, bool]], rl: Experiment, called: Called
) -> None:
    """But for a program that may have left, now and then. How often a wait ends before an answer
    is there depends on the machine, and is not counted.
    """
    looks.clear()
    read = called("recv_into")
    for _ in range(EPISODES):
        rl.episode(0)
    read = called("recv_into") - read
    assert read >= 2 * STEPS * EPISODES
    found = looks[WAITS, FINDS] + looks[not WAITS, FINDS]
    assert found - read < 2.5 * EPISODES  # one each, and the wait for it
    assert looks[not WAITS, not FINDS] == 0
