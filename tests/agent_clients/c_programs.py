"""Programs of the C client and its library, built when a test wants them."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES, BUILD = ROOT / "agent_clients/c", ROOT / "build/c"

TAKES_S = 600.0


def built_in_c(target: str, path: str) -> Path:
    """What is at `path` of the build, up to date. One process at a time builds."""
    BUILD.mkdir(parents=True, exist_ok=True)
    with (BUILD / "tests.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (BUILD / "CMakeCache.txt").exists():
            run("cmake", "-S", str(SOURCES), "-B", str(BUILD), "-G", "Ninja", "-DREGLUE_STRICT=ON")
        run("cmake", "--build", str(BUILD), "--target", target)
    return BUILD / path


def run(*command: str, environment: Mapping[str, str] | None = None) -> str:
    """What it printed. Raise AssertionError with all that it said if it fails."""
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=TAKES_S,
        check=False,
        env=os.environ | (environment or {}),
    )
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"
    return done.stdout


def conformance(
    role: str, command: str, *words: str, environment: Mapping[str, str] | None = None
) -> None:
    """Raise AssertionError unless `reglue conformance` with these words passes."""
    kit = (sys.executable, "-m", "reglue", "conformance", role)
    run(*kit, "--cmd", command, *words, environment=environment)
