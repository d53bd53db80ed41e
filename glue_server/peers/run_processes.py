"""Starts runs in processes of their own, each at a port of its own."""

from __future__ import annotations

import contextlib
import re
import secrets
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from glue_server.peers.run_process import (
    FROM_RUN,
    CannotListen,
    FromRun,
    Here,
    Listening,
    RunSettings,
    SendAway,
)
from glue_server.processes.child import Child
from glue_server.processes.message_codec import unexpected
from glue_server.processes.readable import readable
from reglue.errors import UsageError, setting
from reglue.net.join_string import JoinString, join_string, split_address

_START_S = 60.0  # how long a run's process may take to listen
_REFUSED_S = 2.0  # and one that cannot, to leave
_MOST = 16  # runs at a time, if no ports bound them


class RunProcesses:
    """Makes a run's process when it is called.

    With `ports` runs listen there, at `host`, and peers are sent to `public_host`;
    without, they listen at loopback, and peers reach them through the gateway.
    """

    def __init__(
        self, settings: RunSettings, *, host: str, public_host: str, ports: Sequence[int] | None
    ) -> None:
        """`settings` are those that all runs share."""
        self.most = len(ports) if ports else _MOST
        self._settings = settings
        self._host, self._public_host = host, public_host
        self._ports = ports
        # This thread lives as long as the process; runs, also stopped ones, notice our end by it.
        self._starter = ThreadPoolExecutor(1, thread_name_prefix="reglue-starter")
        self._begun = 0
        self._starting: RunningProcess | None = None
        self._is_stopped = False

    def __call__(self) -> RunningProcess:
        """The next run, which listens. Raises UsageError if none of its ports is free."""
        self._begun += 1
        if self._ports is None:
            return self._listening("127.0.0.1:0", public_host="")
        for port in self._ports:
            try:
                return self._listening(f"{self._host}:{port}", public_host=self._public_host)
            except UsageError as error:
                last = error
        raise UsageError(f"none of the ports for runs is free: {last}")

    def stop(self) -> None:
        """Begin no more runs, and end those that do not listen yet."""
        self._is_stopped = True
        if (starting := self._starting) is not None:
            starting.end(0.0)

    def _listening(self, listen: str, *, public_host: str) -> RunningProcess:
        # The token is between the gateway and the run.
        token = secrets.token_hex(24)
        settings = replace(self._settings, number=self._begun, listen=listen, token=token)
        process = self._starter.submit(RunningProcess, settings).result()
        self._starting = process
        try:
            if self._is_stopped:
                process.end(0.0)
            process.wait_until_it_listens(public_host)
        finally:
            self._starting = None
        return process


class RunningProcess(Child[FromRun]):
    """This end of a run's process, which starts at once, by a thread that stays."""

    join_string: JoinString
    public_address: str

    def __init__(self, settings: RunSettings) -> None:
        super().__init__("glue_server.peers.run_process", FROM_RUN, thread_stays=True)
        self._settings = settings

    def wait_until_it_listens(self, public_host: str) -> None:
        """Wait until it listens. Raises UsageError if it cannot, dies or takes too long."""
        try:
            self.send(self._settings)
            answer = self.receive(_START_S)
        except (EOFError, OSError) as error:
            self._give_up()
            what = f"a run's process died, or did not listen within {_START_S:g} s"
            raise UsageError(what) from error
        if isinstance(answer, CannotListen):
            self._give_up()
            raise UsageError(answer.why)
        if not isinstance(answer, Listening):
            raise unexpected(answer)
        self.join_string = join_string(answer.join_string)
        port = self.join_string.address.rpartition(":")[2]
        self.public_address = f"{public_host}:{port}" if public_host else ""

    def news(self, within_s: float) -> Collection[str] | None:
        if not readable([self], within_s):
            return None
        message = self.receive()
        if not isinstance(message, Here):
            raise unexpected(message)
        return message.roles

    def send_away(self, role: str) -> None:
        with contextlib.suppress(OSError):  # it has ended
            self.send(SendAway(role))

    def _give_up(self) -> None:
        self.leave()
        self.end(_REFUSED_S)


def read_ports(text: str) -> range:
    """The ports of `FIRST-LAST`. Raises UsageError."""
    found = re.fullmatch(r"(\d+)-(\d+)", text)
    first, last = (int(number) for number in found.groups()) if found else (0, 0)
    if not 0 < first <= last < 2**16:
        raise UsageError(got=setting("run_ports", text), wanted="FIRST-LAST such as 4097-4112")
    return range(first, last + 1)


def host_of(address: str) -> str:
    """The host of `host:port`. Raises UsageError."""
    return split_address(address)[0]
