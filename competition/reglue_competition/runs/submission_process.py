"""A submission in a process of its own: it plays the benchmarks of a phase in one session.

`python -m reglue_competition.runs.submission_process FD PARENT` reads what it is to play from the
inherited socket FD, says there where its agent joins, how far it has come and how each run
ended. The agent is let go only when the parent has taken down how the submission ended: whatever
dies before that, the submission is resumed from its ledgers.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import time
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NoReturn

from glue_server import Outcome
from glue_server.peers.hosts import ListenOptions, Program, ServedAgent, join_command
from glue_server.processes.child import Channel, Parent, ParentGone, inherited_channel
from glue_server.processes.interrupts import is_stopping, stop_play
from glue_server.processes.message_codec import unexpected
from glue_server.processes.sandboxes.container import lacks_engine
from glue_server.processes.sandboxes.launch import Limits
from glue_server.rpc import GlueServer
from reglue.errors import (
    AgentFault,
    AgentTimeout,
    ContainerEngineFailed,
    EnvironmentFault,
    NotCapable,
    PlanDiffers,
    ReglueError,
    UsageError,
)
from reglue_bench.benchmark.benchmark import make_plan
from reglue_bench.evaluation import carry_out, conclude, start
from reglue_bench.plans.plan import Plan
from reglue_bench.procedures import procedure_of
from reglue_bench.results.result import Result
from reglue_bench.results.scoring import is_agents_fault, score_of
from reglue_bench.run_folder import AGENT_LOG
from reglue_bench.runs.ledger import Ledger
from reglue_bench.runs.notes import Ending, ending_of
from reglue_bench.runs.observer import NullObserver, RunStarted
from reglue_bench.runs.run import Request, begin_or_resume
from reglue_bench.settings import Settings
from reglue_bench.terminal.tally import Tally, tally_of
from reglue_competition.images import (
    forget_image,
    image_digest,
    is_project,
    load_image,
    unpack_project,
)
from reglue_competition.runs.logs import log_to_stderr
from reglue_competition.runs.submission import (
    TO_SUBMISSION,
    Cancel,
    Digest,
    Ended,
    LetGo,
    Listening,
    Progress,
    RunEnded,
    Signature,
    SubmissionSettings,
    SubmittedBenchmark,
    SubmittedImage,
    ToSubmission,
    run_folder,
    transcript_file,
)
from reglue_competition.transcript.transcript_writer import RunIdentity, write_transcript

log = logging.getLogger("reglue")

_PROGRESS_S = 0.3  # between two messages about progress
_BUSY_S = 10.0  # how long a process that died before us may take to let go of its ledger
_LEAVE_S = 2.0  # how long it may take to leave once its parent is gone
_ANSWER_S = 600.0  # how long the parent may take to answer: a database may be away

_LIMITS = "; step_s, first_step_s, bank_s and run_s of the competition file say how long it may"

_AWAY = (
    "the server was away, and the agent has not come back yet: it goes on where it was when the "
    "agent joins again under this name"
)


def main() -> NoReturn:
    """Play one submission."""
    parent = _Parent(inherited_channel(TO_SUBMISSION))
    try:
        settings = parent.receive(_ANSWER_S)
        if not isinstance(settings, SubmissionSettings):
            raise unexpected(settings)
        whose = {"team": settings.team, "submission": settings.submission}
        log_to_stderr(whose)
        _serve(settings, parent)
    except ParentGone as gone:
        if gone.args:
            log.error("the server did not answer: %s", gone)
    except Exception:
        log.exception("a submission's process failed")
    # Without a farewell that was not said yet: the agent comes back when we do.
    os._exit(0)


class _Parent(Parent[ToSubmission]):
    """The server, which cancels and signs."""

    def __init__(self, channel: Channel[ToSubmission]) -> None:
        self.cancelled = ""  # why the organiser does not want it any more
        super().__init__(channel, leave_s=_LEAVE_S)

    def take(self, message: ToSubmission) -> None:
        """Keep a message for `receive`, unless it cancels."""
        if isinstance(message, Cancel):
            self.cancelled = message.why
            stop_play()
        else:
            super().take(message)

    def signature(self, digest: bytes) -> bytes:
        """The competition's signature: its key stays with the server. Raises ParentGone."""
        self.send(Digest(digest))
        answer = self.receive(_ANSWER_S)
        if not isinstance(answer, Signature):
            raise unexpected(answer)
        return answer.signature


