"""Isolates an agent's program: as another user, in bubblewrap, or in a container.

Each way keeps it from the run's folder, the cache, the host's secrets and the driver's
process. Bubblewrap and a container close the network if the glue has Unix sockets.
"""

from __future__ import annotations

import contextlib
import os
import resource
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, Protocol, TypeAlias

from glue_server.processes.bubblewrap import bubblewrap_words, shown_paths, within
from glue_server.processes.children import bound
from glue_server.processes.needed_paths import named_paths, needed_paths
from reglue.errors import UsageError, setting
from reglue.net.join_string import LOBBY, join_string, split_address

Isolation: TypeAlias = Literal["none", "user", "bubblewrap", "container"]
SandboxName: TypeAlias = Literal["auto", "none", "user", "bubblewrap", "container"]

_PROBE_S = 20.0
_FIRST_UID, _UIDS = 0x7000_0000, 0x0F00_0000  # nobody's, by any distribution's convention
_MAKING_S = 600.0  # how long it may take to make one: it may fetch the image
_REMOVAL_S = 60.0  # how long the engine may take to remove a container


@dataclass(frozen=True, slots=True)
class Limits:
    """Of a program in bubblewrap, and of a container, which alone limits processors and /tmp."""

    memory_bytes: int = 8 * 2**30  # of a container in all, of each process in bubblewrap
    processes: int = 1024  # threads count
    processors: float | None = None  # None: all
    tmp_bytes: int | None = None  # of /tmp, which counts as memory; None: the engine's choice


USUAL = Limits()


@dataclass(frozen=True, slots=True)
class Launch:
    """How to start a program, and the files of this machine that concern it."""

    command: Sequence[str]  # empty: what a container's image names
    environment: Mapping[str, str]
    folder: str  # in which it runs, and which it may read; empty: the image's
    hidden: Sequence[Path] = ()  # files and folders that it must not see
    readable: Sequence[Path] = ()  # more that it may read than the system and its folder
    sockets: Path | None = None  # the folder of the glue's Unix sockets
    limits: Limits = USUAL
    told: Callable[[], str] = str  # what the sandbox knows of the program's end; empty: nothing

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
        """Why the program cannot run this way here; None if it can."""

    def enclosed(self, launch: Launch) -> AbstractContextManager[Launch]:
        """The launch in this sandbox; the program ends with the context."""


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
        uid = _new_uid()
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
        lack, _ = _tried("bwrap", [*words, "--", *self._words_within(launch.limits), "true"])
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
        return [*(_as_user(_new_uid()) if os.getuid() == 0 else []), *_limited_to(limits)]


class Container:
    """A container of `image`, which can read the program's folder."""

    isolation: Isolation = "container"

    def __init__(self, image: str | None) -> None:
        self._image = image

    def lacks(self, launch: Launch) -> str | None:
        """An image, or an engine that answers."""
        if self._image is None:
            return f"name the image with {setting('sandbox_image')}"
        return lacks_engine()

    @contextmanager
    def enclosed(self, launch: Launch) -> Iterator[Launch]:
        """The container is removed at its end. Raises UsageError if the engine makes none."""
        name, engine = f"reglue-agent-{secrets.token_hex(6)}", container_engine()
        assert engine is not None
        assert self._image is not None
        uid = _new_uid() if os.getuid() == 0 else os.getuid()
        environment = _in_image(launch.by_socket)
        network = "host" if launch.sockets is None else "none"
        words = [engine, "create", "--init", "--name", name, f"--network={network}"]
        words += ["--read-only", "--no-healthcheck", "--ulimit=core=0"]
        words += ["--cap-drop=ALL", "--security-opt=no-new-privileges", "--ipc=private"]
        limits = launch.limits
        words += [f"--memory={limits.memory_bytes}b", f"--memory-swap={limits.memory_bytes}b"]
        words += [f"--pids-limit={limits.processes}"]
        words += [f"--cpus={limits.processors:g}"] if limits.processors else []
        size = f",size={limits.tmp_bytes}" if limits.tmp_bytes else ""
        words += [f"--user={uid}:{uid}", f"--tmpfs=/tmp:mode=1777{size}", "--log-driver=none"]
        if launch.folder:
            words += [f"--volume={launch.folder}:{launch.folder}:ro", f"--workdir={launch.folder}"]
        for path in [*launch.readable, *filter(None, [launch.sockets])]:
            words.append(f"--volume={path}:{path}:ro")
        words += [f"--env={each}" for each in environment]  # values are not for process lists
        program, *arguments = launch.command or [""]
        if program == sys.executable:  # `reglue join`, by the image's own Python
            program = "python3"
        words += [*([f"--entrypoint={program}"] if program else []), self._image, *arguments]
        environment |= _engines_own()
        with _removed_at_the_end([engine, "rm", "--force", "--volumes", name]):
            _make(words, environment)  # apart: what goes wrong later is the program's fault
            yield replace(
                launch,
                command=[engine, "start", "--attach", name],
                environment=environment,
                folder=launch.folder or "/",
                told=lambda: _told(engine, name, limits),
            )


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


