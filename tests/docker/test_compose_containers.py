"""`docker compose up`, for real: who wins, and that agents are shut in."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.docker.conftest import LANGUAGES, SHUT_IN, Docker, check_limits
from tests.docker.container_engine import HOST
from tests.waiting import until

MINUTES = 60.0
ENDING = ["tokens", "glue", "environment", *LANGUAGES]

pytestmark = [
    pytest.mark.timeout(40 * MINUTES),
    pytest.mark.skipif(os.environ.get("REGLUE_NO_DOCKER") == "1", reason="REGLUE_NO_DOCKER=1"),
]


@dataclass(frozen=True)
class Played:
    """A bake-off that is over."""

    log: str
    exit_codes: dict[str, int]  # by service
    runs: Path  # a copy of what the glue wrote


@pytest.fixture(scope="module")
def played(docker: Docker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Played]:
    with docker.up():
        told = {name: docker.inspected(name) for name in ENDING}
        docker("docker", "wait", *(each["Id"] for each in told.values()))
        folder = tmp_path_factory.mktemp("bakeoff")
        docker("docker", "cp", f"{told['glue']['Id']}:/runs", str(folder))
        exit_codes = {name: docker.inspected(name)["State"]["ExitCode"] for name in ENDING}
        yield Played(docker.compose("logs", "--no-color"), exit_codes, folder / "runs")


def test_every_agent_plays_the_whole_plan(played: Played) -> None:
    assert played.exit_codes == dict.fromkeys(ENDING, 0), played.log
    results = {
        file.parent.name: json.loads(file.read_text(encoding="utf-8"))
        for file in played.runs.glob("*/*/result.json")
    }
    assert results.keys() == {*LANGUAGES}
    assert all(result["complete"] and not result["faults"] for result in results.values())
    assert len({result["plan_sha256"] for result in results.values()}) == 1
    assert all(result["agent"]["isolation"] == "remote" for result in results.values())
    assert "the environment ML1:reach-v3 has connected" in played.log
    rates = {name: result["score"]["mean_success_rate"] for name, result in results.items()}
    assert rates["python"] == max(rates.values()) > rates["typescript"]


def test_the_comparison_is_printed_and_served(docker: Docker, played: Played) -> None:
    (page,) = played.runs.glob("*/report.html")
    assert f"runs/{page.parent.name}/report.html" in played.log
    assert "python (fits the rewards) has the highest success" in played.log
    assert "PARTIAL" not in played.log
    until(lambda: "The report is at" in docker.compose("logs", "report"), "it is served", MINUTES)
    assert docker.read("http://127.0.0.1:8080/").strip() == page.read_text(encoding="utf-8").strip()


@pytest.mark.parametrize("service", LANGUAGES)
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
    values = docker.secrets()
    assert len(set(values.values())) == len(values)
    assert all(len(value) == 48 for value in values.values())
    for service in ENDING:
        told = json.dumps(docker.inspected(service))
        assert not [name for name, value in values.items() if value in told]
    for language in LANGUAGES:
        assert docker.mounts(language) == {language: False}
    assert docker.mounts("environment") == {"environment": False, "goals": False}
    assert docker.mounts("report") == {"runs": False}
    held = {"environment", "secret", *LANGUAGES}
    assert docker.mounts("glue") == {"runs": True, **dict.fromkeys(held, False)}
    assert not [value for value in values.values() if value in played.log]


@pytest.mark.parametrize(
    ("image", "agent"),
    [
        ("python", ["--agent", "sarsa"]),
        ("cpp", ["--agent-cmd", "sh -c 'cat /proc/net/dev; exec sarsa_agent'"]),  # without Python
    ],
)
def test_a_program_of_a_bench_plays_in_a_container_without_a_network(
    docker: Docker, played: Played, tmp_path: Path, image: str, agent: list[str]
) -> None:
    words = [sys.executable, "-m", "reglue"]
    words += "bench online:mountain-car --runs 2 --episodes 2".split()
    words += [*agent, "--sandbox", "container", "--sandbox-image", f"reglue-agent-{image}"]
    docker(*words, "--out", str(tmp_path / "run"))
    if image == "cpp":
        log = (tmp_path / "run" / "agent.log").read_text(encoding="utf-8")
        assert {line.split(":")[0].strip() for line in log.splitlines() if ": " in line} >= {"lo"}
        assert "eth0" not in log
    result = json.loads((tmp_path / "run" / "result.json").read_text(encoding="utf-8"))
    assert result["complete"]
    assert result["agent"]["isolation"] == "container"
    assert docker("docker", "ps", "--all", "--quiet", "--filter", "name=reglue-agent-") == ""


@pytest.mark.parametrize("service", LANGUAGES)
def test_an_agent_that_is_stopped_leaves_by_itself(
    docker: Docker, played: Played, service: str
) -> None:
    """As the first process of a container, which hears no signal that it has no handler for."""
    waiting = docker.compose("run", "--detach", "--no-deps", service).strip()
    try:
        log = f"docker logs {waiting} 2>&1"
        until(lambda: "waiting for a glue" in docker("sh", "-c", log), "it waits", MINUTES)
        docker("docker", "stop", "--time", "30", waiting)
        (told,) = json.loads(docker("docker", "inspect", waiting))
    finally:
        docker("docker", "rm", "--force", waiting)
    assert told["State"]["ExitCode"] == (130 if service == "python" else 143)


@pytest.mark.parametrize("service", ["report", *ENDING])
def test_a_container_has_limits(docker: Docker, played: Played, service: str) -> None:
    check_limits(docker.inspected(service), "root" if service == "tokens" else "10001:10001")
