"""Programs of the clients in other languages, built when a test wants them."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from glue_server.conformance.checks import CHECKS, OF_GRPC_ALONE

ROOT = Path(__file__).parents[2]

TAKES_S = 600.0
LEAVES_S = 15.0


def built(client: str, target: str, path: str) -> Path:
    """What is at `path` of the client's build, up to date. One process at a time builds."""
    build = ROOT / "build" / client
    build.mkdir(parents=True, exist_ok=True)
    options = ["-G", "Ninja", "-DREGLUE_STRICT=ON"]
    if client == "c":  # is made of the C++ client's library
        options += [f"-Dreglue_DIR={built('cpp', 'reglue', 'libreglue++.a').parent}"]
    with (build / "tests.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (build / "CMakeCache.txt").exists():
            sources = ROOT / "agent_clients" / client
            run("cmake", "-S", str(sources), "-B", str(build), *options)
        run("cmake", "--build", str(build), "--target", target)
    return build / path


TYPESCRIPT = ROOT / "agent_clients/typescript"


def typescript(path: str) -> Path:
    """A program of the TypeScript client's build, such as `examples/random.js`. Fail the test if
    there is none, or the sources are newer.
    """
    program = TYPESCRIPT / "dist" / path
    if not program.exists():
        pytest.fail(f"{program} is not built: run `make typescript`", pytrace=False)
    sources = (
        source
        for folder in ("src", "conformance", "examples")
        for source in (TYPESCRIPT / folder).rglob("*.ts")
        if "gen" not in source.parts
    )
    newest = max(sources, key=lambda source: source.stat().st_mtime)
    if newest.stat().st_mtime > program.stat().st_mtime:
        pytest.fail(f"{newest} is newer than its build: run `make typescript`", pytrace=False)
    return program


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


def keeps_the_rules(
    role: str, command: str, transport: str, environment: Mapping[str, str] | None = None
) -> None:
    """Raise AssertionError unless every check of `reglue conformance` passes."""
    kit = (sys.executable, "-m", "reglue", "conformance", role)
    told = run(*kit, "--cmd", command, "--transport", transport, environment=environment)
    left_out = OF_GRPC_ALONE if transport == "unix" else set()
    asked = [check for check in CHECKS[role] if check.name not in left_out]
    assert f"{len(asked)} of {len(asked)} checks passed" in told
