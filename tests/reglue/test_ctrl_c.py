"""Ctrl-C while modules load: no traceback, and the exit code of an interrupted command."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import pytest

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    "module", ["numpy._core.multiarray", "reglue.agents.agent", "grpc", "typer"]
)
def test_ctrl_c_while_modules_load_leaves_without_a_traceback(module: str) -> None:
    """Python names each module that it has loaded."""
    code = "from reglue_script import script; script()"
    with subprocess.Popen(
        [sys.executable, "-X", "importtime", "-c", code, "glue", "--listen", "127.0.0.1:0"],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        killer = threading.Timer(60.0, process.kill)
        killer.start()
        heard = []
        for line in process.stderr:
            heard.append(line)
            if line.split("|")[-1].strip() == module:
                process.send_signal(signal.SIGINT)
                break
        rest = process.stderr.read()
        killer.cancel()
    assert process.returncode == 130, heard[-1]
    assert "Traceback" not in rest


def test_ctrl_c_while_python_ends_changes_no_exit_code() -> None:
    """Python drops its handlers then, and the system's own would kill it."""
    code = (
        "import atexit, os, signal\n"
        "atexit.register(os.kill, os.getpid(), signal.SIGINT)\n"
        "from reglue_script import script\n"
        "script()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "--version"], capture_output=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
