"""Runs in processes of their own: through one port or many; one crash hurts one run."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from env_adapters.classic.gridworld import GridWorld
from glue_server.peers.hub import ROLES
from glue_server.peers.run_processes import read_ports
from glue_server.rpc.gateways import run_gateway
from reglue import connect
from reglue.errors import ReglueError, SessionLost, Unreachable, UsageError, WrongToken
from reglue.examples.random_agent import RandomAgent
from reglue.experiments.experiment import Experiment
from reglue.net.grpc_settings import grpc
from tests.error_facts import raises
from tests.glue_server.hubs import PATIENCE_S, TOKENS
from tests.glue_server.rpc.peers import RawAgent
from tests.leftovers import child_processes, has_ended, nothing_left
from tests.waiting import halt, until

pytestmark = pytest.mark.slow

Connect = Callable[..., "Future[str]"]


class Hub:
    """`reglue glue`, and what it said."""

    def __init__(self, *flags: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "reglue", "glue", "--listen", "127.0.0.1:0", *flags],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert self.process.stdout is not None
        said = "".join(self.process.stdout.readline() for _ in range(1 + len(ROLES)))
        found = re.search(r"reglue://[^']+" if "--tls" in flags else r"127\.0\.0\.1:\d+", said)
        assert found, said
        self.address = found.group()
        self.said = [said]  # lines

    def until(self, line: str) -> None:
        """Wait until it says such a line; a regular expression."""
        assert self.process.stdout is not None
        for each in self.process.stdout:
            self.said.append(each)
            if re.search(line, each):
                return
        raise AssertionError(f"got {self.said}, wanted {line}")

    def runs(self) -> list[int]:
        """The ids of its runs' processes, once they run their own program.

        To stop one before that would stop the front, which waits for it as it starts it.
        """
        return sorted(
            pid
            for pid in child_processes(self.process.pid)
            if "glue_server.peers.run_process" in program_of(pid)
        )

    def end(self) -> int:
        self.process.send_signal(signal.SIGINT)
        said, _ = self.process.communicate(timeout=PATIENCE_S)
        self.said.append(said)
        return self.process.returncode


def program_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:  # it has ended meanwhile
        return ""


@pytest.fixture
def start() -> Iterator[Connect]:
    with nothing_left():
        threads = ThreadPoolExecutor(8, thread_name_prefix="peer")
        yield lambda *arguments, **more: threads.submit(connect, *arguments, **more)
        threads.shutdown()


@pytest.fixture
def hub(start: Connect) -> Iterator[Callable[..., Hub]]:
    """Ended last but for the peers' threads."""
    with ExitStack() as closing:

        def hub(*flags: str) -> Hub:
            made = Hub(*TOKENS, *flags)
            closing.callback(made.process.communicate)
            closing.callback(made.process.kill)
            return made

        yield hub


def free_ports(count: int) -> str:
    """So many that were free a moment ago, in a row."""
    for first in range(20_000 + os.getpid() % 20_000, 60_000, 7):
        with ExitStack() as held:
            try:
                for port in range(first, first + count):
                    held.enter_context(socket.create_server(("127.0.0.1", port)))
            except OSError:
                continue
            return f"{first}-{first + count - 1}"
    raise AssertionError("no ports are free")


def play(address: str, seed: int = 0) -> list[float]:
    """A program of two episodes."""
    with Experiment(address, "secret of the experiment", seed=seed) as rl:
        rl.init()
        returns = []
        for _ in range(2):
            rl.episode(300)
            returns.append(rl.return_())
        rl.cleanup()
    return returns


