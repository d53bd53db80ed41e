"""`bakeoff.toml`: what it may say, and what is said of mistakes."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from reglue.errors import BadArgument, UsageError
from reglue_bench.bakeoff import read_bakeoff
from reglue_bench.cli.bakeoff import bakeoff
from reglue_bench.settings import Settings
from tests.error_facts import raises
from tests.reglue_bench.bakeoffs import agent, write
from tests.wrong_files import Mistake, WrongFiles

SECRET = "kept by who hosts the agents"
TWO = '[agents.a]\nagent = "random"\n[agents.b]\nagent = "constant"\n'
MT10 = '[benchmark]\nname = "MT10"\n'


WRONG = WrongFiles(
    Path(__file__).with_name("wrong_files.txt"),
    "bakeoff.toml",
    MT10 + TWO,
    lambda path: read_bakeoff(path, {}),
)


def test_agents_come_with_the_settings_of_their_runs(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        """
[agents.b]
agent = "mine.py:Mine"
agent_args = { gain = 8, quick = true, checkpoint = "w.npz", word = "8", rate = 0.5 }
label = "mine"
training_seed = 3
[agents.a]
agent_cmd = "./mine --fast"
[agents.c-1]
wait = true
""",
        benchmark='[benchmark]\nname = "MT10"\nseed = 4\nnum_episodes = 2\nbank = 1\n',
    )
    first, second, third = read_bakeoff(path, {"listen": "127.0.0.1:4096", "secret": SECRET})
    shared = Settings(
        hidden=[path.resolve()],
        benchmark="MT10",
        seed=4,
        num_episodes=2,
        bank=1.0,
        listen="127.0.0.1:4096",
        secret=SECRET,
        directory=str(tmp_path),
    )
    arguments = {"gain": "8", "quick": "true", "checkpoint": "w.npz", "word": '"8"', "rate": "0.5"}
    assert first.settings == shared.model_copy(
        update={
            "agent": "mine.py:Mine",
            "agent_args": arguments,
            "label": "mine",
            "training_seed": 3,
        }
    )
    assert second.settings == shared.model_copy(update={"agent_cmd": "./mine --fast", "label": "a"})
    assert third.settings == shared.model_copy(update={"agent": "wait", "label": "c-1"})
    assert [each.waits for each in (first, second, third)] == [False, False, True]


@pytest.mark.parametrize("mistake", WRONG.mistakes(), ids=str)
def test_a_mistake_is_told_with_its_place(tmp_path: Path, mistake: Mistake) -> None:
    assert WRONG.message(mistake, tmp_path) == mistake.message


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with raises(UsageError, tmp_path / "none.toml"):
        read_bakeoff(tmp_path / "none.toml", {})


def test_a_mistake_on_the_command_line_is_told_as_its_flag(tmp_path: Path) -> None:
    with raises(BadArgument, settings={"reconnect_window"}):
        read_bakeoff(write(tmp_path, TWO), {"reconnect_window": -1.0})


def test_a_flag_that_contradicts_the_file_is_told(tmp_path: Path) -> None:
    path = write(tmp_path, agent("one"), agent("other"))
    with raises(BadArgument, path, "workers", 0, 1, settings={"workers", "environments"}):
        read_bakeoff(path, {"environments": "ray"})


def test_the_file_of_the_help_can_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGLUE_TOKEN_FAR", "far-away")
    shown = dedent(bakeoff.__doc__ or "").partition("```toml\n")[2].partition("```")[0]
    mine, cpp, far = read_bakeoff(write(tmp_path, benchmark=dedent(shown)), {})
    assert mine.settings.agent_args["gain"] == "8"
    assert cpp.settings.agent_cmd == "./build/my_agent"
    assert (far.waits, far.token) == (True, "far-away")


def test_agents_of_a_bakeoff_do_not_see_each_others_files(tmp_path: Path) -> None:
    """Nor tokens, nor the file that names them; what two agents share, both see."""
    for name in ("a.py", "b.py", "shared.py", "far.token", "run.sh"):
        (tmp_path / name).write_text("secret", encoding="utf-8")
    file = tmp_path / "bakeoff.toml"
    file.write_text(
        '[benchmark]\nname = "MT1"\n'
        '[agents.a]\nagent = "a.py:Agent"\n'
        '[agents.b]\nagent_cmd = "/bin/sh run.sh b.py"\n'
        '[agents.c]\nagent_cmd = "/bin/sh run.sh shared.py:X"\n'
        '[agents.far]\nwait = true\ntoken_file = "far.token"\n',
        encoding="utf-8",
    )
    hidden = {
        each.name: {path.name for path in each.settings.hidden} for each in read_bakeoff(file, {})
    }
    always = {"bakeoff.toml", "far.token"}
    assert hidden["a"] == always | {"b.py", "run.sh", "shared.py"}
    assert hidden["b"] == always | {"a.py", "shared.py"}
    assert hidden["c"] == always | {"a.py", "b.py"}


def test_an_agent_that_connects_by_itself_has_no_copies(tmp_path: Path) -> None:
    path = write(tmp_path, agent("started"), "[agents.comes]\nwait = true\n")
    started, comes = read_bakeoff(path, {"processes": 3, "engine": "ray"})
    assert (started.settings.processes, started.settings.engine) == (3, "ray")
    assert (comes.settings.processes, comes.settings.engine) == (None, "local")
    assert (started.plays_without, comes.plays_without) == ((), ("--engine ray", "--processes 3"))
