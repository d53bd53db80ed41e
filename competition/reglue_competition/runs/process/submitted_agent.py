"""The server at which a submission's agent joins; the container and the rehearsal of an image."""

from __future__ import annotations

import logging
import os
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from glue_server.peers.hosts import ListenOptions, Program, ServedAgent, join_command
from glue_server.processes.interrupts import is_stopping
from glue_server.processes.sandboxes.launch import Limits
from glue_server.rpc import GlueServer
from reglue.errors import (
    NotCapable,
    UsageError,
)
from reglue_bench.benchmark.benchmark import make_plan
from reglue_bench.evaluation import start
from reglue_bench.results.result import Result
from reglue_bench.results.scoring import is_agents_fault
from reglue_bench.run_folder import AGENT_LOG
from reglue_bench.runs.observer import NullObserver
from reglue_bench.runs.run import Request
from reglue_bench.settings import Settings
from reglue_competition.images import (
    forget_image,
    image_digest,
    is_project,
    load_image,
    unpack_project,
)
from reglue_competition.runs.submission import (
    Ended,
    SubmissionSettings,
    SubmittedImage,
)

log = logging.getLogger("reglue")


def served_agent(settings: SubmissionSettings) -> tuple[GlueServer, ServedAgent]:
    """The server for the agent, and the agent; that of an image is started. Raises UsageError."""
    image = settings.image
    server = GlueServer(
        "127.0.0.1:0",
        token={"agent": settings.token},
        places={"agent": 1},
        reconnect_window_s=settings.reconnect_window_s,
        transport="grpc" if image is None else "unix",  # a container has no network
        open_unix_socket=image is not None and os.getuid() == 0,  # it is another user there
    )
    options = ListenOptions(timeout_s=settings.connect_timeout_s, set_by="play.connect_timeout_s")
    try:
        program = None if image is None else _program(settings, image)
        return server, ServedAgent(options, program, server=server)
    except BaseException:
        server.close()
        raise


def rehearsed(settings: SubmissionSettings) -> Ended | None:
    """The failure of an image in short episodes of the goals that everybody has; None if it plays.

    Its container is another one than that of the submission, and leaves nothing to it. Raises
    UsageError, ContainerEngineFailed.
    """
    from reglue_bench.rehearsal import shorten  # most submissions do without it

    benchmark = Settings.model_validate(settings.benchmarks[0].settings)
    try:
        short = shorten(benchmark.model_copy(update={"secret": None}))
        plan = make_plan(short)
    except UsageError as error:
        log.warning("there is no rehearsal of this benchmark: %s", error)
        return None
    server, agent = served_agent(settings)
    try:
        with TemporaryDirectory(prefix="reglue-rehearsal-") as folder:
            request = Request(short, plan, peer=agent)
            result = start(Path(folder), request, NullObserver())
        why = _why_failed(result)
    except NotCapable as error:
        why = str(error)
    finally:
        agent.close("this was a rehearsal, thank you")
        server.close()
    if not why or is_stopping():
        return None
    return Ended("withdrawn", f"its agent failed in the rehearsal: {why}", used=agent.used)


def forget_files(settings: SubmissionSettings, image: SubmittedImage) -> None:
    """Remove what was made of the archive to play it."""
    if is_project(image.digest):
        shutil.rmtree(_project(settings), ignore_errors=True)
    else:
        forget_image(image.digest)


def _why_failed(result: Result) -> str:
    """The agent's fault, by which it was lost or failed in each episode; empty if it plays."""
    ending = result.ended_early
    if ending is not None and is_agents_fault(ending.status):
        return f"{ending.status}: {ending.what}"
    faults = [each for each in result.faults if is_agents_fault(each.status)]
    if not faults or result.status_counts.get("ok"):
        return ""
    return f"{faults[0].status}: {faults[0].detail}"


def _program(settings: SubmissionSettings, image: SubmittedImage) -> Program:
    """The agent's container. Raises UsageError if the engine does not take its image."""
    folder = Path(settings.folder)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    command: list[str] = []  # the image's own
    name: str | None = image.digest
    if is_project(image.digest):
        name = None if image.python is None else image_digest(image.python)
        if name is None:
            wanted = "an image that the engine has"
            raise UsageError(f"images.python: got {image.python}, wanted {wanted}")
        log.info("its project plays in %s, %s", image.python, name)
        command = join_command(unpack_project(Path(image.archive), _project(settings)), {})
    else:
        load_image(image.digest, Path(image.archive))
    return Program(
        command,
        log_file=folder / AGENT_LOG,
        folder=str(_project(settings)) if command else "",
        environment={},
        sandbox="container",
        image=name,
        limits=Limits(
            memory_bytes=image.memory_bytes,
            processes=image.processes,
            processors=image.processors,
            tmp_bytes=image.tmp_bytes,
            gpus=image.gpus,
        ),
        is_private=True,  # it may print what it observed
    )


def _project(settings: SubmissionSettings) -> Path:
    """The folder of a project's files while it plays."""
    return Path(settings.folder) / "project"
