"""Isolates an agent's program: as another user, in bubblewrap, or in a container.

Each way keeps it from the run's folder, the cache, the host's secrets and the driver's
process. Bubblewrap and a container close the network if the glue has Unix sockets.
"""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Literal, TypeAlias

from glue_server.processes.children import bound
from glue_server.processes.sandboxes.bubblewrap import bubblewrap_words, shown_paths, within
from glue_server.processes.sandboxes.container import Container
from glue_server.processes.sandboxes.launch import (
    Isolation,
    Launch,
    Limits,
    Sandbox,
    new_uid,
    tried,
)
from glue_server.processes.sandboxes.needed_paths import named_paths, needed_paths
from reglue.errors import UsageError, setting

SandboxName: TypeAlias = Literal["auto", "none", "user", "bubblewrap", "container"]

_PROBE_S = 20.0


def choose_sandbox(
    name: SandboxName, launch: Launch, say: Callable[[str], None], *, image: str | None = None
) -> Sandbox:
    """The sandbox of that name, or for `auto` the strongest that works here.

    `say` is called if that is none. Raises UsageError if `name` does not work here, or
    the program does not exist.
    """
    if name != "container" and (lack := _program_lacks(launch)):
        raise UsageError(f"the agent's program cannot be started: {lack}")
    for path in launch.readable:
        if not path.exists():
            raise UsageError(f"{setting('sandbox_read', path)}: there is no such file or folder")
    known: dict[str, Sandbox] = {
        "container": Container(image),
        "bubblewrap": Bubblewrap(),
        "user": OtherUser(),
        "none": Unconfined(),
    }
    if name != "auto":
        if lack := known[name].lacks(launch):
            raise UsageError(f"{setting('sandbox', name)}: {lack}")
        return known[name]
    if image is None:
        del known["container"]
    lacking = []
    for each, sandbox in known.items():
        if (lack := sandbox.lacks(launch)) is None:
            break
        lacking.append(f"{each}: {lack}")
    if sandbox.isolation == "none":
        say(f"no sandbox works here, so the agent has all your rights; {'; '.join(lacking)}")
    return sandbox


class Unconfined:
    """No isolation, for trusted code."""

    isolation: Isolation = "none"

    def lacks(self, launch: Launch) -> str | None:
        """Nothing."""
        return None

    @contextmanager
    def enclosed(self, launch: Launch) -> Iterator[Launch]:
        """Unchanged; the program ends with this process."""
        yield replace(launch, command=bound(launch.command))


class OtherUser:
    """Another user who owns nothing, a new one for each program. Needs root."""

    isolation: Isolation = "user"

    def lacks(self, launch: Launch) -> str | None:
        """Root, setpriv, or a path that other users may read."""
        if os.getuid() != 0:
            return "only root can start programs as another user"
        if shutil.which("setpriv") is None:
            return "there is no setpriv: apt-get install util-linux"
        closed = _closed_to_others(launch, lambda _: True)
        return f"{closed}, or use the sandbox bubblewrap" if closed else None

    @contextmanager
    def enclosed(self, launch: Launch) -> Iterator[Launch]:
        """Its home is a new folder, removed at its end."""
        uid = new_uid()
        with tempfile.TemporaryDirectory(prefix="reglue-agent-") as home:
            os.chown(home, uid, uid)
            try:
                yield replace(
                    launch,
                    command=[*_as_user(uid), *launch.command],
                    environment=_at_home(launch.environment, home),
                )
            finally:
                _end_all_of(uid)


