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
import time
from dataclasses import asdict
from pathlib import Path
from typing import NoReturn

from glue_server import Outcome
from glue_server.peers.hosts import ListenOptions, ServedAgent
from glue_server.processes.channel import inherited_channel
from glue_server.rpc import GlueServer
from reglue.errors import (
    AgentFault,
    AgentTimeout,
    EnvironmentFault,
    PlanDiffers,
    ReglueError,
    RunBusy,
    RunExists,
)
from reglue_bench.plans.plan import Plan
from reglue_bench.procedures import procedure_of
from reglue_bench.results.read_run import score_of
from reglue_bench.results.result import Result
from reglue_bench.runs.ledger import ENDED_EARLY, Ledger
from reglue_bench.runs.notes import Ending
from reglue_bench.runs.observer import NullObserver, RunStarted
from reglue_bench.runs.run import Request, begin, check_same
from reglue_bench.scored_runs import carry_out, conclude
from reglue_bench.settings import Settings
from reglue_bench.terminal.tally import Tally, tally_of
from reglue_competition.runs.logs import log_to_stderr
from reglue_competition.runs.parent import Parent, ParentGone
from reglue_competition.runs.told import Benchmark, Ended, Told, run_folder, transcript_file
from reglue_competition.transcript import RunIdentity, write_transcript

log = logging.getLogger("reglue")

_PROGRESS_S = 0.3  # between two frames about progress
_BUSY_S = 10.0  # how long a process that died before us may take to let go of its ledger
_BUSY_POLL_S = 0.1

_LIMITS = "; step_s, first_step_s, bank_s and run_s of the competition file say how long it may"

_AWAY = (
    "the server was away, and the agent has not come back yet: it goes on where it was when the "
    "agent joins again under this name"
)

AGENT, ENVIRONMENT = "agent", "environment"
"""Owners of faults."""


def owner_of(status: str) -> str:
    """Whose fault a status is: the agent's, the environment's, or nobody's."""
    owner = status.partition("_")[0]
    return owner if owner in (AGENT, ENVIRONMENT) else ""


def main() -> NoReturn:
    """Play one submission."""
    parent = Parent(inherited_channel())
    try:
        told = Told.from_json(parent.heard())
        whose = {"team": told.team, "submission": told.submission}
        log_to_stderr(as_json=told.logs_json, whose=whose)
        _serve(told, parent)
    except ParentGone:
        pass
    except Exception:
        log.exception("a submission's process failed")
    # Without a farewell that was not said yet: the agent comes back when we do.
    os._exit(0)


def _serve(told: Told, parent: Parent) -> None:
    server = GlueServer(
        "127.0.0.1:0",
        token={"agent": told.token},
        places={"agent": 1},
        reconnect_window_s=told.reconnect_window_s,
        transport="grpc",
    )
    options = ListenOptions(timeout_s=told.connect_timeout_s, set_by="play.connect_timeout_s")
    agent = ServedAgent(options, server=server, stop=parent.stop)
    parent.tell(join_string=str(server.local_join_string("agent")))
    ended = _Submission(told, parent, agent).play()
    parent.tell(ended=asdict(ended))
    if farewell := parent.heard()["farewell"]:
        agent.close(farewell)
        server.close()


class _AgentAway(Exception):
    """The rest waits for its agent."""


