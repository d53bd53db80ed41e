"""`docker compose up --build`, for real: who wins, and that agents are shut in.

Needs root on Debian, whose packages .ci/docker installs; images are kept in build/docker.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.docker.engine import HOST, NoEngine, engine
from tests.leftovers import nothing_left

ROOT = Path(__file__).parents[2]
AGENTS = ["python", "cpp", "julia", "typescript"]
MINUTES = 60.0

pytestmark = [
    pytest.mark.timeout(40 * MINUTES),
    pytest.mark.skipif(os.environ.get("REGLUE_NO_DOCKER") == "1", reason="REGLUE_NO_DOCKER=1"),
]


@dataclass(frozen=True)
class Docker:
    """Commands to an engine."""

    environment: dict[str, str]
    env_file: Path  # with tokens and a secret
    pid: int  # of a process in the engine's network namespace

    def __call__(self, *command: str, ok: Sequence[int] = (0,)) -> str:
        """Standard output of a command at the project's root; the test fails if it does."""
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode in ok, f"{command}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
        return done.stdout

    def compose(self, *command: str) -> str:
        """The same of docker-compose."""
        options = ["--project-name", "reglue-test", "--env-file", str(self.env_file)]
        return self("docker-compose", *options, *command)


@dataclass(frozen=True)
class Played:
    """A bake-off that is over."""

    log: str
    exit_codes: dict[str, int]  # by service
    runs: Path  # a copy of what the glue wrote


@pytest.fixture(scope="module")
def docker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Docker]:
    """An engine that has our Dockerfiles' base images."""
    env_file = tmp_path_factory.mktemp("secrets") / "env"
    subprocess.run(["make", "env", f"ENV={env_file}"], cwd=ROOT, check=True)
    try:
        with nothing_left(), engine(ROOT / "build" / "docker") as running:
            docker = Docker(running.environment, env_file, running.pid)
            docker("tests/docker/base-images")
            yield docker
            docker.compose("down", "--volumes")
            docker("docker", "image", "prune", "--force", "--filter", "until=24h")
    except NoEngine as error:
        pytest.fail(f"{error}\nREGLUE_NO_DOCKER=1 leaves these tests out", pytrace=False)


@pytest.fixture(scope="module")
def played(docker: Docker, tmp_path_factory: pytest.TempPathFactory) -> Played:
    log = docker.compose("up", "--build", "--no-color")
    containers = {name: docker.compose("ps", "--quiet", name).strip() for name in ["glue", *AGENTS]}
    exit_codes = {
        name: int(docker("docker", "inspect", "--format", "{{.State.ExitCode}}", container))
        for name, container in containers.items()
    }
    folder = tmp_path_factory.mktemp("bakeoff")
    docker("docker", "cp", f"{containers['glue']}:/runs", str(folder))
    return Played(log, exit_codes, folder / "runs")


def test_every_agent_plays_the_whole_plan(played: Played) -> None:
    assert played.exit_codes == dict.fromkeys(["glue", *AGENTS], 0), played.log
    results = {
        file.parent.name: json.loads(file.read_text(encoding="utf-8"))
        for file in played.runs.glob("*/*/result.json")
    }
    assert results.keys() == {*AGENTS}
    assert all(result["complete"] and not result["faults"] for result in results.values())
    assert len({result["plan_sha256"] for result in results.values()}) == 1
    assert all(result["agent"]["isolation"] == "remote" for result in results.values())


def test_the_comparison_is_printed_and_drawn(played: Played) -> None:
    (page,) = played.runs.glob("*/report.html")
    assert f"runs/{page.parent.name}/report.html" in played.log
    assert all(name in page.read_text(encoding="utf-8") for name in AGENTS)
    assert "P(better)" in played.log
    assert "PARTIAL" not in played.log


