"""Agents that teams hand in, for real: they play without a network, and end in time."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.docker.conftest import Docker
from tests.docker.container_engine import kill
from tests.docker.test_compose_containers import MINUTES, pytestmark  # noqa: F401 - pytest reads it
from tests.waiting import until

SDK = (sys.executable, "-m", "reglue")
REGLUE = (*SDK, "competition")

COMPETITION = """
name = "images"
title = "Images"
address = "127.0.0.1:4096"

[[phases]]
name = "public"
kind = "public"
agents = "submitted"
opens = 2026-01-01T00:00:00Z
closes = 2100-01-01T00:00:00Z

[[phases.benchmarks]]
benchmark = "online:mountain-car"
options = { runs = 2, episodes = 20, episode_limit = 1000 }

[[phases]]
name = "private"
kind = "private"
agents = "submitted"
opens = 2100-01-01T00:00:00Z
closes = 2101-01-01T00:00:00Z

[[phases.benchmarks]]
benchmark = "online:mountain-car"
options = { runs = 2, episodes = 20, episode_limit = 1000 }

[quotas]
at_once = 40

[play]
places = 2
connect_timeout_s = 20.0

[images]
memory_gib = 0.5
tmp_gib = 0.1
processes = 64
python = "reglue-agent-python"
"""

# What an image does, after `FROM`.
IMAGES = {
    "python": 'reglue-agent-python\nENTRYPOINT ["reglue", "join", "sarsa"]',
    "cpp": 'reglue-agent-cpp\nCMD ["sarsa_agent"]',
    "looks": 'reglue-agent-python\nCOPY look.sh /\nENTRYPOINT ["sh", "/look.sh"]',
    "ends": 'debian:bookworm-slim\nENTRYPOINT ["true"]',
    "fills": 'debian:bookworm-slim\nENTRYPOINT ["sh", "-c", "cat /dev/zero >/tmp/x; exit 9"]',
    "hogs": 'reglue-agent-python\nENTRYPOINT ["python3", "-c", "bytearray(2**30)"]',
    "forks": 'debian:bookworm-slim\nENTRYPOINT ["bash", "-c", "f() { f | f & }; f; sleep 1000"]',
    "prints": 'debian:bookworm-slim\nENTRYPOINT ["yes", "an observation"]',
    "kills": 'debian:bookworm-slim\nENTRYPOINT ["sh", "-c", "kill -9 $$"]',
    "floods": 'reglue-agent-python\nCOPY *.py /\nENTRYPOINT ["python3", "/flood.py"]',
    "reaches": 'reglue-agent-python\nCOPY *.py /\nENTRYPOINT ["python3", "/reach.py"]',
    "stays": 'debian:bookworm-slim\nENTRYPOINT ["sh", "-c", "trap : TERM; sleep 99; sleep 99"]',
    "quits": 'reglue-agent-python\nCOPY *.py /\nENTRYPOINT ["reglue", "join", "/quits.py:Quits"]',
}
# What a project's archive holds.
PROJECTS = {
    "project": {
        "reglue.txt": "agent.py:MyAgent",
        "agent.py": "from parts.mine import MyAgent",
        "parts/mine.py": """
from pathlib import Path
from reglue.examples.sarsa import Sarsa

class MyAgent(Sarsa):
    pass

def test_that_it_cannot_write():
    try:
        Path("agent.py").write_text("")
    except OSError:
        return
    raise SystemExit("it can write")

test_that_it_cannot_write()
""",
    },
    "typo": {"reglue.txt": "agent.py:MyAgent", "agent.py": "import nothing_of_that_name"},
    "class": {"reglue.txt": "agent.py:MyAgent", "agent.py": "class YourAgent: pass"},
}
FAILED = {
    "ends": "exit code 0 before it joined",
    "fills": "exit code 9 before it joined",
    "hogs": "its container has run out of memory: it may have 0.5 GiB",
    "forks": " joined",  # it did not: within 20 s, or before its bash gave up
    "prints": "no agent joined within 20 s",
    "kills": "exit code 137 (SIGKILL) before it joined",
    "floods": "exit code 0 before it joined",
    "reaches": "exit code 0 before it joined",
    "stays": "no agent joined within 20 s",
    "quits": "agent_disconnected",
    "typo": "exit code 2 before it joined",
    "class": "exit code 2 before it joined",
}
HONEST = ("python", "cpp", "looks", "project")

PROGRAMS = Path(__file__).parent / "images"
"""The files that their Dockerfiles copy."""


def archive(docker: Docker, folder: Path, name: str) -> Path:
    """An image's archive; the engine forgets the image."""
    context, tag = folder / name, f"submitted-{name}"
    shutil.copytree(PROGRAMS, context)
    (context / "Dockerfile").write_text(f"FROM {IMAGES[name]}\n", encoding="utf-8")
    docker("docker", "build", "--tag", tag, str(context))
    docker("docker", "save", "--output", str(folder / f"{name}.tar"), tag)
    docker("docker", "image", "rm", "--force", tag)
    return folder / f"{name}.tar"


