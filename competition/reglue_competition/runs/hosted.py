"""A competition that is served: the plans of its phases and its secrets."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reglue.errors import UsageError
from reglue_bench.engines.run_environments import cores
from reglue_competition.competition_folder import CompetitionFolder
from reglue_competition.definition import Definition
from reglue_competition.images import GIB
from reglue_competition.phases import PlannedBenchmark, Secrets, commitment, entry_secret
from reglue_competition.runs.submission import (
    SubmissionSettings,
    SubmittedBenchmark,
    SubmittedImage,
)
from reglue_competition.store import Phase, Submission

_LEAST_WINDOW_S = 5.0
"""A server that is killed breaks its agents' streams, too; its processes see that within this."""


@dataclass(frozen=True, slots=True)
class Hosted:
    """A competition's folder and secrets, which are read once."""

    folder: CompetitionFolder
    secrets: Secrets
    _benchmarks: dict[str, list[PlannedBenchmark]] = field(default_factory=dict)  # by phase
    _plannings: dict[str, Future[list[PlannedBenchmark]]] = field(default_factory=dict)  # threads'

    @property
    def definition(self) -> Definition:
        """The competition file."""
        return self.folder.definition

    @property
    def reconnect_window_s(self) -> float:
        """The time that an agent has to reconnect after its connection broke, seconds."""
        return max(self.definition.play.reconnect_window_s, _LEAST_WINDOW_S)

    def benchmarks(self, phase: str) -> list[PlannedBenchmark]:
        """The planned benchmarks of a phase. Raises UsageError."""
        if phase not in self._benchmarks:
            self._benchmarks[phase] = self.folder.benchmarks(phase)
        return self._benchmarks[phase]

    def is_planned(self, phase: str) -> bool:
        """Whether the benchmarks of a phase are planned, which is done here unless that waits for
        another program's server: then a thread does it.

        Raises UsageError and EnvironmentFault; the next call tries it again.
        """
        if phase in self._benchmarks:
            return True
        planning = self._plannings.get(phase)
        if planning is None and not self.folder.calls_server(phase):
            return bool(self.benchmarks(phase))
        if planning is None:
            planning = self._plannings[phase] = Future()
            # A daemon: it may still wait when the server is stopped.
            threading.Thread(
                target=self._plan, args=(phase, planning), name="reglue-plan", daemon=True
            ).start()
        if not planning.done():
            return False
        del self._plannings[phase]
        self._benchmarks[phase] = planning.result()
        return True

    def _plan(self, phase: str, planning: Future[list[PlannedBenchmark]]) -> None:
        try:
            planning.set_result(self.folder.benchmarks(phase))
        except Exception as error:  # noqa: BLE001 - `is_planned` raises it
            planning.set_exception(error)

    def check_commitment(self, phase: Phase) -> None:
        """Raise UsageError if the plan of a phase that has opened is not the published one."""
        if self.commitment(phase.name) != phase.plan_commitment:
            raise UsageError(
                f"phase {phase.name} is {phase.state}, and its plan is not the one that was "
                "committed to: restore the files of its environments, the secrets and the "
                "installed versions as they were"
            )

    def commitment(self, phase: str) -> str:
        """The commitment that is published when a phase opens. Raises UsageError."""
        return commitment(self.benchmarks(phase), self.secrets.salt(phase))

    def settings_of(
        self, submission: Submission, *, lost: str = "", waits: bool = False
    ) -> SubmissionSettings:
        """The settings of a submission's process, without its token. Raises UsageError.

        If it waits, its team or the organiser wants it to go on: earlier faults in its ledgers
        are forgiven.
        """
        transcripts = self.folder.transcripts_path
        transcripts.mkdir(mode=0o700, exist_ok=True)
        return SubmissionSettings(
            competition=self.definition.name,
            phase=submission.phase,
            team=submission.team,
            submission=submission.id,
            draw=submission.draw,
            folder=str(self.runs_of(submission)),
            transcripts=str(transcripts),
            public_key=self.secrets.public_key,
            benchmarks=tuple(
                self._benchmark(each, submission) for each in self.benchmarks(submission.phase)
            ),
            reconnect_window_s=self.reconnect_window_s,
            connect_timeout_s=self.definition.play.connect_timeout_s,
            lost=lost,
            waits=waits,
            forgives=submission.status == "waiting",
            image=self._image_of(submission),
        )

    def _image_of(self, submission: Submission) -> SubmittedImage | None:
        if submission.image is None:
            return None
        limits = self.definition.images
        return SubmittedImage(
            submission.image,
            str(self.folder.image_file(submission.image)),
            memory_bytes=int(limits.memory_gib * GIB),
            tmp_bytes=int(limits.tmp_gib * GIB),
            processors=limits.processors,
            processes=limits.processes,
            gpus=limits.gpus,
            python=limits.python,
        )

    def runs_of(self, submission: Submission) -> Path:
        """The folder of its runs."""
        return self.folder.runs_path / submission.folder

    def _benchmark(self, planned: PlannedBenchmark, submission: Submission) -> SubmittedBenchmark:
        """A benchmark with its phase's plan, or with the secret that draws the submission's own.

        The submission's process makes that plan. To make one may need an environment, and the queue
        does not wait for its server.
        """
        changes: dict[str, Any] = {"workers": max(1, cores() // self.definition.play.places)}
        plan = planned.plan.to_json()
        if submission.draw:
            salt = self.secrets.salt(submission.phase)
            changes["secret"] = entry_secret(salt, submission.id, submission.draw)
            plan = ""
        settings = planned.settings.model_copy(update=changes)
        return SubmittedBenchmark(settings.model_dump(mode="json"), plan)
