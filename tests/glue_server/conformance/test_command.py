"""The command as a user runs it, with the Python SDK's own programs."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from glue_server.commands.conformance import _socket_path
from glue_server.conformance.checks import CHECKS, OF_GRPC_ALONE

pytestmark = pytest.mark.slow

CLASSES = {"agent": "ConformanceAgent", "environment": "ConformanceEnvironment"}


def conformance(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "reglue", "conformance", *arguments],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def join(role: str) -> str:
    """The program of a role."""
    if role == "experiment":
        return f"{sys.executable} -m reglue.conformance.experiment_under_test"
    return f"{sys.executable} -m reglue join reglue.conformance:{CLASSES[role]}"


@pytest.mark.parametrize("role", ["agent", "experiment"])  # an environment's session is an agent's
def test_the_python_sdk_keeps_the_rules_over_a_unix_socket(role: str) -> None:
    done = conformance(role, "--cmd", join(role), "--transport", "unix")
    assert done.returncode == 0, done.stdout + done.stderr
    asked = [check for check in CHECKS[role] if check.name not in OF_GRPC_ALONE]
    assert f"{len(asked)} of {len(asked)} checks passed" in done.stdout


@pytest.mark.parametrize("role", CHECKS)
def test_the_python_sdk_keeps_the_rules(role: str, tmp_path: Path) -> None:
    done = conformance(role, "--cmd", join(role), "--json", str(tmp_path / "verdicts.json"))
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads((tmp_path / "verdicts.json").read_text())
    assert (told["role"], told["protocol"], told["passed"]) == (role, "1.0", True)
    assert told["sdk"].startswith("reglue-python ")
    assert [each["name"] for each in told["checks"]] == [check.name for check in CHECKS[role]]
    assert all(each["passed"] and not each["detail"] for each in told["checks"])
    assert f"{len(CHECKS[role])} of {len(CHECKS[role])} checks passed" in done.stdout


def test_a_client_of_the_other_role_fails(tmp_path: Path) -> None:
    """Exit code 1, and the reason stands below the check."""
    verdicts = tmp_path / "verdicts.json"
    done = conformance(
        "agent", "--cmd", join("environment"), "--only", "calls.one-slot", "--json", str(verdicts)
    )
    assert done.returncode == 1
    assert "✗ calls.one-slot" in done.stdout
    assert "got an environment, wanted an agent" in done.stdout
    assert "0 of 1 checks passed" in done.stdout
    assert json.loads(verdicts.read_text())["passed"] is False


CRASHES = """
import os, signal
from glue_server.commands.conformance import _socket_path
from reglue.client import connect
from reglue.conformance import ConformanceAgent
try:
    connect(ConformanceAgent())
except Exception:
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_who_crashes_has_not_left(tmp_path: Path) -> None:
    """Where the glue sends an unreadable message, as well as elsewhere."""
    program = tmp_path / "crashes.py"
    program.write_text(CRASHES)
    done = conformance("agent", "--cmd", f"{sys.executable} {program}", "--only", "broken.*")
    assert done.returncode == 1
    assert "exit code -9" in done.stdout
    assert "0 of 9 checks passed" in done.stdout


def test_only_some_checks_can_be_asked() -> None:
    done = conformance("environment", "--cmd", join("environment"), "--only", "states.s*")
    assert done.returncode == 0, done.stdout
    assert "3 of 3 checks passed" in done.stdout


def test_a_port_that_is_taken_is_wrong_usage() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        done = conformance("agent", "--listen", address)
    assert done.returncode == 2
    assert address in done.stderr


def test_ctrl_c_ends_it_while_it_waits() -> None:
    command = [sys.executable, "-m", "reglue", "conformance", "agent", "--token", "t"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert "REGLUE_TOKEN=t" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130


def test_the_folder_of_a_clients_unix_socket_is_its_users_alone(tmp_path: Path) -> None:
    path = Path(_socket_path(tmp_path / "sockets", "agent"))
    assert path.parent.stat().st_mode & 0o777 == 0o700
