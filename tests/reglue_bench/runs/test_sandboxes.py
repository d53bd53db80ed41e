"""The harm that an agent's program can do to its benchmark from within a sandbox: none."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reglue.errors import BadArgument, UsageError
from reglue_bench.evaluation import resume
from reglue_bench.results.result import Result
from reglue_bench.runs.observer import NullObserver
from reglue_bench.settings import read_settings
from tests.error_facts import raises
from tests.leftovers import nothing_left
from tests.ordinary_user import open_machine
from tests.programs import program
from tests.reglue_bench.agents import Seeded
from tests.reglue_bench.remote import Unheard
from tests.reglue_bench.toys import corridor_plan, joining, play, rows
from tests.waiting import until

pytestmark = pytest.mark.sandbox

ROOT = Path(__file__).parents[3]
SECRET = "a-secret-of-the-hosts"
ATTACKS = Path(__file__).with_name("attacks.sh")

SANDBOXES = ["bubblewrap", "user"]
"""They need bubblewrap, and root: `.ci/sandbox` sees to that, or says so."""


def attack(folder: Path, sandbox: str, *, victim: int) -> tuple[str, Result]:
    """The output of the attacks, and the result of their run."""
    program = folder / "attacks.sh"
    program.write_bytes(ATTACKS.read_bytes())
    token = folder / "token"
    token.write_text("another-entrants", encoding="utf-8")
    token.chmod(0o600 if sandbox == "user" else 0o644)  # bubblewrap hides what others may read
    run = folder / "run"
    words = ["/bin/sh", str(program), str(os.getpid()), str(victim), str(run), str(folder)]
    words.append(os.environ["REGLUE_CACHE_DIR"])
    result = play(
        run,
        corridor_plan(),
        agent_cmd=" ".join(words),
        secret=SECRET,
        sandbox=sandbox,
        hidden=[token],
        directory=str(folder),
    )
    return (run / "agent.log").read_text(encoding="utf-8", errors="replace"), result


@pytest.fixture
def folder() -> Iterator[Path]:
    """One that other users may read, unlike pytest's."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture
def victim() -> Iterator[int]:
    """The process of another agent, as far as an attacker can tell."""
    with subprocess.Popen(["sleep", "600"]) as process:
        yield process.pid
        process.kill()


@pytest.mark.parametrize("sandbox", SANDBOXES)
def test_a_program_in_a_sandbox_gets_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch, victim: int, sandbox: str
) -> None:
    monkeypatch.setenv("TOKEN_OTHER", "the-hosts-own")
    with nothing_left():
        printed, result = attack(folder, sandbox, victim=victim)
    assert [line for line in printed.splitlines() if line.startswith("got")] == []
    assert "done" in printed  # and it did try
    assert "has a home" in printed
    assert "has a place for files" in printed
    assert result.agent.isolation == sandbox


def test_the_attacks_are_real(folder: Path, victim: int) -> None:
    """A trusted program can do all this."""
    printed, result = attack(folder, "none", victim=victim)
    for won in ("a look at the run", "to write to the ledger", "to signal the driver"):
        assert f"got {won}" in printed
    assert result.agent.isolation == "none"


def test_an_agent_plays_in_bubblewrap_as_outside(tmp_path: Path) -> None:
    """Over the Unix socket too."""
    options: dict[str, Any] = {"agent_cmd": joining("Seeded"), "sandbox": "bubblewrap"}
    played = play(tmp_path / "in", corridor_plan(), transport="unix", **options)
    assert rows(played) == rows(play(tmp_path / "out", corridor_plan(), Seeded()))


def test_an_agent_plays_as_another_user_as_it_does_outside(tmp_path: Path) -> None:
    """On a machine where Python and the agent may be read by all."""
    code = (
        "import sys; from pathlib import Path\n"
        "from tests.reglue_bench.toys import *\n"
        "options = dict(agent_cmd=joining('Seeded'), sandbox='user', transport='unix')\n"
        "result = play(Path(sys.argv[1]), corridor_plan(), **options)\n"
        "assert result.agent.isolation == 'user', result\n"
        "assert result.complete, result.ended_early\n"
    )
    words = [*open_machine(), sys.executable, "-c", code, str(tmp_path / "run")]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_another_user_must_be_able_to_read_the_program(folder: Path) -> None:
    program = folder / "program"
    program.write_text("#!/bin/sh\n", encoding="utf-8")
    program.chmod(0o700)
    with raises(UsageError, program, "chmod", "bubblewrap", settings={"sandbox"}):
        play(folder / "run", corridor_plan(), agent_cmd=str(program), sandbox="user")


