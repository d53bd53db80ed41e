"""Archives of agents that teams hand in over the network, a part at a time.

What has come lies in a file, so that a team whose connection broke, or whose server began anew,
goes on where it was. A whole archive is checked in a process of its own, and entered.
"""

from __future__ import annotations

import hashlib
import logging
import math
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from glue_server.rpc.gateways.archive_calls import ArchivePart, ArchiveState
from glue_server.rpc.gateways.entries import EntryRefused
from glue_server.rpc.handlers import Caller
from reglue.errors import RunBusy, StorageFailed
from reglue_competition.competition_folder import CompetitionFolder
from reglue_competition.images import GIB
from reglue_competition.runs.images.image_check import ImageCheck
from reglue_competition.runs.store_entries import StoreEntries, refusing
from reglue_competition.store import Store, Team

log = logging.getLogger("reglue")

INCOMING = "incoming"
"""The folder of unfinished uploads, in that of images."""

_IDLE_S = 600.0  # after which an archive of which nothing more came makes room for another
_TOLD_S = 60.0  # how long a repeated call gets the same submission; after that it is a new one
_WAIT_S = 3600.0  # for the check of an archive that the organiser enters
_LOOK_S = 1.0
_OURS = "our own failure, the organiser's log says more; try again later"
_FULL = "there is no room for it now: ask the organiser, or try again later"


@dataclass(slots=True, eq=False)
class _Upload:
    """An archive that comes, or is checked, or was entered."""

    key: bytes
    team: Team
    name: str
    size: int
    sha256: bytes
    file: Path
    used_at: float  # by the clock
    entered: Future[ArchiveState] | None = None  # once all of it has come
    until: float = math.inf  # likewise: when it is forgotten
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def received(self) -> int:
        return self.file.stat().st_size if self.file.exists() else 0

    @property
    def is_checking(self) -> bool:
        return self.entered is not None and not self.entered.done()

    @property
    def room(self) -> int:
        """Bytes that it may still need."""
        return 0 if self.entered is not None and self.entered.done() else self.size


