"""Refusals of Glue, the owner of its faults, and the clean-up after them."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from glue_server import Glue, Timeouts
from reglue.errors import (
    AgentDisconnected,
    AgentFault,
    AgentTimeout,
    BadAgentReply,
    BadArgument,
    CannotLoad,
    EnvironmentFault,
    NotAnAgent,
    NotAnEnvironment,
    OutOfDomain,
    ReglueError,
    UnknownName,
    UsageError,
)
from tests.error_facts import raises
from tests.glue_server.routines.lab import Actor, Lab
from tests.programs import program
from tests.worlds import Corridor

PATIENCE_S = 60.0


# What cannot be had.


@pytest.mark.parametrize(
    ("peers", "kind", "named"),
    [
        ({"environment": "mountain-cart"}, UnknownName, ["environment", "mountain-car"]),
        ({"environment": object()}, NotAnEnvironment, ["reglue.Environment", "gymnasium.Env"]),
        ({"environment": Corridor}, CannotLoad, ["class Corridor", "solved"]),
        ({"environment": Actor}, NotAnEnvironment, ["class Actor"]),
        (
            {"environment": "gridworld", "environment_args": {"walls": 3}},
            CannotLoad,
            ["GridWorld", "kings_moves", "'walls'"],
        ),
        ({"agent": object()}, NotAnAgent, ["object", "reglue.Agent"]),
        ({"agent": Actor}, NotAnAgent, ["class Actor"]),
        ({"agent_args": {"a": 1}}, UsageError, ["agent_args", {"a": 1}]),
        ({"environment_args": {"a": 1}}, UsageError, ["environment_args", {"a": 1}]),
        ({"agent": "random", "agent_args": {"a": {1}}}, UsageError, ["JSON", "set"]),
        ({"agent": "127.0.0.1:99999"}, BadArgument, ["address '127.0.0.1:99999'"]),
    ],
)
def test_what_cannot_be_had_says_why(
    peers: dict[str, Any], kind: type[Exception], named: list[object]
) -> None:
    whole: dict[str, Any] = {"environment": Lab(), "agent": Actor()} | peers
    glue = Glue(**whole)
    with raises(kind, *named), glue:
        pytest.fail("it opened")


@pytest.mark.parametrize(
    ("name", "value"), [("slots", "a"), ("seed", "x"), ("slots", 0), ("seed", -1)]
)
def test_slots_and_seeds_that_are_none_are_refused_at_once(name: str, value: Any) -> None:
    with raises(OutOfDomain, "integer", got=f"{name} {value!r}"):
        Glue(environment=Lab(), agent=Actor(), **{name: value})


def test_an_agent_that_there_is_not_says_which_there_are(drifter: str) -> None:
    with (
        raises(UsageError, "Drafter", drifter, "Drifter"),
        Glue(environment=Lab(), agent=f"{drifter}:Drafter"),
    ):
        pytest.fail("it opened")


@pytest.mark.parametrize(
    ("role", "kind"), [("agent", AgentDisconnected), ("environment", EnvironmentFault)]
)
def test_nobody_who_comes_is_the_peers_fault(
    role: str, kind: type[ReglueError], capsys: pytest.CaptureFixture[str]
) -> None:
    peers: dict[str, Any] = {"environment": Lab(), "agent": Actor()} | {role: "127.0.0.1:0"}
    glue = Glue(**peers, connect_timeout_s=0.1)
    with raises(kind, role, "0.1 s"):
        glue.__enter__()
    assert f"waiting up to 0.1 s for an {role}" in capsys.readouterr().err


def test_a_glue_that_is_not_entered_says_how() -> None:
    glue = Glue(environment=Lab(), agent=Actor())
    with raises(UsageError, "`with Glue(…) as rl:`"):
        glue.init()
    with glue:
        glue.init()
    with raises(UsageError, "`with Glue(…) as rl:`"):
        glue.start()


# Ends: see conftest, which looks for what is left.


def test_a_glue_cleans_its_environment_up_if_the_program_has_not() -> None:
    lab = Lab()
    with pytest.raises(ZeroDivisionError):
        fail_in(Glue(environment=lab, agent=Actor()))
    assert lab.calls[-1] == ("cleanup",)
    lab.calls.clear()
    with Glue(environment=lab, agent=Actor()) as rl:
        rl.init()
        rl.cleanup()
    assert lab.calls.count(("cleanup",)) == 1


def fail_in(glue: Glue) -> None:
    """A program that fails in mid-episode."""
    with glue as rl:
        rl.init()
        rl.start()
        raise ZeroDivisionError


def test_a_program_that_fails_leaves_no_process(drifter: str) -> None:
    with pytest.raises(ZeroDivisionError):
        fail_in(Glue(environment="gridworld", agent=f"{drifter}:Drifter"))


def test_an_agent_that_leaves_says_its_last_words(drifter: str) -> None:
    with Glue(environment="gridworld", agent=f"{drifter}:Leaver") as rl:
        rl.init()
        rl.start()
        with raises(AgentDisconnected, "exit code 3", "agent.log", "out of coffee"):
            rl.step()
        with pytest.raises(AgentFault):
            rl.start()


def test_an_agents_words_can_be_kept(drifter: str, tmp_path: Path) -> None:
    log = tmp_path / "kept.log"
    with Glue(environment="gridworld", agent=f"{drifter}:Leaver", agent_log=log) as rl:
        rl.init()
        rl.start()
        with pytest.raises(AgentFault):
            rl.step()
    assert "out of coffee" in log.read_text(encoding="utf-8")


def test_an_agent_that_does_not_answer_is_not_waited_for_forever(drifter: str) -> None:
    timeouts = Timeouts(first_step_s=30.0, step_s=0.3)
    with Glue(environment="gridworld", agent=f"{drifter}:Sleeper", timeouts=timeouts) as rl:
        rl.init()
        rl.start()
        with raises(AgentTimeout, "0.3 s"):
            rl.step()


def test_a_bad_reply_is_told_as_it_is() -> None:
    actor = Actor()
    with Glue(environment=Lab(), agent=actor) as rl:
        rl.init()
        actor.fault = "nan"
        with raises(BadAgentReply, code="NOT_FINITE"):
            rl.start()


INTERRUPTED = """
import os, sys
from glue_server import Glue
with Glue(environment="gridworld", agent="drifter.py:Drifter") as rl:
    rl.init()
    children = open(f"/proc/self/task/{os.getpid()}/children").read().split()
    print(*children, flush=True)
    while True:
        rl.episode(1000)
"""


def test_ctrl_c_leaves_nothing_running(drifter: str) -> None:
    with program(INTERRUPTED, Path(drifter).parent) as interrupted:
        assert interrupted.stdout is not None
        agents = [int(pid) for pid in interrupted.stdout.readline().split()]
        assert agents
        descriptors = [os.pidfd_open(pid) for pid in agents]
        os.killpg(interrupted.pid, signal.SIGINT)
        _, words = interrupted.communicate(timeout=PATIENCE_S)
    assert "KeyboardInterrupt" in words
    for descriptor in descriptors:
        with pytest.raises(ProcessLookupError):
            signal.pidfd_send_signal(descriptor, signal.SIGCONT)
        os.close(descriptor)