class Bubblewrap:
    """Namespaces of its own, in which it cannot write to the system.

    For root it is another user there, too.
    """

    isolation: Isolation = "bubblewrap"

    def lacks(self, launch: Launch) -> str | None:
        """Bubblewrap, or the right to make namespaces."""
        for program, package in (("bwrap", "bubblewrap"), ("prlimit", "util-linux")):
            if shutil.which(program) is None:
                return f"there is no {program}: apt-get install {package}"
        words = bubblewrap_words([], has_network=launch.sockets is None)
        lack, _ = tried("bwrap", [*words, "--", *self._words_within(launch.limits), "true"])
        return lack

    @contextmanager
    def enclosed(self, launch: Launch) -> Iterator[Launch]:
        """With a /tmp and a home of its own, removed at its end.

        Raises UsageError for a file that root alone may read, if root starts it.
        """
        home = "/tmp/home"
        needed = needed_paths(launch.command, launch.environment, launch.folder)
        shown = shown_paths(needed, [*launch.readable, *filter(None, [launch.sockets])])
        if os.getuid() == 0 and (
            closed := _closed_to_others(launch, lambda path: bool(within(shown, [path])))
        ):
            raise UsageError(
                f"{setting('sandbox', 'bubblewrap')}: {closed}, or start Reglue as another user"
            )
        words = bubblewrap_words(
            shown, hidden=launch.hidden, folder=launch.folder, has_network=launch.sockets is None
        )
        words += ["--perms", "1777", "--dir", home, "--"]
        yield replace(
            launch,
            command=[*words, *self._words_within(launch.limits), *launch.command],
            environment=_at_home(launch.by_socket, home),
            folder="/",
        )

    def _words_within(self, limits: Limits) -> list[str]:
        """Another user if need be, then the limits: those of processes are a user's."""
        return [*(_as_user(new_uid()) if os.getuid() == 0 else []), *_limited_to(limits)]


def _program_lacks(launch: Launch) -> str | None:
    """The file, or the right to run it."""
    program = launch.command[0]
    file = Path(launch.folder, program)  # of what has a slash: from where it runs
    found = shutil.which(
        str(file) if os.sep in program else program, path=launch.environment.get("PATH")
    )
    if found is not None:
        return None
    if os.sep in program and file.is_file():
        return f"{program} is not executable: chmod +x it, or name what runs it (python {program})"
    return f"there is no {program}"


def _at_home(environment: Mapping[str, str], home: str) -> dict[str, str]:
    """Environment variables that point HOME and all caches into that folder."""
    kept = {name: value for name, value in environment.items() if not name.startswith("XDG_")}
    return kept | {"HOME": home, "TMPDIR": home, "USER": "agent", "LOGNAME": "agent"}


def _as_user(uid: int) -> list[str]:
    words = [f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "--inh-caps=-all"]
    return ["setpriv", *words, "--no-new-privs", "--pdeathsig=KILL", "--"]


def _limited_to(limits: Limits) -> list[str]:
    """The command that limits memory to which a process writes, and processes; no limit is raised.

    What it only reserves does not count, as drivers of graphics cards and Julia reserve much.
    """
    data = _at_most(limits.memory_bytes, resource.RLIMIT_DATA)
    processes = _at_most(limits.processes, resource.RLIMIT_NPROC)
    return ["prlimit", f"--data={data}", f"--nproc={processes}", "--"]


def _at_most(wanted: int, kind: int) -> int:
    _, hard = resource.getrlimit(kind)
    return wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)


def _end_all_of(uid: int) -> None:
    """Kill a user's processes, also those that left the program's group."""
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError):  # gone meanwhile
            if folder.name.isdecimal() and folder.stat().st_uid == uid:
                os.kill(int(folder.name), signal.SIGKILL)


def _closed_to_others(launch: Launch, is_seen: Callable[[Path], bool]) -> str | None:
    """The command's file that another user could not read, with advice; None if all can be read."""
    path_alone = {"PATH": launch.environment.get("PATH", "")}  # not all that is set is needed
    for path in named_paths(launch.command, path_alone, launch.folder):
        if path == Path(launch.folder) or within(launch.hidden, [path]):
            continue
        for each in filter(is_seen, [*path.parents, *path.resolve().parents, path]):
            wanted = 0o001 if each != path else 0o005 if path.is_dir() else 0o004
            if each.stat().st_mode & wanted != wanted:
                return (
                    f"the agent needs {path}, and other users may not read {each}: open it "
                    "(chmod o+rX), put the program elsewhere"
                )
    return None
