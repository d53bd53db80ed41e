"""The page in a process of its own: a flood of requests disturbs no agent."""

from __future__ import annotations

import ipaddress
import logging
import os
import ssl
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from glue_server.processes.children import bound, end_all, python_path
from reglue.errors import UsageError
from reglue.net.join_string import split_address
from reglue_competition.competition_folder import DATABASE, CompetitionFolder
from reglue_competition.phases.certificates import CERTIFICATE, CERTIFICATE_KEY

log = logging.getLogger("reglue")

_AGAIN_S = 5.0  # before one that has ended is started again
_LEAVE_S = 5.0


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """A certificate (with those of authorities between) and its key, in PEM."""

    certificate: Path
    key: Path

    def check(self) -> None:
        """Raise UsageError unless both can be read, and belong to each other."""
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(
                self.certificate, self.key, password=lambda: ""
            )
        except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
            raise UsageError(
                got=f"{self.certificate} and {self.key}: {error}",
                wanted="a certificate and its key, in PEM, without a password",
            ) from error

    def written_at(self) -> tuple[int, ...]:
        """The times at which the files were written, nanoseconds; empty if one cannot be found."""
        try:
            return tuple(each.stat().st_mtime_ns for each in (self.certificate, self.key))
        except OSError:
            return ()


class PageProcess:
    """Starts it at once, and again whenever it ends or its certificate was renewed."""

    def __init__(self, folder: CompetitionFolder, listen: str, tls: TlsFiles | None = None) -> None:
        """Listen at `listen`, `host:port`; by TLS unless only this machine can reach it.

        `tls` takes the place of the competition's own certificate, which no browser knows. Raises
        UsageError.
        """
        if tls is None and not is_loopback(listen):
            secrets = folder.secrets_path
            tls = TlsFiles(secrets / CERTIFICATE, secrets / CERTIFICATE_KEY)
        if tls is not None:
            tls.check()
        self._command = [
            *(sys.executable, "-P", "-m", "reglue_competition.page", str(folder.path)),
            *("--listen", listen),
            *("--public-key", folder.secrets().public_key.hex()),
        ]
        if tls is not None:
            self._command += ["--certificate", str(tls.certificate), "--key", str(tls.key)]
        self._tls = tls
        self._tls_written_at = tls.written_at() if tls else ()
        self._environment = {DATABASE: folder.database_url}  # it may hold a password
        self._process = self._started()
        self._since = time.monotonic()

    def keep(self) -> None:
        """Start it again if it has ended; end it if its certificate was renewed."""
        self._look_at_certificate()
        ended = self._process.poll()
        if ended is not None and time.monotonic() > self._since + _AGAIN_S:
            log.warning("the page has ended with code %s, and is started again", ended)
            self._process, self._since = self._started(), time.monotonic()

    def _look_at_certificate(self) -> None:
        if self._tls is None or (written_at := self._tls.written_at()) == self._tls_written_at:
            return
        self._tls_written_at = written_at
        try:
            self._tls.check()
        except UsageError as error:  # half of it is written, say: the page keeps what it has
            log.warning("the page's new certificate is not used: %s", error)
        else:
            log.info("the page's certificate was renewed")
            self._process.terminate()

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
    """Whether only this machine can dial `host:port`."""
    host, _ = split_address(address)
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"
