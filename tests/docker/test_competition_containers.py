"""`docker compose --profile competition up`, for real: four teams, and a server that is killed."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tests.docker.conftest import LANGUAGES, SHUT_IN, Docker, check_limits
from tests.docker.container_engine import HOST
from tests.waiting import until

MINUTES = 60.0
FOLDER = "/competition/example"
TEAMS = [f"team-{language}" for language in LANGUAGES]
PAGE = "https://127.0.0.1:8080/"

pytestmark = [
    pytest.mark.timeout(40 * MINUTES),
    pytest.mark.skipif(os.environ.get("REGLUE_NO_DOCKER") == "1", reason="REGLUE_NO_DOCKER=1"),
]


@dataclass(frozen=True)
class Played:
    """A competition whose teams have left, and whose server is there."""

    started: set[str]  # services
    exit_codes: dict[str, int]  # of teams' containers
    database: dict[str, Any]  # what `export --json` writes
    log: str  # the server's


@pytest.fixture(scope="module")
def docker(docker: Docker) -> Docker:
    """With the competition's profile."""
    return replace(docker, profiles=("competition",))


@pytest.fixture(scope="module")
def played(docker: Docker) -> Iterator[Played]:
    """The server is killed once a team has played some, and started again."""
    with docker.up():
        label = '{{.Label "com.docker.compose.service"}}'
        started = set(docker("docker", "ps", "--all", "--format", label).split())
        until(lambda: most_played(docker) > 1, "a team has played some", 5 * MINUTES)
        docker.compose("kill", "-s", "KILL", "competition")
        docker.compose("up", "--detach", "competition")
        ids = {name: docker.inspected(name)["Id"] for name in TEAMS}
        docker("docker", "wait", *ids.values())
        exported = docker.compose(*on_server("reglue", "competition", "export", FOLDER, "--json"))
        yield Played(
            started,
            {name: docker.inspected(name)["State"]["ExitCode"] for name in TEAMS},
            json.loads(exported),
            docker.compose("logs", "--no-color", "competition"),
        )


def on_server(*command: str) -> Sequence[str]:
    """Arguments with which docker-compose runs a command in the server's container."""
    return ["exec", "-T", "competition", *command]


def most_played(docker: Docker) -> int:
    """Episodes of the submission that has the most, as the database says."""
    asked = "SELECT coalesce(max((progress->>'done')::int), 0) FROM submission"
    psql = ["psql", "--username", "reglue", "--no-align", "--tuples-only", "--command", asked]
    return int(docker("docker", "exec", docker.container("postgres"), *psql, "competition"))


def read_page(docker: Docker, folder: Path) -> str:
    """The leaderboard, by a client that trusts the competition's own authority alone."""
    authority = folder / "authority.pem"
    authority.write_text(docker.compose(*on_server("cat", f"{FOLDER}/secrets/authority.pem")))
    return docker.read(PAGE, str(authority))


def test_only_the_competitions_services_start(played: Played) -> None:
    assert played.started == {"tokens", "competition", "postgres", *TEAMS}


def test_a_killed_server_loses_nothing_and_scores_nothing_twice(played: Played) -> None:
    assert played.exit_codes == dict.fromkeys(TEAMS, 0), played.log
    assert "goes on" in played.log
    ended = [(each["team"], each["status"]) for each in played.database["submissions"]]
    assert sorted(ended) == sorted((language, "finished") for language in LANGUAGES)
    assert [run["score"] is None for run in played.database["runs"]] == [False] * len(LANGUAGES)
    noted = Counter((each["kind"], each["team"]) for each in played.database["events"])
    for language in LANGUAGES:
        for kind in ("team added", "token made", "run recorded", "submission finished"):
            assert noted[kind, language] == 1, (kind, language)


def test_the_leaderboard_has_all_four_teams(docker: Docker, played: Played, tmp_path: Path) -> None:
    board = read_page(docker, tmp_path).partition("</table>")[0]
    teams = re.findall(r'<th scope="row" class="team"><a [^>]*>(\w+)</a>', board)
    assert sorted(teams) == sorted(LANGUAGES)


def test_every_transcript_is_verified(docker: Docker, played: Played) -> None:
    flags = f"--workers 0 --folder {FOLDER} --trust-code"
    every = f'for file in {FOLDER}/transcripts/*; do reglue verify "$file" {flags}; done'
    told = docker.compose(*on_server("sh", "-euc", every))
    assert told.count("15 of 15 episodes replayed exactly") == len(LANGUAGES)
    assert told.count("STANDS, but its signer is unknown: ") == len(LANGUAGES)
    assert "DOES NOT STAND" not in told