class HandedIn:
    """The gateway's `Archives`. A team has one archive under way at a time."""

    def __init__(
        self,
        folder: CompetitionFolder,
        store: Store,
        entries: StoreEntries,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`clock` tells seconds."""
        limits = folder.definition.images
        self._most, self._most_in_all = int(limits.image_gib * GIB), int(limits.images_gib * GIB)
        self._folder, self._store, self._entries = folder, store, entries
        self._clock = clock
        self._incoming = folder.images_path / INCOMING
        self._uploads: dict[int, _Upload] = {}  # by team
        self._lock = threading.Lock()  # taken within an upload's lock, never around one
        self._is_closed = False
        self._check = ImageCheck(
            folder.images_path,
            most_bytes=self._most,
            most_in_all=self._most_in_all,
            takes_projects=limits.python is not None,
        )
        self._checker = ThreadPoolExecutor(1, thread_name_prefix="reglue-image")

    def close(self) -> None:
        """Stop. Unfinished uploads stay, and the next server continues them."""
        self._is_closed = True
        self._check.close()  # first: the shutdown waits for the check that is under way
        self._checker.shutdown(cancel_futures=True)

    def take(self, part: ArchivePart, caller: Caller) -> ArchiveState:
        key = _key(part)
        upload = next((each for each in [*self._uploads.values()] if each.key == key), None)
        try:
            if not part.content:
                team = self._entries.team_of(part.token, caller)
                if upload is None or upload.until <= self._clock():
                    upload = self._begin(key, team, part)
            if upload is None:
                raise EntryRefused("nothing of this archive is here", kind="again")
            with upload.lock:
                return self._state(upload, part, caller)
        except OSError as error:
            log.error("an archive cannot be kept: %s", error)
            raise EntryRefused(_OURS, kind="later") from error

    def _begin(self, key: bytes, team: Team, part: ArchivePart) -> _Upload:
        """Make room for a team's archive, instead of another one of it. Raises EntryRefused."""
        with refusing(team.name):
            phase = self._store.phase_of(part.token)
            self._store.check_image(team, part.name, datetime.now(UTC), phase=phase)
        if not 0 < part.size <= self._most:
            why = f"the archive has {part.size:,} bytes, wanted {self._most:,} at most"
            raise EntryRefused(why, team=team.name)
        file = self._incoming / f"{team.id}-{part.sha256.hex()}"
        with self._lock:
            old = self._uploads.get(team.id)
            if old is not None and old.is_checking:
                why = "another archive of your team is being checked: try again in some minutes"
                raise EntryRefused(why, kind="later", team=team.name)
            for each in (self._incoming.parent, self._incoming):
                each.mkdir(mode=0o700, exist_ok=True)
            if old is not None:
                self._forget(old, besides=file)
            if not self._fits(part.size, file):
                self._forget_idle(besides=file)
                if not self._fits(part.size, file):
                    raise EntryRefused(_FULL, kind="later", team=team.name)
            upload = _Upload(
                key, team, part.name, part.size, part.sha256, file, used_at=self._clock()
            )
            self._uploads[team.id] = upload
            return upload

    def _fits(self, size: int, file: Path) -> bool:
        """Whether there is room for so many bytes in `file`, besides what is kept and comes."""
        used = sum(each.stat().st_size for each in self._folder.images_path.glob("*.tar"))
        used += sum(each.room for each in self._uploads.values())
        known = {each.file for each in self._uploads.values()} | {file}
        used += sum(each.stat().st_size for each in self._incoming.iterdir() if each not in known)
        return used + size <= self._most_in_all

    def _forget_idle(self, besides: Path) -> None:
        """Make room: of uploads of which nothing comes, and of files that no upload has."""
        now = self._clock()
        for each in [*self._uploads.values()]:
            if not each.is_checking and each.used_at + _IDLE_S < now:
                self._forget(each, besides)
        known = {each.file for each in self._uploads.values()} | {besides}
        for file in self._incoming.iterdir():
            if file not in known and file.stat().st_mtime + _IDLE_S < time.time():
                file.unlink(missing_ok=True)

    def _forget(self, upload: _Upload, besides: Path) -> None:
        del self._uploads[upload.team.id]
        if upload.file != besides:
            upload.file.unlink(missing_ok=True)

    def _state(self, upload: _Upload, part: ArchivePart, caller: Caller) -> ArchiveState:
        """Keep the part, if it is the next one; its upload's lock is held. Raises EntryRefused."""
        if upload.entered is None:
            if self._uploads.get(upload.team.id) is not upload:  # another took its place just now
                raise EntryRefused("the team has begun another archive", kind="again")
            received, upload.used_at = upload.received, self._clock()
            if part.content and part.offset == received:
                if received + len(part.content) > upload.size:
                    why = f"got more than the {upload.size:,} bytes that the archive was to have"
                    raise EntryRefused(why, team=upload.team.name)
                _append(upload.file, part.content)
                received += len(part.content)
            if received < upload.size:
                return ArchiveState(received)
            upload.entered = self._checker.submit(self._enter, upload, part.token, caller)
        if not upload.entered.done():
            return ArchiveState(upload.size)
        try:
            return upload.entered.result()
        except EntryRefused:
            with self._lock:  # so that it may be handed in again
                if self._uploads.get(upload.team.id) is upload:
                    del self._uploads[upload.team.id]
            raise

    def _enter(self, upload: _Upload, token: str, caller: Caller) -> ArchiveState:
        """Check a whole archive, and enter what it holds. Raises EntryRefused."""
        team = upload.team.name
        try:
            with refusing(team), self._images_lock():
                bearer = self._entries.team_of(token, caller)  # it may have expired meanwhile
                phase = self._store.phase_of(token)
                digest = self._check(upload.file, upload.sha256)
                entered = self._folder.enter_image(
                    self._store, bearer, upload.name, digest, phase=phase
                )
        except (OSError, RunBusy, StorageFailed) as error:
            log.error("an archive of %s cannot be kept: %s", team, error, extra={"team": team})
            raise EntryRefused(_OURS, kind="later", team=team) from error
        except EntryRefused as refused:
            if refused.kind != "later":
                upload.file.unlink(missing_ok=True)
            raise
        upload.file.unlink(missing_ok=True)
        about = {"team": team, "submission": entered.id}
        log.info("an agent was handed in: %s", digest, extra=about)
        upload.until = self._clock() + _TOLD_S
        return ArchiveState(upload.size, entered.id, digest, entered.phase)

    @contextmanager
    def _images_lock(self) -> Iterator[None]:
        """Hold the folder of images, unless we close. Raises RunBusy."""
        deadline = time.monotonic() + _WAIT_S
        with ExitStack() as held:
            while True:
                try:
                    held.enter_context(self._folder.images_lock(_LOOK_S))
                    break
                except RunBusy:
                    if self._is_closed or time.monotonic() > deadline:
                        raise
            yield


def _key(part: ArchivePart) -> bytes:
    """A digest of everything that the calls of one archive share."""
    told = (part.token.encode(), part.name.encode(), str(part.size).encode(), part.sha256)
    return hashlib.sha256(b"".join(hashlib.sha256(each).digest() for each in told)).digest()


def _append(file: Path, content: bytes) -> None:
    """All of it or nothing. Raises OSError."""
    with file.open("ab") as appended:
        before = appended.tell()
        try:
            appended.write(content)
            appended.flush()
        except OSError:
            appended.truncate(before)
            raise
