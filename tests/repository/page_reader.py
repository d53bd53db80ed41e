"""A reader who does what a page says, block by block, in one folder.

A block with a title is written as that file; Python and sh without one are run. Below
`<!-- in the background -->` a script runs beside the blocks that follow it, as in another terminal,
and ends by itself; below `<!-- until Ctrl-C -->` it is interrupted with the page. One below
`<!-- not run: WHY -->` is checked as far as that goes without what it needs.

Commands and files of settings play at most two runs and episodes. Ports are free ones of this
machine. `reglue://…` stands for the join string that the last server printed for that role.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from tests.repository.pages import Block
from tests.waiting import until

_ADDRESS = re.compile(r"\b(?:127\.0\.0\.1|0\.0\.0\.0):(\d{4,5})\b")
_COUNT = re.compile(r"\b((?:runs|(?:num[-_])?episodes)(?: | = ))(\d+)")
_PRINTED = re.compile(r"(agent|environment|experiment)[^\n']*'(reglue://[^']+)'", re.IGNORECASE)
_UNTIL = "until Ctrl-C"
_JOIN_STRING = "reglue://…"
_JOINING = re.compile(rf"[^\n]*{_JOIN_STRING}[^\n]*")
_MOST_S = 240.0


@dataclass(frozen=True, slots=True)
class _Terminal:
    """A script that runs in the background."""

    process: subprocess.Popen[bytes]
    block: Block
    log: Path

    @property
    def stays(self) -> bool:
        return self.block.mark == _UNTIL

    def said(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")

    def interrupt(self) -> None:
        """As Ctrl-C does, once it has begun."""
        until(lambda: bool(self.said()), f"this begins: {self.block.text}", _MOST_S)
        os.killpg(self.process.pid, signal.SIGINT)


class Reader:
    """Does what blocks say. `values` are what stands here for examples of the page."""

    def __init__(self, folder: Path, values: Mapping[str, str] = {}) -> None:
        self._folder, self._values = folder, values
        self._ports: dict[str, str] = {}
        self._terminals: list[_Terminal] = []
        self._server: _Terminal | None = None
        self._given: dict[str, int] = {}  # how many of its join strings, by role
        self._groups: list[int] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: object, traceback: TracebackType | None
    ) -> None:
        """Interrupt the programs that still run, which must leave well, and end them."""
        try:
            if kind is None:
                for terminal in self._terminals:
                    if terminal.stays:
                        terminal.interrupt()
                self._wait()
        finally:
            for group in self._groups:
                with suppress(ProcessLookupError):
                    os.killpg(group, signal.SIGKILL)

    def do(self, block: Block, number: int) -> None:
        """Write the block's file, or run it, or check it."""
        text = _cut(block.text) if block.language in ("sh", "toml") else block.text
        text = self._as_typed(text) if block.is_run else text
        if block.title:
            path = self._folder / block.title
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        match block.language:
            case "python":
                compile(text, block.title or "block", "exec")
                if block.is_run and not block.title:
                    script = self._folder / f"block_{number}.py"
                    script.write_text(text, encoding="utf-8")
                    self._run([sys.executable, str(script)])
            case "sh":
                text = f"trap : INT\n{text}" if block.mark == _UNTIL else text  # waits for it
                command = ["sh", "-eu" if block.is_run else "-n", "-c", text]
                if block.is_run and block.mark:
                    self._begin(command, block, number)
                else:
                    self._run(command)
            case "toml":
                tomllib.loads(text)

    def _as_typed(self, text: str) -> str:
        """With addresses, join strings and other values of here."""
        text = _ADDRESS.sub(lambda found: self._address(found[1]), text)
        for shown, here in self._values.items():
            text = text.replace(shown, here)
        return _JOINING.sub(lambda found: self._joining(found[0]), text)

    def _address(self, port: str) -> str:
        if port not in self._ports:
            with socket.create_server(("127.0.0.1", 0)) as server:
                self._ports[port] = f"127.0.0.1:{server.getsockname()[1]}"
        return self._ports[port]

    def _joining(self, line: str) -> str:
        """A line with the next join string of its role, the last one again."""
        roles = ("environment", "agent")
        role = next((role for role in roles if f"--{role} " in line), "experiment")
        server = self._server
        assert server is not None, f"no server runs for {line!r}"

        def printed() -> list[str]:
            assert server.process.poll() is None, server.said()
            found = _PRINTED.findall(server.said())
            return list(dict.fromkeys(text for name, text in found if name.lower() == role))

        until(lambda: bool(printed()), f"there is a join string for {line!r}", _MOST_S)
        given, known = self._given.get(role, 0), printed()
        self._given[role] = given + 1
        return line.replace(_JOIN_STRING, known[min(given, len(known) - 1)])

    def _begin(self, command: list[str], block: Block, number: int) -> None:
        """Run it beside the next blocks; a server begins once all before have ended."""
        is_server = _JOIN_STRING not in block.text
        if is_server:
            self._wait()
        log = self._folder / f"terminal_{number}.log"
        with log.open("wb") as file:
            process = self._started(command, stdout=file, stderr=subprocess.STDOUT)
        terminal = _Terminal(process, block, log)
        self._terminals.append(terminal)
        if is_server:
            self._server, self._given = terminal, {}

    def _wait(self) -> None:
        """For what ends by itself, and what was interrupted."""
        for terminal in self._terminals:
            code = terminal.process.wait(_MOST_S)
            assert code == 130 * terminal.stays, f"{terminal.block.text}\n{terminal.said()}"
        self._terminals.clear()

    def _run(self, command: list[str]) -> None:
        process = self._started(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        said, _ = process.communicate(timeout=_MOST_S)
        assert process.returncode == 0, f"{command[-1]}\n{said.decode()[-4000:]}"

    def _started(
        self, command: list[str], *, stdout: int | IO[bytes], stderr: int
    ) -> subprocess.Popen[bytes]:
        """As a reader would, with this environment's `reglue`, in a session of its own."""
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        process = subprocess.Popen(
            command,
            cwd=self._folder,
            env={**os.environ, "PATH": path},
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,
        )
        self._groups.append(process.pid)
        return process


def _cut(text: str) -> str:
    """A script, or a file of settings, whose counts of runs and episodes are at most two."""
    return _COUNT.sub(lambda found: f"{found[1]}{min(int(found[2]), 2)}", text)
