"""Logs of sessions: by REGLUE_LOG, by REGLUE_TRACE, and of a lost connection."""

from __future__ import annotations

import io
import logging
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from glue_server import EpisodeRunner
from glue_server.rpc import GlueServer
from reglue import Phase, connect
from reglue.errors import BadArgument, BadReply
from reglue.examples.random_agent import RandomAgent
from reglue.messages.agent_messages import AgentInit, RoutineDone, TextMessage
from reglue.net.join_string import Transport
from tests.error_facts import raises
from tests.glue_server.hubs import a_hub
from tests.glue_server.playing import PATIENT, cell, corridor_pool, in_turn
from tests.glue_server.rpc.peers import seated
from tests.glue_server.rpc.proxies import TRANSPORTS, cut_off, proxy_to
from tests.reglue.connecting import PATIENCE_S, Start, Still
from tests.reglue.join_processes import Join, left

TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"
CALL = rf"{TIME} reglue call %s \d+ bytes, answered by \d+ bytes in \d+\.\d\d ms"

pytestmark = pytest.mark.usefixtures("tidy")


def check(words: str, *wanted: str) -> None:
    """Raise AssertionError unless each line is as wanted."""
    for line, pattern in zip(words.splitlines(), wanted, strict=True):
        assert re.fullmatch(pattern, line), (line, pattern)


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_lost_connection_is_a_line_and_its_return_another(
    join: Join, transport: Transport
) -> None:
    with (
        GlueServer(reconnect_window_s=PATIENCE_S, transport=transport) as server,
        proxy_to(server) as proxy,
    ):
        where = ("--address", proxy.address, "--token", server.token, "--transport", transport)
        process = join("agents.py:Still", *where, REGLUE_TRACE="1")
        port = seated(server)
        port.send(AgentInit(corridor_pool().spec))
        assert isinstance(port.receive(PATIENCE_S), RoutineDone)
        with cut_off(proxy):
            port.send(TextMessage("hello"))
        assert isinstance(port.receive(PATIENCE_S), TextMessage)
        port.close("that was all")
        code, words = left(process)
    assert code == 0
    check(
        words,
        CALL % "init",
        rf"{TIME} reglue warning: lost the connection, reconnecting for up to 20\.0 s: .+",
        rf"{TIME} reglue warning: connected again after \d+\.\d s",
        CALL % "message",
        "reglue join: that was all",
    )


@pytest.mark.parametrize(
    ("level", "levels"),
    [("", ["error"]), ("error", ["error"]), ("info", ["info", "info", "error"])],
)
def test_the_least_level_that_is_shown_is_chosen(
    server: GlueServer, join: Join, level: str, levels: list[str]
) -> None:
    """The place at which the agent joined, its transport, and an answer that was refused."""
    process = join("agents.py:Still", REGLUE_LOG=level)
    port = seated(server)
    port.refuse(BadReply("WRONG_SIZE", got="less", wanted="more"))
    port.close("that was all")
    _, words = left(process)
    check(words, *(rf"{TIME} reglue {each}: .+" for each in levels), "reglue join: that was all")


def test_each_turn_is_traced(server: GlueServer, join: Join) -> None:
    """Also those that are read without protobuf."""
    process = join("agents.py:Still", REGLUE_TRACE="1")
    port = seated(server)
    glue = EpisodeRunner(port, corridor_pool(), timeouts=PATIENT)
    glue.init()
    (episode,) = glue.play(in_turn([cell(variant=2)]), Phase.EVALUATE)
    port.close("that was all")
    _, words = left(process)
    turns = 1 + episode.steps
    assert turns > 3
    check(words, CALL % "init", *turns * [CALL % "turn"], "reglue join: that was all")


PROGRAM = """
import reglue
with reglue.Experiment() as rl:
    rl.init()
    rl.start()
    for _ in range(3):
        rl.step()
"""


def test_each_call_of_a_benchmark_program_and_of_its_environment_is_traced(tmp_path: Path) -> None:
    def python(*command: str, role: str) -> subprocess.Popen[str]:
        where = {"REGLUE_ADDRESS": server.address, "REGLUE_TOKEN": server.tokens[role]}
        return subprocess.Popen(
            [sys.executable, *command],
            cwd=tmp_path,
            env=os.environ | where | {"REGLUE_TRACE": "1"},
            stderr=subprocess.PIPE,
            text=True,
        )

    with ThreadPoolExecutor(1) as pool, a_hub() as (server, _):
        agent = pool.submit(connect, RandomAgent(), server.address, server.tokens["agent"])
        (tmp_path / "world.py").write_text(WORLD)
        environment = python("world.py", role="environment")
        program = python("-c", PROGRAM, role="experiment")
        (_, asked), (_, played) = left(program), left(environment)
        agent.result(PATIENCE_S)
    check(asked, *(CALL % name for name in ("init", "start", "step", "step", "step")))
    check(played, CALL % "init", *4 * [CALL % "play"])


WORLD = """
from reglue import connect
from reglue.environments.slot_worlds import Worlds
from tests.glue_server.playing import SOLVED
from tests.worlds import Corridor
connect(Worlds(Corridor(solved=SOLVED)))
"""


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [("REGLUE_LOG", "debug", "error, warning, info"), ("REGLUE_TRACE", "yes", "1 or 0")],
)
def test_what_is_no_level_or_no_switch_is_refused(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, wanted: str
) -> None:
    monkeypatch.setenv(name, value)
    with raises(BadArgument, got=f"{name}={value}", wanted=wanted):
        connect(Still(), "127.0.0.1:1", "T")


def test_a_program_with_handlers_of_its_own_gets_the_lines_there(
    server: GlueServer, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REGLUE_LOG", "info")
    log, told = logging.getLogger("reglue"), io.StringIO()
    monkeypatch.setattr(log, "level", log.level)
    monkeypatch.setattr(log, "handlers", [logging.StreamHandler(told)])
    agent = start(Still(), server.address, server.token)
    seated(server).close("that was all")
    agent.result(PATIENCE_S)
    check(
        told.getvalue(),
        f"joined the glue at {server.address}",
        "messages travel over the glue's Unix socket",
    )