def test_a_team_reaches_its_server_alone(docker: Docker, played: Played) -> None:
    """Not other teams, nor PostgreSQL, nor the page, by no address that they have."""
    listen = ["--entrypoint", "python", "reglue", "-m", "http.server", "8000"]
    network = "reglue-test_team-cpp"
    there = docker("docker", "run", "--rm", "-d", "--network", network, *listen).strip()
    try:
        (told,) = json.loads(docker("docker", "inspect", there))
        other = told["NetworkSettings"]["Networks"][network]["IPAddress"]
        own, *servers = addresses(docker, "competition", first="team-python")
        (database,) = addresses(docker, "postgres")
        dialled = [
            *(f"{other}/8000", f"{database}/5432", "postgres/5432", "page/8080"),
            *(f"{address}/{port}" for address in servers for port in (4096, 8080)),
            f"{own}/8080",
        ]
        shell = ["run", "--rm", "-T", "--no-deps", "--entrypoint", "bash"]
        each = 'timeout 3 bash -c "exec 3<>/dev/tcp/$to" 2>/dev/null && echo "$to"'
        at_once = f"for to; do {each} & done; wait"
        reached = {
            name: docker.compose(*shell, name, "-c", at_once, "sh", *to).split()
            for name, to in {
                "team-python": ["competition/4096", *dialled],
                "team-cpp": [f"{other}/8000"],
            }.items()
        }
    finally:
        docker("docker", "kill", there)
    assert reached == {"team-python": ["competition/4096"], "team-cpp": [f"{other}/8000"]}


def addresses(docker: Docker, service: str, first: str = "database") -> list[str]:
    """A container's, that of one network before the others."""
    found = docker.inspected(service)["NetworkSettings"]["Networks"]
    names = sorted(found, key=lambda name: name != f"reglue-test_{first}")
    return [found[name]["IPAddress"] for name in names]


@pytest.mark.parametrize("service", ["competition", "postgres", "team-julia"])
def test_a_container_has_no_way_out(
    docker: Docker, played: Played, listener: int, service: str
) -> None:
    """One team stands for all: they differ in their programs alone."""
    server = f"{HOST}/{listener}"
    docker("docker", "run", "--rm", "debian:bookworm-slim", "bash", "-c", f"<>/dev/tcp/{server}")
    networks = docker.inspected(service)["NetworkSettings"]["Networks"]
    closed = next(name for name in networks if not name.endswith("_page"))
    (network,) = json.loads(docker("docker", "network", "inspect", closed))
    gateway = network["IPAM"]["Config"][0]["Gateway"]
    shell = ["run", "--rm", "-T", "--no-deps", "--entrypoint", "bash", service]
    assert docker.compose(*shell, "-c", SHUT_IN, server, gateway) == ""


@pytest.mark.parametrize("service", ["competition", "postgres", *TEAMS])
def test_a_container_has_limits(docker: Docker, played: Played, service: str) -> None:
    user = "999:999" if service == "postgres" else "10001:10001"
    check_limits(docker.inspected(service), user)


def test_a_team_has_its_own_token_and_nothing_else(docker: Docker, played: Played) -> None:
    values = docker.secrets()
    for service in ("competition", "postgres", *TEAMS):
        told = json.dumps(docker.inspected(service))
        assert not [name for name, value in values.items() if value in told]
    assert docker.mounts("postgres") == {"database": True, "postgres": False}
    for language in LANGUAGES:
        assert docker.mounts(f"team-{language}") == {"join": False, language: False}


def test_a_server_that_is_stopped_leaves_in_good_order(
    docker: Docker, played: Played, tmp_path: Path
) -> None:
    try:
        docker.compose("stop", "competition")
        assert docker.inspected("competition")["State"]["ExitCode"] == 0
    finally:
        docker.compose("up", "--detach", "competition")
        until(lambda: health(docker) == "healthy", "the server answers", 5 * MINUTES)
    # The page's process begins after that of the agents' port, which the health check asks.
    until(lambda: shows_leaderboard(docker, tmp_path), "the page answers", MINUTES)


def shows_leaderboard(docker: Docker, folder: Path) -> bool:
    """Whether the page answers with it."""
    try:
        return "Leaderboard" in read_page(docker, folder)
    except AssertionError:  # nobody listens yet
        return False


def health(docker: Docker) -> str:
    """The result of the server's health check."""
    return str(docker.inspected("competition")["State"]["Health"]["Status"])