def test_a_program_that_fails_in_a_sandbox_is_told_that_it_was_in_one(tmp_path: Path) -> None:
    result = play(
        tmp_path / "run",
        corridor_plan(),
        agent_cmd=f"/bin/sh -c ': >{tmp_path}/notes'",
        sandbox="bubblewrap",
    )
    assert result.ended_early is not None
    assert " sandbox none " in result.ended_early.what
    assert not (tmp_path / "notes").exists()


@pytest.mark.parametrize("sandbox", ["none", *SANDBOXES])
def test_a_killed_driver_leaves_no_program(tmp_path: Path, sandbox: str) -> None:
    command = f"sleep {10**6 + secrets.randbelow(10**9)}"  # of this test alone
    code = (
        "import os, sys; from pathlib import Path\n"
        "from tests.reglue_bench.toys import *\n"
        "os.chdir('/')\n"
        f"play(Path({str(tmp_path)!r}, 'run'), corridor_plan(), agent_cmd={command!r},"
        f" sandbox={sandbox!r}, directory='/')\n"
    )
    with program(code, tmp_path) as driver:

        def runs() -> bool:
            assert driver.poll() is None, driver.communicate()[1]  # it says what is missing
            return command in commands()

        until(runs, "the program runs")
        driver.kill()
    until(lambda: not any(command in each for each in commands()), "it is gone")


@pytest.mark.parametrize("sandbox", SANDBOXES)
def test_what_a_program_leaves_behind_ends_with_it(tmp_path: Path, sandbox: str) -> None:
    """Also what left its group."""
    seconds = f"{10**6 + secrets.randbelow(10**9)}"  # of this test alone
    leaves = f"setsid sleep {seconds} & until ps -eo args | grep -q ^sleep.{seconds}; do :; done"
    play(
        tmp_path / "run",
        corridor_plan(),
        agent_cmd=f"/bin/sh -c '{leaves}; echo it was there'",
        sandbox=sandbox,
        directory="/",
    )
    assert "it was there" in (tmp_path / "run" / "agent.log").read_text(encoding="utf-8")
    assert f"sleep {seconds}" not in commands()


@pytest.mark.parametrize("sandbox", ["none", *SANDBOXES])
def test_a_missing_program_is_wrong_usage(tmp_path: Path, sandbox: str) -> None:
    with raises(UsageError, "no my_agnet"):
        play(tmp_path / "run", corridor_plan(), agent_cmd="my_agnet --quick", sandbox=sandbox)


def commands() -> list[str]:
    """All processes' commands."""
    words = ["ps", "-ww", "-eo", "args"]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()


@pytest.mark.parametrize("sandbox", ["none", *SANDBOXES])
def test_a_signal_that_ends_a_program_is_told(tmp_path: Path, sandbox: str) -> None:
    command = "/bin/sh -c 'kill -KILL $$; sleep 60'"
    result = play(
        tmp_path / "run", corridor_plan(), agent_cmd=command, sandbox=sandbox, directory="/"
    )
    assert result.ended_early is not None
    assert "SIGKILL" in result.ended_early.what


def test_a_file_that_it_may_read_is_there_though_its_folder_is_not(tmp_path: Path) -> None:
    weights, rest = tmp_path / "weights", tmp_path / "rest"
    for file in (weights, rest):
        file.write_text("seven", encoding="utf-8")
    play(
        tmp_path / "run",
        corridor_plan(),
        agent_cmd=f"/bin/sh -c 'cat {weights} {rest}'",
        sandbox="bubblewrap",
        sandbox_read=[weights],
    )
    printed = (tmp_path / "run" / "agent.log").read_text(encoding="utf-8")
    assert printed.count("seven") == 1