class _Submission:
    """Plays the benchmarks in turn."""

    def __init__(self, told: Told, parent: Parent, agent: ServedAgent) -> None:
        self._told = told
        self._parent = parent
        self._agent = agent
        self._is_complete = True
        # The agent's own fault: nothing is played after it, in this run or another.
        self._lost = Ending(status="agent_disconnected", what=told.lost) if told.lost else None
        self._fault = self._lost

    def play(self) -> Ended:
        """Play what is left of it. Raises ParentGone."""
        try:
            for index, benchmark in enumerate(self._told.benchmarks):
                result = self._play(index, benchmark)
                if self._parent.stop.is_set():
                    return self._stopped()
                self._tell(index, result)
                self._is_complete &= result.complete
                if _failed_environment(result):
                    ending = result.ended_early
                    detail = ending.what if ending else _environment_faults(result)
                    return Ended("broken", f"{result.benchmark}: {detail}")
        except _AgentAway:
            return Ended("waiting", _AWAY)
        except ReglueError as error:  # a full disk, a damaged ledger, another version: not theirs
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

    def _play(self, index: int, benchmark: Benchmark) -> Result:
        """Play one run."""
        folder = run_folder(Path(self._told.folder), index)
        request = Request(
            Settings.model_validate(benchmark.settings),
            Plan.from_json(benchmark.plan),
            peer=self._agent,
            nonce=f"{self._told.submission} {index}",
            stop=self._parent.stop,
        )
        watcher = _Progress(self._parent, index)
        with _opened(folder, request) as ledger:
            if not self._told.forgives:
                self._fault = self._fault or _fault_of(ledger)
            if self._told.waits and self._fault is None and not score_of(ledger).complete:
                raise _AgentAway
            return self._carry_out(folder, ledger, request, watcher)

    def _carry_out(
        self, folder: Path, ledger: Ledger, request: Request, watcher: _Progress
    ) -> Result:
        """Play what is left, unless the agent has failed before, or is away."""
        if self._fault is not None or self._told.waits:
            fault = None if score_of(ledger).complete else self._fault
            return conclude(folder, ledger, _fault_of(ledger) or fault)
        try:
            result = carry_out(folder, ledger, request, watcher)
        except PlanDiffers as error:  # another agent came for the rest of a run
            ending = Ending(status=AgentFault.status, what=str(error))
            result = conclude(folder, ledger, ending)
        if result.ended_early and owner_of(result.ended_early.status) == AGENT:
            self._fault = result.ended_early
        return result

    def _tell(self, index: int, result: Result) -> None:
        status = result.ended_early.status if result.ended_early else "ok"
        if _failed_environment(result):
            status = EnvironmentFault.status
        interval = result.interval95
        transcript = self._write_transcript(index)
        self._parent.tell(
            run={
                "index": index,
                "benchmark": result.benchmark,
                "status": status,
                "owner": owner_of(status),
                "score": result.score.value,
                "low": None if interval is None else interval[0],
                "high": None if interval is None else interval[1],
                "result": result.model_dump_json(by_alias=True),
                "transcript_sha256": transcript,
            }
        )

    def _write_transcript(self, index: int) -> str:
        """Returns its SHA-256."""
        told, folder = self._told, Path(self._told.transcripts)
        run = RunIdentity(
            competition=told.competition,
            phase=told.phase,
            submission=told.submission,
            draw=told.draw,
            team=told.team,
            index=index,
            public_key=bytes.fromhex(told.public_key),
        )
        return write_transcript(
            transcript_file(folder, told.submission, index),
            header=run,
            folder=run_folder(Path(told.folder), index),
            sign=self._parent.signature,
        )


def _opened(folder: Path, request: Request) -> Ledger:
    """A new run, or the one that was begun there before.

    Raises UsageError (RunDamaged, PlanDiffers, RunBusy), StorageFailed.
    """
    deadline = time.monotonic() + _BUSY_S
    while True:
        try:
            return _begun_or_continued(folder, request)
        except RunBusy:  # of a process whose parent was killed, and that is leaving
            if time.monotonic() > deadline:
                raise
        time.sleep(_BUSY_POLL_S)


def _begun_or_continued(folder: Path, request: Request) -> Ledger:
    try:
        return begin(folder, request)
    except RunExists:
        ledger = Ledger(folder)
    try:
        check_same(ledger, request)
    except BaseException:
        ledger.close()
        raise
    return ledger


def _fault_of(ledger: Ledger) -> Ending | None:
    """The agent's fault that ended this run for good."""
    kept = ledger.about.get(ENDED_EARLY)
    ending = Ending.model_validate_json(kept) if kept else None
    return ending if ending is not None and owner_of(ending.status) == AGENT else None


def _failed_environment(result: Result) -> bool:
    """Whether an environment's failure left something that may not be scored."""
    ending = result.ended_early
    if ending is not None and owner_of(ending.status) == AGENT:
        return False
    is_early = ending is not None and ending.status == EnvironmentFault.status
    return is_early or bool(_environment_faults(result))


def _environment_faults(result: Result) -> str:
    found = [each for each in result.faults if each.status == EnvironmentFault.status]
    return "; ".join(f"{each.count} episodes: {each.detail}" for each in found)


class _Progress(NullObserver):
    """Tells the parent how far a run has come, a few times a second."""

    def __init__(self, parent: Parent, index: int) -> None:
        self._parent = parent
        self._index = index
        self._tally: Tally | None = None
        self._told_at = 0.0

    def begin(self, begun: RunStarted) -> None:
        """Tell what was played before."""
        self._tally = tally_of(procedure_of(begun.plan), begun, time.monotonic)
        self._tell()

    def outcome(self, outcome: Outcome, phase: str) -> None:
        """Count it."""
        assert self._tally is not None
        self._tally.take(outcome, phase)
        if time.monotonic() - self._told_at >= _PROGRESS_S:
            self._tell()

    def end(self) -> None:
        """Tell all of it."""
        if self._tally is not None:
            self._tell()

    def _tell(self) -> None:
        assert self._tally is not None
        self._told_at = time.monotonic()
        tally = self._tally
        progress = {"index": self._index, "done": tally.done, "total": tally.total}
        with contextlib.suppress(ParentGone):  # the run is about to hear of it
            self._parent.tell(progress=progress | {"counted_in": tally.counted_in})


if __name__ == "__main__":
    main()
