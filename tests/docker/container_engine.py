"""A container engine of a test's own: nothing of this machine's is used, changed or left."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

PATIENCE_S = 60.0

HOST = "10.0.2.2"
"""This machine's loopback, as containers with a way out see it (slirp4netns' default)."""

_NAMES = "10.0.2.3"  # slirp4netns' own name server, which asks this machine's

_APART = "unshare --net --mount --pid --fork --kill-child --mount-proc".split()

_BEGIN = """
ip link set lo up
until ip -4 address show tap0 2>/dev/null | grep -q inet; do sleep 0.05; done
trap 'stops=yes; kill $!' TERM
until [ "$stops" ]; do  # it is begun again, as by its service
    dockerd --host "unix://$1/docker.sock" --exec-root "$1/exec" --pidfile "$1/pid" \
        --data-root "$2" --storage-driver overlay2 --cgroup-parent "$3" --dns "$4" &
    wait $! || wait $!  # again when told to stop
done
wait  # as the first process of its namespace: for all
"""


class NoEngine(Exception):
    """No container engine can be run here."""


@dataclass(frozen=True)
class Engine:
    """An engine that runs: how to talk to it, and a process in its network namespace."""

    environment: dict[str, str]
    pid: int


def kill(pid: int) -> None:
    """Kill the engine of that process: its service begins it again, without its containers."""
    for child in _children(pid):
        for daemon in _children(child):
            if Path(f"/proc/{daemon}/comm").read_text(encoding="utf-8") == "dockerd\n":
                os.kill(daemon, signal.SIGKILL)


@contextmanager
def engine(data: Path) -> Iterator[Engine]:
    """An engine whose images are kept in `data`.

    dockerd runs in a network, process and mount namespace of its own, so its bridges, rules,
    containers and mounts end with it; slirp4netns is its way out. Raises NoEngine.
    """
    if os.getuid() != 0:
        raise NoEngine("wanted root, which dockerd and debootstrap need")
    for program in ("dockerd", "docker-compose", "debootstrap", "slirp4netns", "unshare"):
        if shutil.which(program) is None:
            raise NoEngine(f"there is no {program}; .ci/docker installs it")
    data.mkdir(parents=True, exist_ok=True)
    with (
        FileLock(data.with_suffix(".lock")),  # two engines cannot share their images
        tempfile.TemporaryDirectory(prefix="reglue-docker-") as folder,
        _running(Path(folder), data) as pid,
    ):
        address = {"DOCKER_HOST": f"unix://{folder}/docker.sock"}
        yield Engine(os.environ | address | _building(Path(folder)), pid)


def _building(folder: Path) -> dict[str, str]:
    """Variables with which `docker build` uses BuildKit, which copies no layers between stages.

    The first client in PATH may lack it: newer ones need a plugin. `folder` names another, if any.
    """
    with_it = {"DOCKER_BUILDKIT": "1"}
    for place in os.get_exec_path():
        asked = [f"{place}/docker", "build", "--help"]
        with suppress(OSError):
            if not subprocess.run(asked, env=with_it, capture_output=True, check=False).returncode:
                (folder / "bin").mkdir()
                (folder / "bin/docker").symlink_to(asked[0])
                return with_it | {"PATH": f"{folder}/bin:{os.environ['PATH']}"}
    return {"DOCKER_BUILDKIT": "0"}


@contextmanager
def _running(folder: Path, data: Path) -> Iterator[int]:
    log, group = folder / "log", f"/{folder.name}"
    with log.open("wb") as lines:
        daemon = subprocess.Popen(
            [*_APART, "sh", "-c", _BEGIN, "dockerd", str(folder), str(data), group, _NAMES],
            stdout=lines,
            stderr=lines,
        )
        try:
            with _way_out(daemon, log):
                _until((folder / "docker.sock").exists, daemon, log)
                _until(lambda: _answers(folder), daemon, log)
                yield daemon.pid
                _stop(daemon)
        finally:
            daemon.kill()  # and with it whatever is left in its namespaces
            daemon.wait()
            for hierarchy in Path("/sys/fs/cgroup").glob(f"**{group}"):
                for each in (*hierarchy.glob("*/"), hierarchy):  # BuildKit leaves one within
                    each.rmdir()


@contextmanager
def _way_out(daemon: subprocess.Popen[bytes], log: Path) -> Iterator[None]:
    """A network card in that process's namespace, whose traffic this machine's user sends."""
    # Never in this machine's own namespace.
    _until(lambda: _network_of(daemon.pid) not in (None, _network_of(os.getpid())), daemon, log)
    with log.open("ab") as lines:
        router = subprocess.Popen(
            ["slirp4netns", "--configure", "--mtu=65520", str(daemon.pid), "tap0"],
            stdout=lines,
            stderr=lines,
        )
        try:
            yield
        finally:
            router.terminate()
            router.wait()


def _network_of(pid: int) -> Path | None:
    """The network namespace of a process; None if it is gone."""
    try:
        return Path(f"/proc/{pid}/ns/net").readlink()
    except OSError:
        return None


def _answers(folder: Path) -> bool:
    asked = ["docker", "--host", f"unix://{folder}/docker.sock", "version"]
    return subprocess.run(asked, capture_output=True, check=False).returncode == 0


def _until(ready: Callable[[], bool], daemon: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not ready():
        if daemon.poll() is not None or time.monotonic() > deadline:
            raise NoEngine(f"dockerd does not run here:\n{log.read_text(errors='replace')[-2000:]}")
        time.sleep(0.1)


def _stop(daemon: subprocess.Popen[bytes]) -> None:
    """As its service would be: containers that still run are stopped first."""
    for child in _children(daemon.pid):
        os.kill(child, signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        daemon.wait(PATIENCE_S)


def _children(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
