"""Plays the benchmarks of a submission in turn, with the agent that has joined."""

from __future__ import annotations

import contextlib
import logging
import time
from pathlib import Path

from glue_server import Outcome
from glue_server.peers.hosts import ServedAgent
from glue_server.processes.child import ParentGone
from glue_server.processes.interrupts import is_stopping
from reglue.errors import (
    AgentFault,
    AgentTimeout,
    EnvironmentFault,
    PlanDiffers,
    ReglueError,
)
from reglue_bench.benchmark.benchmark import make_plan
from reglue_bench.evaluation import carry_out, conclude
from reglue_bench.plans.plan import Plan
from reglue_bench.procedures import procedure_of
from reglue_bench.results.result import Result
from reglue_bench.results.scoring import is_agents_fault, score_of
from reglue_bench.runs.ledger import Ledger
from reglue_bench.runs.notes import Ending, ending_of
from reglue_bench.runs.observer import NullObserver, RunStarted
from reglue_bench.runs.run import Request, begin_or_resume
from reglue_bench.settings import Settings
from reglue_bench.terminal.tally import Tally, tally_of
from reglue_competition.runs.process.submission_parent import SubmissionParent
from reglue_competition.runs.submission import (
    Ended,
    Progress,
    RunEnded,
    SubmissionSettings,
    SubmittedBenchmark,
    run_folder,
    transcript_file,
)
from reglue_competition.transcript.transcript_writer import RunIdentity, write_transcript

log = logging.getLogger("reglue")

_PROGRESS_S = 0.3  # between two messages about progress
_BUSY_S = 10.0  # how long a process that died before us may take to let go of its ledger

_LIMITS = "; step_s, first_step_s, bank_s and run_s of the competition file say how long it may"

_AWAY = (
    "the server was away, and the agent has not come back yet: it goes on where it was when the "
    "agent joins again under this name"
)


class _AgentAway(Exception):
    """The rest waits for its agent."""


class SubmissionPlay:
    """Plays the benchmarks in turn."""

    def __init__(
        self, settings: SubmissionSettings, parent: SubmissionParent, agent: ServedAgent
    ) -> None:
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
        settings = Settings.model_validate(benchmark.settings)
        request = Request(
            settings,
            Plan.from_json(benchmark.plan) if benchmark.plan else make_plan(settings),
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

    def __init__(self, parent: SubmissionParent, index: int) -> None:
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