def _tried(
    name: str,
    words: Sequence[str],
    *,
    within_s: float = _PROBE_S,
    environment: Mapping[str, str] | None = None,
) -> tuple[str | None, str]:
    """Why it does not work here, None if it does; and what it prints."""
    try:
        done = subprocess.run(
            words, capture_output=True, text=True, timeout=within_s, env=environment, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{name} does not work here: {error}", ""
    lack = f"{name} does not work here: {done.stderr.strip()}" if done.returncode else None
    return lack, done.stdout


def container_engine() -> str | None:
    """The command of the engine that is there; None if none is."""
    return shutil.which("docker") or shutil.which("podman")


_LIMITING = {
    "docker": ("{{.MemoryLimit}} {{.PidsLimit}} {{.CPUCfsQuota}}", {"true"}),
    "podman": ("{{.Host.CgroupControllers}}", {"memory", "pids", "cpu"}),
}
"""What to ask an engine for, and the words of one that limits all."""


def lacks_engine() -> str | None:
    """Why no container can be run here; None if one can, within limits."""
    if (engine := container_engine()) is None:
        return "there is neither docker nor podman"
    name = Path(engine).name
    form, wanted = _LIMITING[name]
    lack, said = _tried(name, [engine, "info", "--format", form])
    if lack is not None:
        return lack
    found = {*said.strip("[] \n").split()}
    if wanted <= found and "false" not in found:
        return None
    return (
        f"{name} cannot limit memory, processes and processors here: it needs cgroups "
        f"(`{name} info` says what is missing)"
    )


def _make(words: Sequence[str], environment: Mapping[str, str]) -> None:
    """Have the engine make a container. Raises UsageError."""
    lack, _ = _tried(Path(words[0]).name, words, within_s=_MAKING_S, environment=environment)
    if lack is not None:
        raise UsageError(f"{setting('sandbox', 'container')}: {lack}")


def _told(engine: str, name: str, limits: Limits) -> str:
    """Whether a container ran out of memory."""
    words = [engine, "inspect", "--format", "{{.State.OOMKilled}}", name]
    _, said = _tried(Path(engine).name, words)
    if said.strip() != "true":
        return ""
    return f"its container has run out of memory: it may have {limits.memory_bytes / 2**30:.3g} GiB"


_REMOVES = 'read -r ended || { "$@"; sleep 5; }; "$@"'


@contextmanager
def _removed_at_the_end(removal: Sequence[str]) -> Iterator[None]:
    """Remove the container at the end, also of this process, however that ends.

    The engine's command tells no container that it was killed, so a shell waits for our end. It
    removes twice then: the engine may be about to make the container.
    """
    shell = subprocess.Popen(
        ["/bin/sh", "-c", _REMOVES, "sh", *removal],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C is not for it
    )
    try:
        yield
    finally:
        try:
            shell.communicate(b"\n", timeout=_REMOVAL_S)
        except subprocess.TimeoutExpired:
            shell.kill()
            shell.wait()


def _in_image(environment: Mapping[str, str]) -> dict[str, str]:
    """What makes sense there: an image has its own paths."""
    kept = ("REGLUE_ADDRESS", "REGLUE_TOKEN", "REGLUE_UNIX_SOCKET_DIR")
    return {name: environment[name] for name in kept if name in environment} | {"HOME": "/tmp"}


def _engines_own() -> dict[str, str]:
    """What its command line finds its server by."""
    names = ("PATH", "DOCKER_HOST", "DOCKER_CONTEXT", "XDG_RUNTIME_DIR")
    return {name: os.environ[name] for name in names if name in os.environ}


def _at_home(environment: Mapping[str, str], home: str) -> dict[str, str]:
    """Environment variables that point HOME and all caches into that folder."""
    kept = {name: value for name, value in environment.items() if not name.startswith("XDG_")}
    return kept | {"HOME": home, "TMPDIR": home, "USER": "agent", "LOGNAME": "agent"}


def _as_user(uid: int) -> list[str]:
    words = [f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "--inh-caps=-all"]
    return ["setpriv", *words, "--no-new-privs", "--pdeathsig=KILL", "--"]


def _limited_to(limits: Limits) -> list[str]:
    """Of memory that a process writes to, and of processes; none is raised.

    What it only reserves does not count, as drivers of graphics cards and Julia reserve much.
    """
    data = _at_most(limits.memory_bytes, resource.RLIMIT_DATA)
    processes = _at_most(limits.processes, resource.RLIMIT_NPROC)
    return ["prlimit", f"--data={data}", f"--nproc={processes}", "--"]


def _at_most(wanted: int, kind: int) -> int:
    _, hard = resource.getrlimit(kind)
    return wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)


def _new_uid() -> int:
    """A user who owns nothing, and whose processes no other program may touch."""
    return _FIRST_UID + secrets.randbelow(_UIDS)


def _end_all_of(uid: int) -> None:
    """Kill a user's processes, also those that left the program's group."""
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError):  # gone meanwhile
            if folder.name.isdecimal() and folder.stat().st_uid == uid:
                os.kill(int(folder.name), signal.SIGKILL)


def _closed_to_others(launch: Launch, is_seen: Callable[[Path], bool]) -> str | None:
    """What another user could not read of the files that the command names; None if all."""
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