@pytest.mark.parametrize("how", ["--run-processes", "--run-ports", "--tls"])
def test_three_peers_meet_in_a_process_of_their_own(
    start: Connect, hub: Callable[..., Hub], how: str
) -> None:
    flags = {
        "--run-processes": ("--run-processes",),
        "--run-ports": ("--run-ports", free_ports(2)),
        "--tls": ("--tls", "--run-ports", free_ports(2)),
    }[how]
    glue = hub(*flags)
    agent = start(RandomAgent(), glue.address, "secret of the agent")
    environment = start(GridWorld(), glue.address, "secret of the environment")
    returns = play(glue.address)
    assert len(returns) == 2
    for peer in (agent, environment):
        assert "the experiment has left" in peer.result(PATIENCE_S)
    assert glue.end() == 130


def test_who_is_seated_hears_so_through_the_hub(hub: Callable[..., Hub]) -> None:
    with grpc.insecure_channel(hub("--run-processes").address) as channel:
        agent = RawAgent(channel, "secret of the agent")
        agent.stream.initial_metadata()  # waits for it: no call will come
        assert agent.stream.is_active()
        agent.vanish()


def test_a_run_that_crashes_hurts_nobody_else(start: Connect, hub: Callable[..., Hub]) -> None:
    glue = hub("--run-processes", "--reconnect-window", "0")
    start(RandomAgent(), glue.address, "secret of the agent")
    start(GridWorld(), glue.address, "secret of the environment")
    with Experiment(glue.address, "secret of the experiment") as first:
        first.init()
        (crashing,) = glue.runs()
        agent = start(RandomAgent(), glue.address, "secret of the agent")
        environment = start(GridWorld(), glue.address, "secret of the environment")
        with Experiment(glue.address, "secret of the experiment") as second:
            second.init()
            second.episode(50)
            assert len(glue.runs()) == 2
            os.kill(crashing, signal.SIGKILL)
            with pytest.raises(SessionLost):
                first.episode(10**6)
            second.episode(50)
            second.cleanup()
        assert "the experiment has left" in agent.result(PATIENCE_S)
        assert "the experiment has left" in environment.result(PATIENCE_S)


def test_peers_of_a_run_that_was_killed_join_the_next_one(
    start: Connect, hub: Callable[..., Hub]
) -> None:
    glue = hub("--run-processes")
    agent = start(RandomAgent(), glue.address, "secret of the agent")
    environment = start(GridWorld(), glue.address, "secret of the environment")
    with Experiment(glue.address, "secret of the experiment") as first:
        first.init()
        (run,) = glue.runs()
        os.kill(run, signal.SIGKILL)
        with pytest.raises(SessionLost):
            first.start()
    assert len(play(glue.address)) == 2
    for peer in (agent, environment):
        assert "the experiment has left" in peer.result(PATIENCE_S)


def test_a_run_that_hangs_keeps_nobody_out(start: Connect, hub: Callable[..., Hub]) -> None:
    glue = hub("--run-processes", "--reconnect-window", "0")
    start(RandomAgent(), glue.address, "secret of the agent")
    start(GridWorld(), glue.address, "secret of the environment")
    with Experiment(glue.address, "secret of the experiment", timeout_s=PATIENCE_S) as first:
        first.init()
        (run,) = glue.runs()
        halt(run)
        agent = start(RandomAgent(), glue.address, "secret of the agent")
        environment = start(GridWorld(), glue.address, "secret of the environment")
        assert len(play(glue.address)) == 2
        for peer in (agent, environment):
            assert "the experiment has left" in peer.result(PATIENCE_S)
        os.kill(run, signal.SIGKILL)


def test_peers_of_a_run_that_stops_for_a_while_meet_in_it(
    start: Connect, hub: Callable[..., Hub], caplog: pytest.LogCaptureFixture
) -> None:
    """No other run begins while one of them asks in vain."""
    glue = hub("--run-processes")
    agent = start(RandomAgent(), glue.address, "secret of the agent")
    glue.until("here: agent")
    (run,) = glue.runs()
    halt(run)
    environment = start(GridWorld(), glue.address, "secret of the environment")
    until(lambda: "waiting for a glue" in caplog.text, "its first try was in vain")
    os.kill(run, signal.SIGCONT)
    assert len(play(glue.address)) == 2
    for peer in (agent, environment):
        assert "the experiment has left" in peer.result(PATIENCE_S)
    glue.end()
    assert "run 2" not in "".join(glue.said)


