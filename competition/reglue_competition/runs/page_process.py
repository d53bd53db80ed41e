"""The page in a process of its own: a flood of requests disturbs no agent."""

from __future__ import annotations

import ipaddress
import logging
import os
import subprocess
import sys
import time

from glue_server.processes.children import bound, end_all, python_path
from reglue.net.join_string import split_address
from reglue_competition.competition_folder import DATABASE, CompetitionFolder
from reglue_competition.phases.certificates import CERTIFICATE, CERTIFICATE_KEY

log = logging.getLogger("reglue")

_AGAIN_S = 5.0  # before one that has ended is started again
_LEAVE_S = 5.0


class PageProcess:
    """Starts it at once, and again whenever it ends."""

    def __init__(self, folder: CompetitionFolder, listen: str) -> None:
        """Listen at `listen`, `host:port`; with TLS unless only this machine can reach it."""
        self._command = [
            *(sys.executable, "-P", "-m", "reglue_competition.page", str(folder.path)),
            *("--listen", listen),
            *("--public-key", folder.secrets().public_key.hex()),
        ]
        if not is_loopback(listen):
            files = (folder.secrets_path / name for name in (CERTIFICATE, CERTIFICATE_KEY))
            for flag, file in zip(("--certificate", "--key"), files, strict=True):
                self._command += [flag, str(file)]
        self._environment = {DATABASE: folder.database_url}  # it may hold a password
        self._process = self._started()
        self._since = time.monotonic()

    def keep(self) -> None:
        """Start it again if it has ended."""
        ended = self._process.poll()
        if ended is not None and time.monotonic() > self._since + _AGAIN_S:
            log.error("the page has ended with code %s, and is started again", ended)
            self._process, self._since = self._started(), time.monotonic()

    def close(self) -> None:
        """End it."""
        self._process.terminate()
        end_all([self._process], within_s=_LEAVE_S)

    def _started(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            bound(self._command),
            stdin=subprocess.DEVNULL,
            env=os.environ | python_path() | self._environment,
            start_new_session=True,  # Ctrl-C is ours to hear
        )


def is_loopback(address: str) -> bool:
    """Whether nobody outside this machine can dial `host:port`."""
    host, _ = split_address(address)
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"
