"""The hub, its peers and its programs in processes of their own."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from env_adapters.classic.gridworld import GridWorld
from glue_server import Glue
from glue_server.peers.hub import ROLES
from glue_server.rpc import peer_streams
from reglue.errors import (
    AgentFault,
    EnvironmentFault,
)
from reglue.examples.random_agent import RandomAgent
from reglue.experiments.experiment import Experiment
from reglue.net.grpc_settings import HUB_MESSAGE_BYTES, channel_options
from reglue.net.join_string import Transport
from tests.glue_server.hubs import PATIENCE_S, TOKENS, Start, a_hub
from tests.waiting import until

pytestmark = pytest.mark.slow

PROGRAM = """
import sys
import reglue

with reglue.Experiment(sys.argv[1], "secret of the experiment", seed=5) as rl:
    rl.init()
    for _ in range(3):
        ended = rl.episode(200)
        print(ended, rl.num_steps(), rl.return_(), flush=True)
    rl.cleanup()
"""


@contextmanager
def process(*words: str) -> Iterator[subprocess.Popen[str]]:
    started = subprocess.Popen(
        [sys.executable, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        yield started
    finally:
        started.kill()
        started.communicate()


def listening(hub: subprocess.Popen[str]) -> str:
    """The address that it says."""
    assert hub.stdout is not None
    for line in hub.stdout:
        if found := re.search(r"127\.0\.0\.1:\d+", line):
            return found.group()
    raise AssertionError("it said no address")


def peer(role: str, address: str, folder: Path) -> Sequence[str]:
    at = ("--address", address, "--token", f"secret of the {role}")
    match role:
        case "agent":
            return ("-m", "reglue", "join", "random", *at)
        case "environment":
            return ("-m", "reglue", "join", "env_adapters.classic.gridworld:GridWorld", *at)
    (folder / "program.py").write_text(PROGRAM)
    return (str(folder / "program.py"), address)


def test_three_roles_in_three_processes_meet_whichever_comes_first(tmp_path: Path) -> None:
    """All programs see the same bits: the seed alone decides."""
    glue = ("-m", "reglue", "glue", "--listen", "127.0.0.1:0", *TOKENS)
    heard: set[str] = set()
    with process(*glue) as hub:
        address = listening(hub)
        for order in (ROLES[k:] + ROLES[:k] for k in range(3)):
            with (
                process(*peer(order[0], address, tmp_path)) as first,
                process(*peer(order[1], address, tmp_path)) as second,
                process(*peer(order[2], address, tmp_path)) as third,
            ):
                here = dict(zip(order, (first, second, third), strict=True))
                said, _ = here["experiment"].communicate(timeout=PATIENCE_S)
                assert here["experiment"].returncode == 0, said
                heard.add(said)
                for role in ("agent", "environment"):
                    words, _ = here[role].communicate(timeout=PATIENCE_S)
                    assert here[role].returncode == 0
                    assert "the experiment has left" in words
    assert len(heard) == 1
    assert len(heard.pop().splitlines()) == 3


def test_the_hub_leaves_by_itself_after_its_last_run() -> None:
    glue = ("-m", "reglue", "glue", "--listen", "127.0.0.1:0", *TOKENS, "--runs", "1")
    with process(*glue) as hub:
        address = listening(hub)
        with (
            process(*peer("agent", address, Path())) as agent,
            process(*peer("environment", address, Path())) as environment,
            Experiment(address, "secret of the experiment") as rl,
        ):
            rl.init()
            rl.close()
            assert hub.wait(PATIENCE_S) == 0
            assert agent.wait(PATIENCE_S) == 0
            assert environment.wait(PATIENCE_S) == 0


def test_ctrl_c_lets_everybody_go() -> None:
    glue = ("-m", "reglue", "glue", "--listen", "127.0.0.1:0", *TOKENS)
    with process(*glue) as hub:
        address = listening(hub)
        with process(*peer("agent", address, Path())) as agent:
            assert hub.stdout is not None
            for line in hub.stdout:
                if "here: agent" in line:
                    break
            hub.send_signal(signal.SIGINT)
            assert hub.wait(PATIENCE_S) == 130
            words, _ = agent.communicate(timeout=PATIENCE_S)
            assert "the hub has closed" in words


@pytest.mark.parametrize("role", ["agent", "environment"])
def test_who_is_interrupted_is_missed_at_once(start: Start, tmp_path: Path, role: str) -> None:
    """Not only when the reconnect window is over; hub, program and peer are told so."""
    with a_hub(reconnect_window_s=10 * PATIENCE_S) as (server, said):
        words = peer(role, server.address, tmp_path)
        words = [word if "secret" not in word else server.tokens[role] for word in words]
        with process(*words) as leaving:
            if role == "agent":
                other = start(GridWorld(), server.address, server.tokens["environment"])
            else:
                other = start(RandomAgent(), server.address, server.tokens["agent"])
            with Experiment(
                server.address, server.tokens["experiment"], timeout_s=PATIENCE_S
            ) as rl:
                rl.init()
                leaving.send_signal(signal.SIGINT)
                assert leaving.wait(PATIENCE_S) == 130
                with pytest.raises((AgentFault, EnvironmentFault)) as fault:
                    rl.episode(1000)
        assert str(fault.value) == f"the {role} was interrupted"
        assert other.result(PATIENCE_S) == f"the run is over: the {role} was interrupted"
        until(lambda: f"run 1 is over: the {role} was interrupted" in said, "the hub says so, too")


THINKER = """
import sys, time
import reglue

