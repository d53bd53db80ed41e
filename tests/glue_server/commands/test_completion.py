"""`reglue completion` makes a shell complete commands and flags."""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig

import pytest

ENVIRONMENT = {
    **os.environ,
    "PATH": f"{sysconfig.get_path('scripts')}{os.pathsep}{os.environ['PATH']}",
}

TAB = """
eval "$1"
shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_reglue_completion reglue
echo "${COMPREPLY[@]}"
"""


def run(*command: str) -> str:
    """What it prints; on stderr it says nothing."""
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=ENVIRONMENT)
    assert done.stderr == ""
    return done.stdout


@pytest.fixture(scope="module")
def script() -> str:
    """What people evaluate in their bash."""
    return run("bash", "--norc", "-c", "reglue completion bash")


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        (["be"], ["bench", "benchmarks"]),
        (["bench", "--agent-"], ["--agent-cmd", "--agent-arg", "--agent-env"]),
        (["bench", "MT10", "--sandbox", "bu"], ["bubblewrap"]),
        (["join", "random", "--connect"], ["--connect-timeout"]),
        (["completion", "f"], ["fish"]),
        (["cache", "c"], ["clear"]),
    ],
    ids=" ".join,
)
def test_bash_completes(typed: list[str], offered: list[str], script: str) -> None:
    assert run("bash", "--norc", "-c", TAB, "bash", script, "reglue", *typed).split() == offered


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_get_their_script(shell: str) -> None:
    reglue = shutil.which("reglue", path=ENVIRONMENT["PATH"])
    assert reglue is not None
    assert f"_REGLUE_COMPLETE=complete_{shell}" in run(reglue, "completion", shell)
