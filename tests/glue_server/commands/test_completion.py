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

TYPED = {
    "be": ["bench", "benchmarks"],
    "bench --agent-": ["--agent-cmd", "--agent-arg", "--agent-env"],
    "bench MT10 --sandbox bu": ["bubblewrap"],
    "join random --connect": ["--connect-timeout"],
    "completion f": ["fish"],
    "cache c": ["clear"],
}
"""The completions that bash offers after each of these."""

TAB = """
eval "$(reglue completion bash)"
for typed in "$@"; do
    COMP_WORDS=(reglue $typed) COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    _reglue_completion reglue
    echo "${COMPREPLY[@]}"
done
"""


def run(*command: str) -> str:
    """The command's output; it prints nothing on stderr."""
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=ENVIRONMENT)
    assert done.stderr == ""
    return done.stdout


def test_bash_completes() -> None:
    offered = run("bash", "--norc", "-c", TAB, "bash", *TYPED).splitlines()
    assert dict(zip(TYPED, map(str.split, offered), strict=True)) == TYPED


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_get_their_script(shell: str) -> None:
    reglue = shutil.which("reglue", path=ENVIRONMENT["PATH"])
    assert reglue is not None
    assert f"_REGLUE_COMPLETE=complete_{shell}" in run(reglue, "completion", shell)
