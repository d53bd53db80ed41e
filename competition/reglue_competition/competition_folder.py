"""The folder of a competition, and whether the tasks of a phase in it were admitted."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any, Self

from filelock import FileLock, Timeout

from reglue.errors import (
    BadArgument,
    CannotLoad,
    EntryRefused,
    RunBusy,
    StorageFailed,
    UnknownName,
    UsageError,
)
from reglue_competition.definition import FILE, Bars, Definition, PhaseDefinition, read_definition
from reglue_competition.phases import (
    PlannedBenchmark,
    Secrets,
    calls_server,
    commitment,
    plan_phase,
)
from reglue_competition.store import Store, Submission, Team
from reglue_competition.store.database import sqlite_url
from reglue_competition.store.server_lock import ServerLock

DATABASE = "REGLUE_COMPETITION_DATABASE"
"""An environment variable: the database's URL, which may hold a password."""

SQLITE = "competition.sqlite"

_LOCK = "server.lock"
_IMAGES_LOCK = "images.lock"

_ADMISSION, _WAIVED = "admission", "admission waived"


@dataclass(frozen=True, slots=True)
class CompetitionFolder:
    """A folder that `reglue competition init` made."""

    path: Path
    definition: Definition  # as the file says it now; the store holds the one in force

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read its file. Raises UsageError."""
        if not (path / FILE).is_file():
            raise UsageError(
                f"{path} holds no competition: there is no {FILE}; "
                f"`reglue competition init {path}` makes one"
            )
        return cls(path, read_definition(path / FILE))

    @property
    def database_url(self) -> str:
        """The database's URL: of the environment variable, the file, or SQLite in the folder."""
        default = sqlite_url(self.path / SQLITE)
        return os.environ.get(DATABASE) or self.definition.database or default

    @property
    def secrets_path(self) -> Path:
        """The folder of keys, which only the organiser can read."""
        return self.path / "secrets"

    @property
    def runs_path(self) -> Path:
        """The runs: a folder for each submission, with one for each benchmark in it."""
        return self.path / "runs"

    @property
    def transcripts_path(self) -> Path:
        """Signed transcripts of runs."""
        return self.path / "transcripts"

    @property
    def images_path(self) -> Path:
        """The images and projects of agents that teams handed in."""
        return self.path / "images"

    def image_file(self, digest: str) -> Path:
        """The archive of an image, or of a project."""
        from reglue_competition.images import kept_file

        return kept_file(self.images_path, digest)

    @contextmanager
    def images_lock(self, within_s: float = 60.0) -> Iterator[None]:
        """Hold the folder of images, so that no image is deleted while another process enters it.

        Raises RunBusy if another archive is being checked for longer than that.
        """
        lock = FileLock(self.path / _IMAGES_LOCK, mode=0o600)
        try:
            held = lock.acquire(timeout=within_s)
        except Timeout as error:
            raise RunBusy("another archive is being checked: try again in a minute") from error
        with held:
            yield

    def enter_image(
        self, store: Store, team: Team, name: str, digest: str, *, phase: str | None = None
    ) -> Submission:
        """Enter an image that is kept in the folder, whose lock the caller holds.

        One that is refused, and that no submission has, is deleted. Raises EntryRefused,
        BadArgument, StoreFailed.
        """
        try:
            return store.enter(team, name, datetime.now(UTC), phase=phase, image=digest)
        except (EntryRefused, BadArgument):
            if not any(each.image == digest for each in store.submissions()):
                self.image_file(digest).unlink(missing_ok=True)
            raise

    @property
    def replays_path(self) -> Path:
        """Videos of episodes, which the page shows once their phase is over."""
        return self.path / "replays"

    def store(self, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> Store:
        """Open the database, whose dates are by that clock. Raises UsageError and StoreFailed."""
        return Store(self.database_url, clock=clock)

    def secrets(self) -> Secrets:
        """Read the keys. Raises UsageError."""
        return Secrets.read(self.secrets_path)

    @contextmanager
    def only_server(self) -> Iterator[ServerLock]:
        """Hold the folder and the database, as the only server of both.

        Raises RunBusy if another process holds one of them, and StoreFailed.
        """
        lock = FileLock(self.path / _LOCK, mode=0o600)
        try:
            of_folder = lock.acquire(timeout=0)
        except Timeout as error:
            raise RunBusy(f"{self.path}: a server has this competition; stop it first") from error
        with of_folder, closing(ServerLock(self.database_url)) as of_database:
            yield of_database

    def benchmarks(self, phase: str) -> list[PlannedBenchmark]:
        """Plan the benchmarks of a phase. Raises UsageError, EnvironmentFault."""
        try:
            return plan_phase(self.definition, self._phase(phase), self.secrets(), self.path)
        except CannotLoad as error:
            raise UsageError(
                f"phase {phase}: {error}; if {self.path / 'tasks'} defines this environment, "
                f"install it: pip install -e {self.path / 'tasks'}"
            ) from error

    def calls_server(self, phase: str) -> bool:
        """Whether `benchmarks` waits for another program's server. Raises UsageError."""
        return calls_server(self.definition, self._phase(phase), self.path)

    def _phase(self, name: str) -> PhaseDefinition:
        try:
            return self.definition.phase(name)
        except KeyError:
            names = [each.name for each in self.definition.phases]
            raise UnknownName("phase", name, names) from None

    def check_admitted(self, store: Store, phase: str) -> None:
        """Raise UsageError if a phase must be admitted before it opens, and was not."""
        benchmarks = self.benchmarks(phase)
        plan_commitment = commitment(benchmarks, self.secrets().salt(phase))
        check_admitted(
            store, self.definition.phase(phase), benchmarks, plan_commitment, folder=self.path
        )

    def open_phase(self, store: Store, phase: str) -> Sequence[PlannedBenchmark]:
        """Put the file in force, draw what a phase plays, commit to it, and open the phase.

        The caller holds `only_server`: a server plays the file that it has read. Raises
        UsageError if the phase may not be opened, or is not admitted.
        """
        store.apply(self.definition)
        benchmarks = self.benchmarks(phase)
        plan_commitment = commitment(benchmarks, self.secrets().salt(phase))
        check_admitted(
            store, self.definition.phase(phase), benchmarks, plan_commitment, folder=self.path
        )
        store.open_phase(phase, plan_commitment)
        return benchmarks


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Yield a new folder to fill; it becomes `path` at the end, unless an error is raised.

    Only its owner can read it. Raises UsageError if `path` is there and not empty, and
    StorageFailed for any OSError.
    """
    if path.exists() and not (path.is_dir() and not any(path.iterdir())):
        raise UsageError(f"{path} exists and is not empty; choose another folder")
    try:
        path.absolute().parent.mkdir(parents=True, exist_ok=True)
        made = Path(mkdtemp(prefix=f".{path.name}-", dir=path.absolute().parent))
    except OSError as error:
        raise UsageError(f"{path} cannot be made: {error.strerror}") from error
    try:
        yield made
        made.rename(path)
    except OSError as error:
        raise StorageFailed(f"{path} cannot be made: {error.strerror or error}") from error
    finally:
        rmtree(made, ignore_errors=True)


def note_admission(
    store: Store,
    phase: str,
    benchmarks: Sequence[PlannedBenchmark],
    plan_commitment: str,
    *,
    passed: bool,
) -> None:
    """Note how the admission of a phase went."""
    bars = _bars(benchmarks)
    store.note(_ADMISSION, phase=phase, passed=passed, plan_commitment=plan_commitment, bars=bars)


def waive_admission(store: Store, phase: str) -> None:
    """Note that the organiser opens a phase that is not admitted."""
    store.note(_WAIVED, phase=phase)


def check_admitted(
    store: Store,
    phase: PhaseDefinition,
    benchmarks: Sequence[PlannedBenchmark],
    plan_commitment: str,
    *,
    folder: Path,
) -> None:
    """Raise UsageError if a phase must be admitted before it opens, and was not.

    `folder` is the competition's; the error names it.
    """
    if not _needs_admission(phase, benchmarks):
        return
    what = {"plan_commitment": plan_commitment, "bars": _bars(benchmarks)}
    why = "it was not admitted"
    for event in store.events_of(_ADMISSION, _WAIVED, phase=phase.name):
        if event.kind == _WAIVED:
            return
        when = f"at {event.at:%Y-%m-%d %H:%M} UTC"
        if any(event.detail.get(key) != value for key, value in what.items()):
            why = f"its tasks have changed since they were checked {when}"
        elif event.detail["passed"]:
            return
        else:
            why = f"it was refused {when}"
    name = phase.name
    raise UsageError(
        f"phase {name} is not opened: {why}. `reglue competition admit {folder} {name}` checks its "
        f"tasks; `reglue competition open {folder} {name} --not-admitted` opens it anyway"
    )


def _needs_admission(phase: PhaseDefinition, benchmarks: Sequence[PlannedBenchmark]) -> bool:
    """Whether a phase must be admitted, as the file says; by default if its scores count, and it
    has bars or environments of the organiser. Reglue's own environments are tested with Reglue.
    """
    if phase.needs_admission is not None:
        return phase.needs_admission
    is_foreign = any(each.code or each.entry.admit != Bars() for each in benchmarks)
    return is_foreign and phase.kind != "practice"


def _bars(benchmarks: Sequence[PlannedBenchmark]) -> list[dict[str, Any]]:
    return [each.entry.admit.model_dump() for each in benchmarks]
