"""The archives of agents that a competition still needs, and those that may go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reglue_competition.competition_folder import CompetitionFolder
from reglue_competition.store import Store


@dataclass(frozen=True, slots=True)
class KeptArchive:
    """An image or a project in the competition's folder."""

    digest: str  # that no submission has: its file's name
    bytes: int
    submissions: int  # that play it
    needed_for: str  # in words; empty: it may go


def kept_archives(folder: CompetitionFolder, store: Store) -> Sequence[KeptArchive]:
    """All of them, the largest first.

    One is needed until each phase in which it was entered is revealed, as its submissions may be
    played again till then, and so is each phase that begins with images of such a phase. Raises
    StoreFailed.
    """
    revealed = {each.name for each in store.phases() if each.revealed_at is not None}
    coming = {
        each.images_from: each.name
        for each in store.definition().phases
        if each.images_from is not None and each.name not in revealed
    }
    phases: dict[str, list[str]] = {}  # by digest
    for each in store.submissions():
        if each.image is not None:
            phases.setdefault(each.image, []).append(each.phase)
    digests = {folder.image_file(digest): digest for digest in phases}
    found = []
    for file in folder.images_path.glob("*.tar"):
        digest = digests.get(file, file.stem)
        entered = phases.get(digest, [])
        why = [f"{each}, until it is revealed" for each in {*entered} - revealed]
        why += [f"{coming[each]}, which begins with it" for each in {*entered} & {*coming}]
        needed_for = "; ".join(sorted(why))
        found.append(KeptArchive(digest, file.stat().st_size, len(entered), needed_for))
    return sorted(found, key=lambda each: (-each.bytes, each.digest))


def delete_archives(folder: CompetitionFolder, store: Store) -> None:
    """Delete those that nothing needs. Raises StoreFailed, RunBusy and OSError."""
    with folder.images_lock():  # whose holder may be about to enter one
        for each in kept_archives(folder, store):
            if not each.needed_for:
                folder.image_file(each.digest).unlink(missing_ok=True)