def _serve(settings: SubmissionSettings, parent: _Parent) -> None:
    image = settings.image
    try:
        if image is not None and not run_folder(Path(settings.folder), 0).exists():
            failed = _rehearsed(settings)
            if failed is not None:
                parent.send(failed)
                _let_go(parent)
                _forget(settings, image)
                return
        server, agent = _served(settings)
    except UsageError as error:
        log.error("the agent's container cannot be started: %s", error)
        parent.send(_not_started(error))
        _let_go(parent)
        return
    except ContainerEngineFailed as error:
        parent.send(Ended("broken", str(error), again=True))
        _let_go(parent)
        return
    parent.send(Listening(str(server.local_join_string("agent"))))
    ended = _Submission(settings, parent, agent).play()
    parent.send(replace(ended, used=agent.used))
    farewell = _let_go(parent)
    if farewell or image is not None:
        agent.close(farewell)
        server.close()
    if image is not None:
        _forget(settings, image)


def _served(settings: SubmissionSettings) -> tuple[GlueServer, ServedAgent]:
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


def _rehearsed(settings: SubmissionSettings) -> Ended | None:
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
    server, agent = _served(settings)
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


def _why_failed(result: Result) -> str:
    """The agent's fault, by which it was lost or failed in each episode; empty if it plays."""
    ending = result.ended_early
    if ending is not None and is_agents_fault(ending.status):
        return f"{ending.status}: {ending.what}"
    faults = [each for each in result.faults if is_agents_fault(each.status)]
    if not faults or result.status_counts.get("ok"):
        return ""
    return f"{faults[0].status}: {faults[0].detail}"


def _not_started(error: UsageError) -> Ended:
    """The next status of a submission whose image could not be started."""
    if (lack := lacks_engine()) is not None:
        return Ended("waiting", f"its image waits: {lack}")
    return Ended("broken", str(error), again=True)


def _let_go(parent: _Parent) -> str:
    """Wait until the submission's end is stored; the farewell to its agent, if that ends, too."""
    end = parent.receive(_ANSWER_S)
    if not isinstance(end, LetGo):
        raise unexpected(end)
    return end.farewell


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


def _forget(settings: SubmissionSettings, image: SubmittedImage) -> None:
    """Remove what was made of the archive to play it."""
    if is_project(image.digest):
        shutil.rmtree(_project(settings), ignore_errors=True)
    else:
        forget_image(image.digest)


class _AgentAway(Exception):
    """The rest waits for its agent."""


