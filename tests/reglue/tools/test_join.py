"""`reglue join` as people and benchmarks run it: a process of its own."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import reglue
from glue_server import EpisodeRunner
from glue_server.rpc import GlueServer
from glue_server.rpc.gateways.entries import EntryRefused
from reglue import Phase
from reglue.errors import AgentFault
from tests.error_facts import raises
from tests.glue_server.playing import PATIENT, cell, corridor_pool, in_turn
from tests.glue_server.rpc.memory_entries import TOKEN, KnownEntries, gateway
from tests.glue_server.rpc.peers import seated
from tests.reglue.join_processes import Join, left, play
from tests.waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("tidy")]


# 0: a farewell.


def test_a_farewell_is_exit_code_0_and_its_words_are_shown(server: GlueServer, join: Join) -> None:
    process = join("agents.py:Still")
    play(server).close("the run is over, thank you")
    assert left(process) == (0, "reglue join: the run is over, thank you\n")


def test_address_and_token_can_be_options(server: GlueServer, join: Join) -> None:
    process = join(
        "agents.py:Still",
        *("--address", server.address, "--token", server.token),
        REGLUE_ADDRESS="127.0.0.1:1",
        REGLUE_TOKEN="other",
    )
    seated(server).close("done")
    assert left(process)[0] == 0


def test_the_join_string_may_come_first(server: GlueServer, join: Join) -> None:
    where = str(server.local_join_string("agent"))
    join(where, "--agent", "agents.py:Still", REGLUE_ADDRESS="127.0.0.1:1", REGLUE_TOKEN="other")
    assert seated(server).hello.agent == "Still"


def test_an_agent_that_waits_for_its_turn_is_said_to(join: Join) -> None:
    entries = KnownEntries()
    with gateway(entries) as front:
        where = f"reglue://{front.address}?token={TOKEN}"
        process = join(where, "--agent", "agents.py:Still", "--name", "second-try")
        until(lambda: entries.has(("came", "second-try")), "it waits")
        front.end("second-try", "the phase is over")
        code, words = left(process)
    told = (
        "reglue warning: joined as second-try; waiting for its turn\nreglue join: the phase is over"
    )
    assert (code, words.partition(" ")[2]) == (0, f"{told}\n")


def test_a_refusal_of_a_competition_is_one_line(join: Join) -> None:
    entries = KnownEntries()
    entries.refusal = EntryRefused("team A has had its two submissions of today")
    with gateway(entries) as front:
        where = f"reglue://{front.address}?token={TOKEN}"
        words = "reglue join: team A has had its two submissions of today\n"
        assert left(join(where, "--agent", "agents.py:Still")) == (2, words)


def test_the_agent_gets_its_arguments_and_its_name(server: GlueServer, join: Join) -> None:
    join("agents.py:Still", "--agent-arg", "word=a=b", "--name", "Sir Still")
    port = seated(server)
    glue = EpisodeRunner(port, corridor_pool(), timeouts=PATIENT)
    glue.init()
    assert (port.hello.agent, glue.message("?")) == ("Sir Still", "a=b")


# 1: the agent failed, or the glue is not there.


def test_an_agent_that_raises_is_exit_code_1_with_its_traceback(
    server: GlueServer, join: Join
) -> None:
    process = join("agents.py:Falling")
    port = seated(server)
    glue = EpisodeRunner(port, corridor_pool(), timeouts=PATIENT)
    glue.init()
    with raises(AgentFault, "ZeroDivisionError"):
        list(glue.play(in_turn([cell(variant=2)]), Phase.EVALUATE))
    port.close("goodbye")
    code, words = left(process)
    assert code == 1
    assert "return 1 / 0" in words


def test_an_agent_that_cannot_be_made_is_exit_code_1_with_its_traceback(join: Join) -> None:
    code, words = left(join("agents.py:Stillborn"))
    assert code == 1
    assert "OSError: no weights" in words


def test_a_glue_that_never_comes_is_exit_code_1(join: Join) -> None:
    code, words = left(
        join("agents.py:Still", "--address", "127.0.0.1:1", "--connect-timeout", "0.1")
    )
    assert code == 1
    assert words.startswith("reglue join: no glue answered at 127.0.0.1:1 within 0.1 s")


def test_a_glue_that_goes_away_is_exit_code_1(server: GlueServer, join: Join) -> None:
    process = join("agents.py:Still")
    port: Any = seated(server)
    port._stream.end()
    assert left(process) == (
        1,
        "reglue join: the glue went away: its end of the Unix socket is closed\n",
    )


# 2: wrong usage.


def test_a_wrong_token_is_exit_code_2_with_the_reason(join: Join) -> None:
    code, words = left(join("agents.py:Still", "--token", "guess"))
    assert (code, "wrong token" in words) == (2, True)


def test_a_busy_run_is_exit_code_2_with_the_reason(server: GlueServer, join: Join) -> None:
    join("agents.py:Still")
    seated(server)
    code, words = left(join("agents.py:Still"))
    assert code == 2
    assert "this run has its agent already" in words


def test_ctrl_c_is_exit_code_130(server: GlueServer, join: Join) -> None:
    process = join("agents.py:Still")
    seated(server)
    process.send_signal(signal.SIGINT)
    code, words = left(process)
    assert (code, words.count("\n")) == (130, 1)
    assert "interrupted" in words


_RANDOM = Path(reglue.__file__).with_name("examples") / "random_agent.py"


@pytest.mark.parametrize("agent", ["random", f"{_RANDOM}:RandomAgent"])
def test_an_agent_starts_without_importing_environments(agent: str) -> None:
    """A benchmark may start one for each run; they took a third of the time until it played."""
    command = [sys.executable, "-X", "importtime", "-m", "reglue", "join", agent]
    where = ["--address", "127.0.0.1:9", "--token", "x", "--connect-timeout", "0"]
    ended = subprocess.run(
        [*command, *where], check=False, capture_output=True, text=True, timeout=60
    )
    assert "no glue answered" in ended.stderr
    assert "env_adapters" not in ended.stderr
