"""Our errors are also ValueError or TypeError where Python's own would be."""

from __future__ import annotations

import copy
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from env_adapters.environment_configs.values import ConfigError
from reglue import Agent, TaskSpec, TensorSpec, connect
from reglue.errors import (
    AgentFault,
    BadAgentReply,
    BadArgument,
    BadReply,
    EnvironmentFault,
    MissingExtra,
    ReglueError,
    UsageError,
    setting,
    settings_of,
)
from reglue.net.join_string import join_string
from reglue_bench.settings import read_settings
from tests.error_facts import raises


@pytest.mark.parametrize(
    ("mistake", "kind"),
    [
        (lambda: TensorSpec("x", "float16"), ValueError),
        (lambda: TaskSpec((), ()), ValueError),
        (lambda: join_string("hub"), ValueError),
        (lambda: connect(Agent(), "127.0.0.1:1", transport="tcp"), ValueError),  # type: ignore[arg-type]
        (lambda: connect(Agent(), "127.0.0.1:1"), TypeError),
        (lambda: connect(object(), "127.0.0.1:1"), TypeError),
    ],
)
def test_a_bad_argument_is_pythons_own_error_too(
    mistake: Callable[[], Any], kind: type[Exception]
) -> None:
    with pytest.raises(kind) as error:
        mistake()
    assert isinstance(error.value, ReglueError)


def test_a_reply_that_does_not_fit_is_nobodys_fault_before_its_reader_says_whose() -> None:
    """An environment's can never be booked as the agent's."""
    bad = BadReply("WRONG_SIZE", got="3 rows", wanted="4")
    assert not isinstance(bad, (AgentFault, EnvironmentFault))
    agents = BadAgentReply.of(bad)
    assert isinstance(agents, AgentFault)
    assert (agents.code, agents.got, agents.wanted) == ("WRONG_SIZE", "3 rows", "4")


def test_what_was_got_and_wanted_is_in_the_message_and_beside_it() -> None:
    error = BadArgument("walls", got=3, wanted="0 to 2")
    assert (str(error), error.got, error.wanted) == ("walls: got 3, wanted 0 to 2", "3", "0 to 2")
    assert str(UsageError(got="", wanted="one")) == "got , wanted one"
    said = UsageError("gone")
    assert (str(said), said.got, said.wanted) == ("gone", "", "")
    one = UsageError(got=setting("at_once", 2), wanted=f"1 with {setting('seed')}")
    assert (one.got, one.wanted) == ("at_once=2", "1 with seed")
    assert one.with_flags() == "got --at-once 2, wanted 1 with --seed"
    peers = EnvironmentFault("reset", got="a\x1b[2J", wanted="b")
    assert (str(peers), peers.got) == ("reset: got a[2J, wanted b", "a[2J")
    deep = ConfigError("color[2]", got=1, wanted="0").within("ball")
    assert (str(deep), deep.got) == ("ball.color[2]: got 1, wanted 0", "1")
    assert (str(copy.copy(one)), copy.copy(one).got) == (str(one), one.got)


def test_what_was_wrong_in_a_setting_is_beside_the_message_too() -> None:
    with raises(BadArgument, got=0, wanted="a number greater than or equal to 1"):
        read_settings(benchmark="MT10", num_episodes=0)
    with raises(BadArgument, "benchmark: is missing", "workers: got -1", got="", wanted=""):
        read_settings(workers=-1)


def test_a_setting_is_a_keyword_a_flag_or_a_key() -> None:
    error = UsageError(f"got {setting('train_steps', 9)} with {setting('agent_args')}: omit it")
    assert str(error) == "got train_steps=9 with agent_args: omit it"
    assert error.with_flags() == "got --train-steps 9 with --agent-arg: omit it"
    assert error.settings == {"train_steps", "agent_args"}
    with pytest.raises(UsageError) as mixed, settings_of("it.toml", {"train_steps", "seed"}):
        raise error
    assert mixed.value is error
    assert error.with_flags() == "it.toml: got train_steps = 9 with --agent-arg: omit it"
    with pytest.raises(UsageError), settings_of("far.toml", {"train_steps", "agent_args"}):
        raise error
    assert str(error) == "far.toml: it.toml: got train_steps = 9 with agent_args: omit it"
    with pytest.raises(UsageError), settings_of("other.toml", {"agent_args"}):
        raise error
    assert "other.toml" not in str(error)
    assert str(MissingExtra(setting("engine", "ray"), "ray", "x")).startswith("engine=ray needs x")


def test_benchmarks_without_their_extra_name_it() -> None:
    """As the SDK alone is installed."""
    program = """
import sys
sys.modules["pydantic"] = None
try:
    from reglue_bench import evaluate
except ImportError as error:
    print(type(error).__name__, error)
"""
    told = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    ).stdout
    assert told.strip() == (
        "MissingExtra reglue_bench needs pydantic: pip install 'reglue[server]'"
    )