class _Submission:
    """Plays the benchmarks in turn."""

    def __init__(self, settings: SubmissionSettings, parent: _Parent, agent: ServedAgent) -> None:
        self._settings = settings
        self._parent = parent
        self._agent = agent
        self._is_complete = True
        # The agent's own fault: nothing is played after it, in this run or another.
        self._lost = (
            Ending(status="agent_disconnected", what=settings.lost) if settings.lost else None
        )
        self._fault = self._lost

    def play(self) -> Ended:
        """Play what is left of it. Raises ParentGone."""
        try:
            for index, benchmark in enumerate(self._settings.benchmarks):
                result = self._play(index, benchmark)
                if is_stopping():
                    return self._stopped()
                self._send_result(index, result)
                self._is_complete &= result.complete
                if _failed_environment(result):
                    ending = result.ended_early
                    detail = ending.what if ending else _environment_faults(result)
                    return Ended("broken", f"{result.benchmark}: {detail}")
        except _AgentAway:
            return Ended("waiting", _AWAY)
        # A full disk, a damaged ledger, another version, a lost container: not theirs.
        except ReglueError as error:
            log.error("the submission stops: %s", error)
            return Ended("broken", str(error), again=True)
        if self._fault is None or (self._is_complete and self._fault is self._lost):
            return Ended("finished")
        limits = _LIMITS if self._fault.status == AgentTimeout.status else ""
        return Ended("failed", f"{self._fault.status}: {self._fault.what}{limits}")

    def _stopped(self) -> Ended:
        if not self._parent.cancelled:
            raise ParentGone
        return Ended("cancelled", self._parent.cancelled)

    def _play(self, index: int, benchmark: SubmittedBenchmark) -> Result:
        """Play one run."""
        folder = run_folder(Path(self._settings.folder), index)
        request = Request(
            Settings.model_validate(benchmark.settings),
            Plan.from_json(benchmark.plan),
            peer=self._agent,
            nonce=f"{self._settings.submission} {index}",
        )
        watcher = _Progress(self._parent, index)
        with begin_or_resume(folder, request, within_s=_BUSY_S) as ledger:
            return self._carry_out(folder, ledger, request, watcher)

    def _carry_out(
        self, folder: Path, ledger: Ledger, request: Request, watcher: _Progress
    ) -> Result:
        """Play what is left, unless the agent has failed before, or is away.

        How a run ended may stand in its ledger alone, if this process died before that was stored.
        """
        before, settings = ending_of(ledger.about), self._settings
        failed = before if before and is_agents_fault(before.status) else None
        if not settings.forgives:
            self._fault = self._fault or failed
        if self._fault is not None or settings.waits:
            is_complete = score_of(ledger).complete
            if self._fault is None and not is_complete:
                raise _AgentAway
            return conclude(folder, ledger, failed or (None if is_complete else self._fault))
        if before and before.status == EnvironmentFault.status:
            return conclude(folder, ledger, before)
        try:
            result = carry_out(folder, ledger, request, watcher)
        except PlanDiffers as error:  # another agent came for the rest of a run
            ending = Ending(status=AgentFault.status, what=str(error))
            result = conclude(folder, ledger, ending)
        if result.ended_early and is_agents_fault(result.ended_early.status):
            self._fault = result.ended_early
        return result

    def _send_result(self, index: int, result: Result) -> None:
        status = result.ended_early.status if result.ended_early else "ok"
        if _failed_environment(result):
            status = EnvironmentFault.status
        low, high = (None, None) if result.interval95 is None else result.interval95
        self._parent.send(
            RunEnded(
                index=index,
                benchmark=result.benchmark,
                status=status,
                owner=_owner_of(status),
                score=result.score.value,
                low=low,
                high=high,
                result=result.model_dump_json(by_alias=True),
                transcript_sha256=self._write_transcript(index),
            )
        )

    def _write_transcript(self, index: int) -> str:
        """Returns its SHA-256."""
        of, folder = self._settings, Path(self._settings.transcripts)
        run = RunIdentity(
            competition=of.competition,
            phase=of.phase,
            submission=of.submission,
            draw=of.draw,
            team=of.team,
            index=index,
            public_key=of.public_key,
        )
        return write_transcript(
            transcript_file(folder, of.submission, index),
            header=run,
            folder=run_folder(Path(of.folder), index),
            sign=self._parent.signature,
        )


def _owner_of(status: str) -> str:
    """The party at fault for a status: the agent, the environment, or nobody."""
    owner = status.partition("_")[0]
    return owner if owner in ("agent", "environment") else ""


def _failed_environment(result: Result) -> bool:
    """Whether an environment's failure left something that may not be scored."""
    ending = result.ended_early
    if ending is not None and is_agents_fault(ending.status):
        return False
    is_early = ending is not None and ending.status == EnvironmentFault.status
    return is_early or bool(_environment_faults(result))


def _environment_faults(result: Result) -> str:
    faults = [each for each in result.faults if each.status == EnvironmentFault.status]
    return "; ".join(f"{each.count} episodes: {each.detail}" for each in faults)


class _Progress(NullObserver):
    """Tells the parent how far a run has come, a few times a second.

    Ends the run with the first episode that its environment failed: the submission is broken, and
    its agent is shown no more cells.
    """

    def __init__(self, parent: _Parent, index: int) -> None:
        self._parent = parent
        self._index = index
        self._tally: Tally | None = None
        self._sent_at = 0.0

    def begin(self, begun: RunStarted) -> None:
        """Send what was played before."""
        self._tally = tally_of(procedure_of(begun.plan), begun, time.monotonic)
        self._send()

    def outcome(self, outcome: Outcome, phase: str) -> None:
        """Count it. Raises EnvironmentFault."""
        assert self._tally is not None
        self._tally.take(outcome, phase)
        if outcome.status == EnvironmentFault.status:
            raise EnvironmentFault(outcome.detail)
        if time.monotonic() - self._sent_at >= _PROGRESS_S:
            self._send()

    def end(self) -> None:
        """Send all of it."""
        if self._tally is not None:
            self._send()

    def _send(self) -> None:
        assert self._tally is not None
        self._sent_at = time.monotonic()
        tally = self._tally
        with contextlib.suppress(ParentGone):  # the run is about to notice it
            self._parent.send(Progress(self._index, tally.done, tally.total, tally.counted_in))


if __name__ == "__main__":
    main()
