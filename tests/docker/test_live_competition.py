"""docs/how-to/go-live.md by its own commands: from nothing to a public page, and to another one."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import ssl
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from glue_server.rpc.tls.authority import Authority
from tests.docker.conftest import ROOT, Docker
from tests.docker.test_compose_containers import MINUTES, pytestmark  # noqa: F401 - pytest reads it
from tests.waiting import until

NAME = "comp.example.org"
PAGE = (ROOT / "docs/how-to/go-live.md").read_text(encoding="utf-8")
TEAMS = ["Ada", "Bertha"]
BLOCKS = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)

FILE = f"""
name = "live"
title = "Out of the valley"
address = "{NAME}:4096"

[[phases]]
name = "public"
kind = "public"
opens = 2026-01-01T00:00:00Z
closes = 2100-01-01T00:00:00Z

[[phases.benchmarks]]
benchmark = "online:mountain-car"
options = {{ runs = 2, episodes = 40, episode_limit = 1000 }}

[play]
reconnect_window_s = 300.0
"""


class Machine:
    """A folder as the recipe's, with an engine whose machine has the name."""

    def __init__(self, docker: Docker, folder: Path) -> None:
        self.folder = folder / "live"
        shutil.copytree(ROOT / "competition/live", self.folder)
        self._docker = docker

    def __call__(self, commands: str) -> str:
        """The output of shell commands, as root without sudo; the test fails if one fails."""
        for there, here in (
            ("sudo ", ""),
            (" exec server", " exec -T server"),
            (" run ", " run -T "),
        ):
            commands = commands.replace(there, here)
        done = subprocess.run(
            ["bash", "-euc", commands],
            cwd=self.folder,
            env=self._docker.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{commands}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
        return done.stdout

    def step(self, words: str) -> str:
        """The commands of the recipe's block that has these words, but for the images' build."""
        (block,) = (each for each in BLOCKS if words in each)
        return self(block.replace("docker-compose build\n", ""))

    def status(self) -> dict[str, str]:
        """The status of each team's submission, by team."""
        asked = "docker-compose exec -T server reglue competition runs /competitions/live --json"
        return {each["team"]: each["status"] for each in json.loads(self(asked))}


@pytest.fixture
def machine(docker: Docker, tmp_path: Path) -> Iterator[Machine]:
    replace(docker, profiles=("bakeoff",)).compose("build", "tokens", "python")  # its images
    found = Machine(docker, tmp_path)
    try:
        yield found
    finally:
        found("docker-compose down --volumes --timeout 5")


def prepared(machine: Machine, folder: Path) -> Path:
    """Its database's password, its folders and its certificate; the file of who signed that."""
    machine.step("POSTGRES_PASSWORD=")
    authority = Authority.create()
    made = authority.server(f"{NAME}:443", "127.0.0.1:443")
    for name, content in (("fullchain.pem", made.chain), ("privkey.pem", made.key)):
        (folder / name).write_bytes(content)
    machine(f"./take-certificate {folder}/fullchain.pem {folder}/privkey.pem")
    trusted = folder / "trusted.pem"
    trusted.write_text(ssl.DER_cert_to_PEM_cert(made.authority))
    return trusted


def play(machine: Machine, team: str) -> str:
    """An agent of the team joins, in a container beside the machine's; its container's name."""
    file = machine.folder / f"competitions/join-strings/{TEAMS.index(team) + 1:03}.join"
    network = f"--network host --add-host {NAME}:127.0.0.1"
    where = f"{network} --env REGLUE_ADDRESS={shlex.quote(file.read_text().strip())}"
    started = machine(f"docker container create {where} reglue-agent-python sarsa --name first")
    return machine(f"docker start {started}").strip()


def test_the_recipe_leads_to_a_live_competition_that_moves(
    machine: Machine, docker: Docker, tmp_path: Path
) -> None:
    trusted = prepared(machine, tmp_path)
    assert "token" in machine.step("competition init")
    competitions = machine.folder / "competitions"
    (competitions / "live/competition.toml").write_text(FILE)
    machine.step("check /competitions/live")
    (tmp_path / "registered.csv").write_text("\n".join(["team", *TEAMS]))
    assert "public" in machine.step("competition status").lower()

    def shows(*words: str) -> bool:
        """Whether the page answers, and has these."""
        try:
            page = docker.read("https://127.0.0.1/", str(trusted))
        except AssertionError:  # its server has not begun
            return False
        return {*words} <= {*re.findall(r"\w+", page)}

    until(lambda: shows("valley"), "the page answers", MINUTES)
    shutil.copy(tmp_path / "registered.csv", machine.folder)
    machine.step("team import")
    containers = [play(machine, team) for team in TEAMS]
    until(lambda: "playing" in machine.status().values(), "one plays", MINUTES)
    machine("docker-compose kill server && docker-compose up --detach")
    assert machine("docker wait " + " ".join(containers)).split() == ["0", "0"]
    assert machine.status() == dict.fromkeys(TEAMS, "finished")
    until(lambda: shows(*TEAMS), "both are there", MINUTES)
    (line,) = re.findall(r"^15 3 \* \* \* cd /srv/live && (.*?) && rsync", PAGE, re.MULTILINE)
    machine(line.replace(r"\%", "%"))
    (backup,) = competitions.glob("backup-*.tar.gz")
    machine("docker-compose down --volumes")  # and a new machine
    shutil.move(backup, machine.folder / "backup-1.tar.gz")
    shutil.rmtree(competitions)
    (machine.folder / ".env").unlink()
    trusted = prepared(machine, tmp_path)
    machine.step("competition restore")
    until(lambda: shows(*TEAMS), "both are back", MINUTES)