@pytest.fixture
def listener() -> Iterator[int]:
    """The port of a server on this machine's loopback."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


SHUT_IN = """
timeout 3 bash -c "exec 3<>/dev/tcp/$0" && echo has a way out
timeout 3 bash -c "exec 3<>/dev/tcp/$1/1" 2>&1 | grep refused && echo reaches this machine
touch /written ~/written && echo writes
touch /tmp/written || echo has no place for passing things
grep -E '^Cap...:.*[1-9a-f]|^NoNewPrivs:.*0$' /proc/self/status && echo has rights
[ "$(id -u)" != 0 ] || echo is root
"""


@pytest.mark.parametrize("service", AGENTS)
def test_an_agent_is_shut_in(docker: Docker, played: Played, listener: int, service: str) -> None:
    server = f"{HOST}/{listener}"
    docker("docker", "run", "--rm", "debian:bookworm-slim", "bash", "-c", f"<>/dev/tcp/{server}")
    (network,) = json.loads(docker("docker", "network", "inspect", f"reglue-test_{service}"))
    gateway = network["IPAM"]["Config"][0]["Gateway"]
    shell = ["run", "--rm", "-T", "--no-deps", "--entrypoint", "bash", service]
    assert docker.compose(*shell, "-c", SHUT_IN, server, gateway) == ""


def test_agents_cannot_reach_one_another(docker: Docker, played: Played) -> None:
    """Each has a network of its own, which only the glue is in too."""
    listen = ["--entrypoint", "python", "reglue", "-m", "http.server", "8000"]
    there = docker("docker", "run", "--rm", "-d", "--network", "reglue-test_cpp", *listen).strip()
    try:
        (told,) = json.loads(docker("docker", "inspect", there))
        address = told["NetworkSettings"]["Networks"]["reglue-test_cpp"]["IPAddress"]
        once = f'timeout 3 bash -c "exec 3<>/dev/tcp/{address}/8000" && echo in && exit'
        reach = f"for k in 1 2 3 4 5; do {once}; sleep 1; done"
        shell = ["run", "--rm", "-T", "--no-deps", "--entrypoint", "bash"]
        reach_from = {
            name: docker.compose(*shell, name, "-c", f"({reach}) 2>&1; true")
            for name in ("cpp", "python")
        }
    finally:
        docker("docker", "kill", there)
    assert "in\n" in reach_from["cpp"]
    assert "in\n" not in reach_from["python"]


def test_the_secret_is_the_glues_alone(docker: Docker, played: Played) -> None:
    lines = docker.env_file.read_text(encoding="utf-8").splitlines()
    values = dict(line.split("=") for line in lines)
    assert len(set(values.values())) == len(values) == len(AGENTS) + 1
    assert all(len(value) == 48 for value in values.values())
    for service in AGENTS:
        container = docker.compose("ps", "--quiet", service).strip()
        told = docker("docker", "inspect", container)
        found = {name for name, value in values.items() if value in told}
        assert found == {f"TOKEN_{service.upper()}"}


def test_a_program_of_a_bench_plays_in_a_container(
    docker: Docker, played: Played, tmp_path: Path
) -> None:
    """The engine's network is not this machine's, so the bench is in it too."""
    words = ["nsenter", f"--net=/proc/{docker.pid}/ns/net", sys.executable, "-m", "reglue"]
    words += "bench online:mountain-car --agent sarsa --runs 2 --episodes 2".split()
    words += ["--sandbox", "container", "--sandbox-image", "reglue-agent-python"]
    docker(*words, "--out", str(tmp_path / "run"))
    result = json.loads((tmp_path / "run" / "result.json").read_text(encoding="utf-8"))
    assert result["complete"]
    assert result["agent"]["isolation"] == "container"
    assert docker("docker", "ps", "--all", "--quiet", "--filter", "name=reglue-agent-") == ""


@pytest.mark.parametrize("service", ["glue", *AGENTS])
def test_a_container_has_limits(docker: Docker, played: Played, service: str) -> None:
    container = docker.compose("ps", "--quiet", service).strip()
    (told,) = json.loads(docker("docker", "inspect", container))
    limits = told["HostConfig"]
    assert limits["Memory"] == limits["MemorySwap"] > 0
    assert limits["NanoCpus"] > 0
    assert limits["PidsLimit"] > 0
    assert limits["ReadonlyRootfs"]
    assert limits["CapDrop"] == ["ALL"]
    assert limits["SecurityOpt"] == ["no-new-privileges"]
    assert limits["LogConfig"]["Config"]["max-size"]
    assert told["Config"]["User"] == "10001:10001"