def project(folder: Path, name: str) -> Path:
    """The archive of a project, as its team makes it by hand."""
    for path, content in PROJECTS[name].items():
        (folder / name / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / name / path).write_text(content, encoding="utf-8")
    made = folder / f"{name}.tar.gz"
    subprocess.run(["tar", "-czf", made, "-C", folder / name, "."], check=True)
    return made


@contextmanager
def serving(docker: Docker, competition: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The competition's server; it is stopped at the end."""
    words = [*REGLUE, "serve", str(competition), "--no-page", "--listen", "127.0.0.1:0"]
    with (competition / "server.log").open("ab") as log:
        server = subprocess.Popen(words, env=docker.environment, stdout=log, stderr=log)
    try:
        yield server
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(MINUTES)


def submissions(
    docker: Docker, competition: Path, phase: str = "public"
) -> dict[str, dict[str, Any]]:
    """Those of a phase as exported, by name, with their runs."""
    exported = json.loads(docker(*REGLUE, "export", str(competition), "--json"))
    runs: dict[str, list[dict[str, Any]]] = {}
    for run in exported["runs"]:
        runs.setdefault(run["submission"], []).append(run)
    entered = [each for each in exported["submissions"] if each["phase"] == phase]
    return {each["name"]: each | {"runs": runs.get(each["id"], [])} for each in entered}


def containers(docker: Docker) -> Sequence[str]:
    """Of agents that run."""
    return docker("docker", "ps", "--all", "--quiet", "--filter", "name=reglue-agent-").split()


@pytest.fixture(scope="module")
def competition(docker: Docker, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One whose server was killed while two images played, and in which all have ended."""
    folder = tmp_path_factory.mktemp("images")
    docker.compose("build", "python", "cpp")
    made = folder / "competition"
    docker(*REGLUE, "init", str(made))
    (made / "competition.toml").write_text(COMPETITION, encoding="utf-8")
    told = docker(*REGLUE, "team", "add", str(made), "us")
    with serving(docker, made) as server:
        until(lambda: state(docker, made, "public") == "open", "the phase is open", MINUTES)
        where = dialled(told, made)
        for name in (*IMAGES, *PROJECTS):
            file = archive(docker, folder, name) if name in IMAGES else project(folder, name)
            if name == "looks":  # it came by another way
                docker(*REGLUE, "submit", str(made), "us", str(file), "--name", name)
            else:
                docker(*SDK, "submit", where, str(file), "--name", name)
            file.unlink()
        until(lambda: len(containers(docker)) > 0, "one plays", MINUTES)
        server.kill()
        server.wait()
        until(lambda: not containers(docker), "no container is left", MINUTES)
    with serving(docker, made):

        def have_ended() -> bool:
            found = [submissions(docker, made, each) for each in ("public", "private")]
            ended = [each["status"] for of in found for each in of.values()]
            return not {"waiting", "playing"} & {*ended}

        until(have_ended, "all have ended", 10 * MINUTES)
        docker(*REGLUE, "close", str(made), "public", "--yes")
        docker(*REGLUE, "open", str(made), "private")
        until(lambda: state(docker, made, "private") == "open", "the next is open", MINUTES)
        docker(*REGLUE, "advance", str(made), "public")
        until(have_ended, "the chosen one has ended", 10 * MINUTES)
    return made


def dialled(told: str, competition: Path) -> str:
    """The team's join string, to the port that the server has."""
    log = (competition / "server.log").read_text(encoding="utf-8")
    address, join_string = re.search(r"join at (\S+)", log), re.search(r"reglue://\S+", told)
    assert address, log
    assert join_string, told
    return re.sub(r"(?<=://)[^?]+", address[1], join_string[0])


def state(docker: Docker, competition: Path, phase: str) -> str:
    """Whether that phase is planned, open or closed."""
    phases = json.loads(docker(*REGLUE, "status", str(competition), "--json"))["phases"]
    return next(str(each["state"]) for each in phases if each["name"] == phase)


def test_images_of_any_language_are_scored(docker: Docker, competition: Path) -> None:
    found = submissions(docker, competition)
    for name in HONEST:
        assert found[name]["status"] == "finished", found[name]["detail"]
        (run,) = found[name]["runs"]
        assert run["score"] is not None
        result = json.loads(run["result"])
        assert result["complete"]
        assert result["agent"]["isolation"] == "container"
        assert found[name]["image"].startswith("sha256:" if name in IMAGES else "project:")


def test_a_private_phase_is_played_without_its_teams(docker: Docker, competition: Path) -> None:
    before = submissions(docker, competition)
    ((name, chosen),) = submissions(docker, competition, "private").items()
    assert chosen["image"] == before[name]["image"]
    assert chosen["status"] == "finished", chosen["detail"]
    runs = [(run["score"], each) for each, of in before.items() for run in of["runs"]]
    assert name == max(each for each in runs if each[0] is not None)[1]


@pytest.mark.parametrize("name", FAILED)
def test_an_image_that_does_not_play_fails_by_its_own_fault(
    docker: Docker, competition: Path, name: str
) -> None:
    found = submissions(docker, competition)[name]
    assert found["status"] == "withdrawn", found["detail"]  # in its rehearsal
    assert FAILED[name] in found["detail"]
    assert "observation" not in found["detail"]  # it might print what it saw


def test_a_container_finds_nothing_but_its_socket(docker: Docker, competition: Path) -> None:
    found = submissions(docker, competition)["looks"]
    log = (competition / "runs" / found["id"] / "agent.log").read_text(encoding="utf-8")
    seen = dict(line.split(": ", 1) for line in log.splitlines() if ": " in line)
    assert seen["networks"] == "lo"
    assert seen["user"] != "0"
    assert seen["capabilities"].split()[-1] == "0" * 16
    assert seen["seccomp"].split()[-1] == "2"
    assert int(seen["processes"]) < 10
    assert seen["writes"].split() == ["/dev/shm", "/tmp"]
    assert seen["engine"] == "none"
    assert "sockets" not in seen  # it cannot list them
    assert seen["named"].split() == ["REGLUE_ADDRESS", "REGLUE_TOKEN"]


def test_what_containers_used_is_measured(docker: Docker, competition: Path) -> None:
    """Of those that play for long enough to be seen on a busy machine, too."""
    played = submissions(docker, competition)
    for name in (*HONEST, "hogs"):
        assert played[name]["processor_s"] > 0, name
        assert 0 < played[name]["peak_memory_bytes"] <= 2**29, name
    assert played["hogs"]["peak_memory_bytes"] > 2**28


@pytest.mark.parametrize("name", HONEST)
def test_an_image_among_hostile_ones_plays_as_it_does_alone(
    docker: Docker, competition: Path, name: str
) -> None:
    """To the bit: once more, when nothing else plays."""
    played = submissions(docker, competition)[name]
    told = docker(*REGLUE, "repeat", str(competition), played["id"])
    assert "came to the same transcript again" in told


def test_a_hostile_image_reaches_nothing(docker: Docker, competition: Path) -> None:
    """Also if it played when the server was killed, and so twice."""
    found = submissions(docker, competition)["reaches"]
    log = competition / "runs" / found["id"] / "agent.log"
    assert {*log.read_text(encoding="utf-8").split()} == {"reached:"}


def test_an_engine_that_dies_is_not_the_agents_fault(docker: Docker, tmp_path: Path) -> None:
    """Its containers are gone with it, and the submission goes on when it is back."""
    docker.compose("build", "python")
    made = tmp_path / "competition"
    docker(*REGLUE, "init", str(made))
    long = COMPETITION.replace("episodes = 20", "episodes = 100")
    long = long.replace("[play]", "[play]\nreconnect_window_s = 5.0")
    (made / "competition.toml").write_text(long, encoding="utf-8")
    docker(*REGLUE, "team", "add", str(made), "us")
    file = archive(docker, tmp_path, "python")
    with serving(docker, made):
        until(lambda: state(docker, made, "public") == "open", "the phase is open", MINUTES)
        docker(*REGLUE, "submit", str(made), "us", str(file), "--name", "python")

        def played() -> dict[str, Any]:
            return submissions(docker, made)["python"]

        until(lambda: bool(played()["progress"].get("done")), "it plays", 10 * MINUTES)
        kill(docker.pid)
        until(lambda: played()["status"] not in ("waiting", "playing"), "it ends", 20 * MINUTES)
    found = played()
    assert found["status"] == "finished", found["detail"]
    assert found["interrupted"] > 0
    (run,) = found["runs"]
    assert json.loads(run["result"])["status_counts"]["ok"] == 2  # runs, which are whole


def test_nothing_of_them_is_left(docker: Docker, competition: Path) -> None:
    assert containers(docker) == []
    digests = {each["image"] for each in submissions(docker, competition).values()}
    kept = docker("docker", "images", "--all", "--quiet", "--no-trunc").split()
    assert not digests & {*kept}
    assert not [*(competition / "runs").glob("*/project")]
    logs = (competition / "runs").glob("*/agent.log")
    assert all(each.stat().st_size < 70 * 2**20 for each in logs)