with reglue.Experiment(sys.argv[1], sys.argv[2]) as rl:
    rl.init()
    print("ready", flush=True)
    time.sleep(1000)
"""


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peer_streams, "STOPPED_S", 0.5)
    monkeypatch.setattr(peer_streams, "_LOOK_S", 0.1)
    soon = dict.fromkeys(
        ["grpc.keepalive_time_ms", "grpc.keepalive_timeout_ms", "grpc.http2.ping_timeout_ms"], 500
    )
    options = [*(dict(channel_options(HUB_MESSAGE_BYTES)) | soon).items()]
    monkeypatch.setattr("glue_server.rpc.server.channel_options", lambda _: options)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("transport", ["unix", "grpc"])
def test_nobody_is_matched_with_an_agent_that_was_stopped_while_it_waited(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, transport: Transport
) -> None:
    with a_hub(reconnect_window_s=0.0, transport=transport) as (server, said):
        words = peer("agent", server.address, tmp_path)
        words = [word if "secret" not in word else server.tokens["agent"] for word in words]
        with process(*words) as agent:
            until(lambda: "here: agent" in "".join(said), "the agent waits")
            agent.send_signal(signal.SIGSTOP)
            until(lambda: "here" not in said[-1], "it is forgotten")
    if transport == "unix":  # gRPC cannot tell it from a cable that was cut
        assert f"an agent is ended: its process {agent.pid} has been stopped" in caplog.text


@pytest.mark.usefixtures("impatient")
def test_a_run_whose_program_is_stopped_is_over(start: Start) -> None:
    with a_hub(reconnect_window_s=0.0, transport="unix") as (server, said):
        start(RandomAgent(), server.address, server.tokens["agent"])
        start(GridWorld(), server.address, server.tokens["environment"])
        with process("-c", THINKER, server.address, server.tokens["experiment"]) as program:
            assert program.stdout is not None
            assert program.stdout.readline() == "ready\n"
            program.send_signal(signal.SIGSTOP)
            over = "is over: the experiment has left"
            until(lambda: any(over in line for line in said), "the run is over")


def test_sigterm_ends_a_hub_that_a_shell_runs_in_the_background() -> None:
    """Such a shell has it ignore Ctrl-C."""
    ignoring = "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); "
    words = [sys.executable, "-m", "reglue", "glue", "--listen", "127.0.0.1:0"]
    with process("-c", f"{ignoring}os.execv(sys.executable, {words!r})") as hub:
        listening(hub)
        hub.send_signal(signal.SIGTERM)
        assert hub.wait(PATIENCE_S) == 130


def test_the_same_program_runs_in_one_process_and_over_the_hub(start: Start) -> None:
    """Bit for bit: what a routine returns does not depend on where the peers live."""

    def play(rl: Any) -> list[Any]:
        rl.init()
        seen: list[Any] = [rl.start().observations["observation"].tolist()]
        for _ in range(30):
            stepped = rl.step()
            seen.append((stepped.rewards.tolist(), stepped.observations["observation"].tolist()))
            seen.append(stepped.actions["action"].tolist())
        seen.append(rl.return_())
        return seen

    with Glue(environment=GridWorld(), agent=RandomAgent(), seed=7) as local:
        alone = play(local)
    with a_hub() as (server, _):
        start(RandomAgent(), server.address, server.tokens["agent"])
        start(GridWorld(), server.address, server.tokens["environment"])
        with Experiment(server.address, server.tokens["experiment"], seed=7) as rl:
            assert play(rl) == alone
