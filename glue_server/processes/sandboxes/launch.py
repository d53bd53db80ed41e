"""The start of a program, in whatever sandbox."""

from __future__ import annotations

import secrets
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, Protocol, TypeAlias

from reglue.net.join_string import LOBBY, join_string, split_address

Isolation: TypeAlias = Literal["none", "user", "bubblewrap", "container"]

Told: TypeAlias = Callable[[int | None], str]
"""Returns a sandbox's explanation of its program's end; empty: it has none. Its argument is the
exit code of the command that was started, None where that was ended here. Raises
ContainerEngineFailed.
"""

_PROBE_S = 20.0
_FIRST_UID, _UIDS = 0x7000_0000, 0x0F00_0000  # nobody's, by any distribution's convention


@dataclass(frozen=True, slots=True)
class Used:
    """A program's use of the machine."""

    processor_s: float  # of all its processes
    peak_memory_bytes: int  # at once, with what is cached of its files


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a program in bubblewrap, or of a container, which alone limits CPUs and /tmp."""

    memory_bytes: int = 8 * 2**30  # of a container in all, of each process in bubblewrap
    processes: int = 1024  # threads count
    processors: float | None = None  # None: all
    tmp_bytes: int | None = None  # of /tmp, which counts as memory; None: the engine's choice
    gpus: str | None = None  # of a container, as the engine's --gpus takes them; None: no one


USUAL = Limits()


@dataclass(frozen=True, slots=True)
class Launch:
    """The command of a program, and the files of this machine that concern it."""

    command: Sequence[str]  # empty: what a container's image names
    environment: Mapping[str, str]
    folder: str  # in which it runs, and which it may read; empty: the image's
    hidden: Sequence[Path] = ()  # files and folders that it must not see
    readable: Sequence[Path] = ()  # more that it may read than the system and its folder
    sockets: Path | None = None  # the folder of the glue's Unix sockets
    limits: Limits = USUAL
    told: Told = lambda _: ""
    used: Callable[[], Used | None] = lambda: None  # by the program so far; None: not measured

    @property
    def by_socket(self) -> Mapping[str, str]:
        """The environment of a program without a network; as it is if there are no sockets."""
        if self.sockets is None:
            return self.environment
        there = join_string(self.environment["REGLUE_ADDRESS"], self.environment["REGLUE_TOKEN"])
        host, _ = split_address(there.address)
        name = there.tls_name or (host.strip("[]") if there.authority else "")
        here = replace(there, address=f"unix:{self.sockets / LOBBY}", tls_name=name)
        return {**self.environment, "REGLUE_ADDRESS": str(here) if here.authority else here.address}


class Sandbox(Protocol):
    """A way to run a program."""

    @property
    def isolation(self) -> Isolation:
        """Its name in results."""

    def lacks(self, launch: Launch) -> str | None:
        """The reason why the program cannot run this way here; None if it can."""

    def enclosed(self, launch: Launch) -> AbstractContextManager[Launch]:
        """The launch in this sandbox; the program ends with the context."""


def new_uid() -> int:
    """A user who owns nothing, and whose processes no other program may touch."""
    return _FIRST_UID + secrets.randbelow(_UIDS)


def tried(
    name: str,
    words: Sequence[str],
    *,
    within_s: float = _PROBE_S,
    environment: Mapping[str, str] | None = None,
) -> tuple[str | None, str]:
    """The reason why a command does not work here, None if it does; and its output."""
    try:
        done = subprocess.run(
            words, capture_output=True, text=True, timeout=within_s, env=environment, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{name} does not work here: {error}", ""
    lack = f"{name} does not work here: {done.stderr.strip()}" if done.returncode else None
    return lack, done.stdout
