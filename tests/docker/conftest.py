"""Our containers, in an engine of the tests' own.

Needs root on Debian, whose packages .ci/docker installs; images are kept in the user's cache,
where all checkouts of this machine find them.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tests.docker.container_engine import NoEngine, engine
from tests.leftovers import nothing_left

ROOT = Path(__file__).parents[2]
LANGUAGES = ["python", "cpp", "julia", "typescript"]
IMAGES = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "reglue-images"


@dataclass(frozen=True)
class Docker:
    """Commands to an engine."""

    environment: dict[str, str]
    pid: int  # of a process in the engine's network namespace
    profiles: tuple[str, ...] = ()  # of docker-compose.yml; without one the bake-off's

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

    @contextmanager
    def up(self) -> Iterator[None]:
        """The profiles' services, with images of what the checkout holds; then nothing of them."""
        self.compose("build", "--parallel")
        try:
            self.compose("up", "--detach")
            yield
        finally:
            self.compose("down", "--volumes")

    def compose(self, *command: str) -> str:
        """The same of docker-compose."""
        profiles = [word for profile in self.profiles for word in ("--profile", profile)]
        return self("docker-compose", "--project-name", "reglue-test", *profiles, *command)

    @property
    def network(self) -> tuple[str, ...]:
        """The command that runs the words after it in the engine's network, not this machine's."""
        return ("nsenter", f"--net=/proc/{self.pid}/ns/net")

    def beside(self, *command: str) -> str:
        """The same of a command in the engine's network."""
        return self(*self.network, *command)

    def inspected(self, service: str) -> dict[str, Any]:
        """The engine's description of a service's container, which may have ended."""
        (told,) = json.loads(self("docker", "inspect", self.container(service)))
        return dict(told)

    def container(self, service: str) -> str:
        """The id of a service's container, without docker-compose, which takes long to start."""
        labels = {"project": "reglue-test", "service": service, "oneoff": "False"}
        every = ("docker", "ps", "--all", "--quiet", "--no-trunc")
        wanted = (f"label=com.docker.compose.{name}={value}" for name, value in labels.items())
        (found,) = self(*every, *(word for each in wanted for word in ("--filter", each))).split()
        return found

    def secrets(self) -> dict[str, str]:
        """The secrets that the service `tokens` drew, by name."""
        shell = ["run", "--rm", "-T", "--no-deps", "tokens"]
        told = self.compose(*shell, "cd /tokens; for of in *; do echo $of $(cat $of/token); done")
        return dict(line.split() for line in told.splitlines())

    def mounts(self, service: str) -> dict[str, bool]:
        """The volumes of a service's container, by name, and whether it may write there."""
        mounts = self.inspected(service)["Mounts"]
        volumes = [each for each in mounts if each["Type"] == "volume"]
        return {each["Name"].removeprefix("reglue-test_"): each["RW"] for each in volumes}

    def read(self, *arguments: str) -> str:
        """The content of a page of the engine's loopback, read by a client in its network."""
        words = "import ssl, sys, urllib.request; "
        words += "tls = ssl.create_default_context(cafile=sys.argv[2]) if sys.argv[2:] else None; "
        words += (
            "print(urllib.request.urlopen(sys.argv[1], context=tls, timeout=30).read().decode())"
        )
        return self.beside(sys.executable, "-c", words, *arguments)


@pytest.fixture(scope="session")
def docker() -> Iterator[Docker]:
    """An engine that has our Dockerfiles' base images."""
    try:
        with nothing_left(), engine(IMAGES) as running:
            docker = Docker(running.environment, running.pid)
            docker("tests/docker/base-images")
            every = replace(docker, profiles=("bakeoff", "competition"))
            every.compose("down", "--volumes")  # what tests left that were killed
            yield docker
            for kept in ("image", "builder"):
                docker("docker", kept, "prune", "--force", "--filter", "until=24h")
    except NoEngine as error:
        pytest.fail(f"{error}\nREGLUE_NO_DOCKER=1 leaves these tests out", pytrace=False)


@pytest.fixture
def listener() -> Iterator[int]:
    """The port of a server on this machine's loopback."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


# Its arguments: a server beyond the engine, as HOST/PORT, and the address of its network's bridge.
SHUT_IN = """
timeout 3 bash -c "exec 3<>/dev/tcp/$0" && echo has a way out
timeout 3 bash -c "exec 3<>/dev/tcp/$1/1" 2>&1 | grep refused && echo reaches this machine
touch /written ~/written && echo writes
touch /tmp/written || echo has no place for passing things
grep -E '^Cap...:.*[1-9a-f]|^NoNewPrivs:.*0$' /proc/self/status && echo has rights
[ "$(id -u)" != 0 ] || echo is root
"""


def check_limits(told: dict[str, Any], user: str = "10001:10001") -> None:
    """Whether a container has no rights, and no more than its share of the machine."""
    limits = told["HostConfig"]
    assert limits["Memory"] == limits["MemorySwap"] > 0
    assert limits["NanoCpus"] > 0
    assert limits["PidsLimit"] > 0
    assert limits["ReadonlyRootfs"]
    assert limits["CapDrop"] == ["ALL"]
    assert limits["SecurityOpt"] == ["no-new-privileges"]
    assert limits["LogConfig"]["Config"]["max-size"]
    assert told["Config"]["User"] == user
