"""Runs an agent's program in a container, by the engine that is there."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from glue_server.processes.sandboxes.container_meter import ContainerMeter
from glue_server.processes.sandboxes.launch import Isolation, Launch, Limits, Told, new_uid, tried
from reglue.errors import ContainerEngineFailed, UsageError, setting

_MAKING_S = 600.0  # how long it may take to make one: it may fetch the image
_REMOVAL_S = 60.0  # how long the engine may take to remove a container


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
        uid = new_uid() if os.getuid() == 0 else os.getuid()
        environment = _in_image(launch.by_socket)
        network = "host" if launch.sockets is None else "none"
        words = [engine, "create", "--init", "--name", name, f"--network={network}"]
        words += ["--read-only", "--no-healthcheck", "--ulimit=core=0"]
        words += ["--cap-drop=ALL", "--security-opt=no-new-privileges", "--ipc=private"]
        limits = launch.limits
        words += [f"--memory={limits.memory_bytes}b", f"--memory-swap={limits.memory_bytes}b"]
        words += [f"--pids-limit={limits.processes}"]
        words += [f"--cpus={limits.processors:g}"] if limits.processors else []
        words += [f"--gpus={limits.gpus}"] if limits.gpus else []
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
            # Apart: what goes wrong later is the program's fault, or the engine's.
            container = _made(words, environment)
            with ContainerMeter(container) as meter:
                yield replace(
                    launch,
                    command=[engine, "start", "--attach", name],
                    environment=environment,
                    folder=launch.folder or "/",
                    told=_told(engine, name, limits),
                    used=meter.used,
                )


def container_engine() -> str | None:
    """The command of the engine that is there; None if none is."""
    return shutil.which("docker") or shutil.which("podman")


_LIMITING = {
    "docker": ("{{.MemoryLimit}} {{.PidsLimit}} {{.CPUCfsQuota}}", {"true"}),
    "podman": ("{{.Host.CgroupControllers}}", {"memory", "pids", "cpu"}),
}
"""The question to an engine, and the words of one that limits all."""


def lacks_engine() -> str | None:
    """The reason why no container can be run here; None if one can, within limits."""
    if (engine := container_engine()) is None:
        return "there is neither docker nor podman"
    name = Path(engine).name
    form, wanted = _LIMITING[name]
    lack, said = tried(name, [engine, "info", "--format", form])
    if lack is not None:
        return lack
    found = {*said.strip("[] \n").split()}
    if wanted <= found and "false" not in found:
        return None
    return (
        f"{name} cannot limit memory, processes and processors here: it needs cgroups "
        f"(`{name} info` says what is missing)"
    )


def _made(words: Sequence[str], environment: Mapping[str, str]) -> str:
    """Have the engine make a container; its id. Raises UsageError."""
    lack, said = tried(Path(words[0]).name, words, within_s=_MAKING_S, environment=environment)
    if lack is not None:
        raise UsageError(f"{setting('sandbox', 'container')}: {lack}")
    return said.strip()


def _told(engine: str, name: str, limits: Limits) -> Told:
    """Tells whether a container ran out of memory, or its engine failed it.

    The engine's command leaves with the container's exit code; with another one only if the
    container was not started, which is the image's fault, or was lost.
    """

    def told(exit_code: int | None) -> str:
        words = [engine, "inspect", "--type", "container", "--format", "{{json .State}}", name]
        lack, said = tried(Path(engine).name, words)
        if lack is not None:
            raise ContainerEngineFailed(lack)
        state = json.loads(said)
        if state["OOMKilled"]:
            most = limits.memory_bytes / 2**30
            return f"its container has run out of memory: it may have {most:.3g} GiB"
        is_lost = exit_code is not None and (state["Running"] or exit_code != state["ExitCode"])
        if is_lost and not state["Error"]:
            raise ContainerEngineFailed(f"{Path(engine).name} has lost the agent's container")
        return ""

    return told


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
    """The variables that make sense in an image, which has its own paths."""
    kept = ("REGLUE_ADDRESS", "REGLUE_TOKEN", "REGLUE_UNIX_SOCKET_DIR")
    return {name: environment[name] for name in kept if name in environment} | {"HOME": "/tmp"}


def _engines_own() -> dict[str, str]:
    """The variables by which the engine's command line finds its server."""
    names = ("PATH", "DOCKER_HOST", "DOCKER_CONTEXT", "XDG_RUNTIME_DIR")
    return {name: os.environ[name] for name in names if name in os.environ}
