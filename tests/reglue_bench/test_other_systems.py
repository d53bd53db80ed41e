"""`reglue.evaluate` plays where the system lacks what only Linux has."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

# `sitecustomize` is imported before any other module, in children as well.
WITHOUT_LINUX = """
import fcntl, os, resource, signal, socket, sys, sysconfig, time

sysconfig.get_config_vars()  # of this interpreter, before the system has another name
for module, words in {
    os: "sched_getaffinity sched_setaffinity sched_setscheduler sched_param SCHED_BATCH SCHED_IDLE "
    "pidfd_open memfd_create pipe2 eventfd posix_fallocate posix_fadvise fdatasync getxattr "
    "setxattr copy_file_range splice getrandom O_TMPFILE O_PATH O_DIRECT setresuid unshare setns",
    signal: "pidfd_send_signal sigtimedwait sigwaitinfo SIGRTMIN SIGRTMAX SIGPWR",
    socket: "SO_PEERCRED SO_PASSCRED MSG_NOSIGNAL MSG_CMSG_CLOEXEC SOCK_CLOEXEC SOCK_NONBLOCK "
    "TCP_USER_TIMEOUT AF_NETLINK AF_VSOCK MSG_MORE",
    time: "CLOCK_BOOTTIME",
    resource: "prlimit RLIMIT_NICE RLIMIT_RTPRIO",
    fcntl: "F_ADD_SEALS F_GET_SEALS F_SETPIPE_SZ",
}.items():
    for word in words.split():
        if hasattr(module, word):
            delattr(module, word)
sys.platform = "darwin"
"""

PROGRAM = """
import os, sys
import reglue

assert sys.platform == "darwin" and not hasattr(os, "sched_getaffinity")


def lean(observations):
    return (observations[:, 2] + 0.5 * observations[:, 3] > 0).astype(int)


CARTPOLE = "evaluate:gymnasium:CartPole-v1"
for agent, workers in ((lean, None), (lean, 2), ("constant", 0)):
    print(reglue.evaluate(CARTPOLE, agent, num_episodes=2, workers=workers).mean_return)
"""


def test_evaluate_needs_no_call_that_only_linux_has(tmp_path: Path) -> None:
    """In this process, in workers, and with an agent that is started by its name."""
    (tmp_path / "sitecustomize.py").write_text(WITHOUT_LINUX, encoding="utf-8")
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "program.py"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        timeout=120,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    here, elsewhere, _ = map(float, done.stdout.split())
    assert here == elsewhere == 500
    assert "Traceback" not in done.stderr
