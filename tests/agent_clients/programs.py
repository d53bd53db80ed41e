"""Programs of the C++ client, built when a test wants them."""

from __future__ import annotations

import fcntl
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES, BUILD = ROOT / "agent_clients/cpp", ROOT / "build/cpp"

LEAVES_S = 15.0


def built(target: str, path: str) -> Path:
    """The program at `path` of the build, up to date. One process at a time builds."""
    BUILD.mkdir(parents=True, exist_ok=True)
    with (BUILD / "tests.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (BUILD / "CMakeCache.txt").exists():
            _run("cmake", "-S", str(SOURCES), "-B", str(BUILD), "-G", "Ninja")
        _run("cmake", "--build", str(BUILD), "--target", target)
    return BUILD / path


@contextmanager
def playing(program: Path, address: str, token: str = "") -> Iterator[None]:
    """The program, which dials there. It has left at the end, or is killed."""
    where = {"REGLUE_ADDRESS": address, "REGLUE_TOKEN": token}
    with subprocess.Popen([str(program)], env=os.environ | where) as process:
        try:
            yield
            process.wait(LEAVES_S)
        finally:
            process.kill()


def _run(*command: str) -> None:
    """Raise AssertionError with all that it said if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"