def test_peers_of_half_filled_runs_are_brought_together(
    start: Connect, hub: Callable[..., Hub]
) -> None:
    """One run has an agent, another one the environment, as the first one's agent left it."""
    glue = hub("--run-processes", "--reconnect-window", "0.5")
    with grpc.insecure_channel(glue.address) as channel:
        first = RawAgent(channel, "secret of the agent")
        glue.until("run 1: .*here: agent")
        environment = start(GridWorld(), glue.address, "secret of the environment")
        glue.until("run 1: .*environment")
        agent = start(RandomAgent(), glue.address, "secret of the agent")
        glue.until("run 2: .*here: agent")
        first.vanish()
    glue.until("run 1: waiting for an agent and an experiment")
    assert len(play(glue.address)) == 2
    for peer in (agent, environment):
        assert "the experiment has left" in peer.result(PATIENCE_S)
    glue.end()
    nobody = "run 2: waiting for an agent, an environment and an experiment"
    assert "".join(glue.said).count(nobody) == 2  # it let its agent go, and did not have to end


@pytest.mark.parametrize("token", ["guess", "secret of the experiment"])
def test_the_token_is_checked_at_the_front(hub: Callable[..., Hub], token: str) -> None:
    glue = hub("--run-processes")
    with pytest.raises(WrongToken):
        connect(RandomAgent(), glue.address, token)
    assert glue.runs() == []


@pytest.mark.parametrize("stopped", [False, True])
def test_a_run_ends_when_its_hub_is_killed(
    start: Connect, hub: Callable[..., Hub], stopped: bool
) -> None:
    glue = hub("--run-processes", "--reconnect-window", "0")
    left = start(RandomAgent(), glue.address, "secret of the agent", connect_timeout_s=5.0)
    glue.until("here: agent")  # waits for it
    (run,) = glue.runs()
    if stopped:
        halt(run)
    glue.process.kill()
    glue.process.wait()
    until(lambda: has_ended(run), "it ends")
    # It is bid farewell, or finds out: it does not wait for ever.
    assert isinstance(left.exception(PATIENCE_S), SessionLost | Unreachable | None)


def test_ports_are_read() -> None:
    assert read_ports("4097-4099") == range(4097, 4100)


@pytest.mark.parametrize("text", ["4097", "4099-4097", "0-5", "4097-70000", "a-b", "-1-5"])
def test_ports_that_make_no_sense_are_refused(text: str) -> None:
    with raises(UsageError, f"run_ports={text}", "FIRST-LAST"):
        read_ports(text)


def test_runs_that_hang_are_ended_all_at_once(hub: Callable[..., Hub], start: Connect) -> None:
    front = hub("--run-processes")
    peers = [
        start(RandomAgent(), front.address, "secret of the agent", connect_timeout_s=5.0)
        for _ in range(3)
    ]
    until(lambda: len(front.runs()) == 3, "a run has begun for each")
    runs = front.runs()
    for run in runs:
        halt(run)
    front.process.send_signal(signal.SIGINT)
    try:
        until(lambda: any(map(has_ended, runs)), "the first is ended")
        first = time.monotonic()
        until(lambda: all(map(has_ended, runs)), "all are ended")
        # One after another, the third would have until two such times after the first.
        assert time.monotonic() - first < 2 * run_gateway._LEAVE_S
        assert front.process.wait(PATIENCE_S) == 130
    finally:
        for run in runs:
            with suppress(ProcessLookupError):
                os.kill(run, signal.SIGKILL)
    for peer in peers:
        with pytest.raises(ReglueError):
            peer.result(PATIENCE_S)