def test_who_hosts_agents_of_others_gets_the_strongest_sandbox(tmp_path: Path) -> None:
    hosted = play(tmp_path / "a", corridor_plan(), agent_cmd=joining("Seeded"), secret=SECRET)
    own = play(tmp_path / "b", corridor_plan(), agent_cmd=joining("Seeded"))
    assert (hosted.agent.isolation, own.agent.isolation) == ("bubblewrap", "none")
    assert hosted.complete


def test_a_run_that_goes_on_without_its_secret_stays_in_its_sandbox(tmp_path: Path) -> None:
    stop = tmp_path / "fault"
    stop.touch()
    command = joining(f"Mendable --agent-arg fault={stop} --agent-arg how=exit")
    assert not play(tmp_path / "run", corridor_plan(), agent_cmd=command, secret=SECRET).complete
    stop.unlink()
    again = resume(tmp_path / "run", NullObserver())
    assert (again.complete, again.agent.isolation) == (True, "bubblewrap")


def test_where_no_sandbox_works_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("sleep", "true"):
        (tmp_path / name).symlink_to(shutil.which(name) or "")
    monkeypatch.setenv("PATH", str(tmp_path))
    heard = Unheard()
    result = play(
        tmp_path / "run", corridor_plan(), agent_cmd="true", sandbox="auto", watcher=heard
    )
    assert result.agent.isolation == "none"
    assert any("apt-get install bubblewrap" in said for said in heard.said)


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"sandbox": "container"}, ["sandbox=container", "sandbox_image"]),
        ({"sandbox": "container", "sandbox_image": "x"}, ["sandbox=container", "docker", "podman"]),
        ({"sandbox": "bubblewrap"}, ["sandbox=bubblewrap", "bwrap", "apt-get install bubblewrap"]),
        ({"sandbox": "bubblewrap", "sandbox_read": ["/not/there"]}, ["sandbox_read=/not/there"]),
    ],
)
def test_a_sandbox_that_cannot_be_had_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any], named: list[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with raises(UsageError, *named):
        play(tmp_path / "run", corridor_plan(), agent_cmd="/bin/sh", **settings)


def test_an_engine_that_does_not_answer_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As docker without its daemon."""
    engine = tmp_path / "docker"
    engine.write_text("#!/bin/sh\necho nobody serves >&2\nexit 1\n", encoding="utf-8")
    engine.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with raises(UsageError, "sandbox=container", "docker", "nobody serves"):
        play(
            tmp_path / "run",
            corridor_plan(),
            agent_cmd="/bin/sh",
            sandbox="container",
            sandbox_image="x",
        )


@pytest.mark.parametrize("sandbox", ["none", *SANDBOXES])
def test_a_program_that_is_not_executable_is_told_from_one_that_there_is_not(
    tmp_path: Path, sandbox: str
) -> None:
    (tmp_path / "agent.py").touch()
    with raises(UsageError, "./agent.py", "chmod +x", "python ./agent.py"):
        play(
            tmp_path / "run",
            corridor_plan(),
            agent_cmd="./agent.py --quick",
            sandbox=sandbox,
            directory=str(tmp_path),
        )


def test_an_image_needs_a_sandbox_that_has_one() -> None:
    with raises(BadArgument, "mine", settings={"sandbox", "sandbox_image"}):
        read_settings(benchmark="MT10", agent="random", sandbox_image="mine")


def test_an_object_is_in_the_benchmarks_own_process(tmp_path: Path) -> None:
    assert play(tmp_path, corridor_plan(), Seeded()).agent.isolation == "in process"


def test_the_weakest_isolation_of_all_sessions_is_told(tmp_path: Path) -> None:
    stop = tmp_path / "fault"
    stop.touch()
    command = joining(f"Mendable --agent-arg fault={stop} --agent-arg how=exit")
    first = play(tmp_path / "run", corridor_plan(), agent_cmd=command, sandbox="none")
    assert not first.complete
    stop.unlink()
    again = resume(tmp_path / "run", NullObserver(), sandbox="bubblewrap")
    assert again.agent.isolation == "none"
