"""Archives of agents are needed until nothing plays them any more, and then may go."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from reglue_competition.competition_folder import CompetitionFolder
from reglue_competition.runs.images.kept_archives import delete_archives, kept_archives
from reglue_competition.store import Store
from reglue_competition.store.database import sqlite_url
from reglue_competition.store.migrate import migrate
from tests.reglue_competition.competitions import definition, phase, practice, private

IMAGE, PROJECT = f"sha256:{64 * '1'}", f"project:{64 * '2'}"


@pytest.fixture
def held(tmp_path: Path) -> Iterator[tuple[CompetitionFolder, Store]]:
    """An image in practice and public, whose chosen ones go on; a project in practice alone."""
    of = definition(
        practice(agents="submitted"),
        phase(agents="submitted"),
        private(agents="submitted", images_from="public"),
        images={"python": "python:3"},
    )
    url = sqlite_url(tmp_path / "competition.sqlite")
    migrate(url)
    folder = CompetitionFolder(tmp_path, of)
    folder.images_path.mkdir()
    with Store(url) as store:
        store.apply(of)
        team = store.add_team("Ada")
        for name in ("practice", "public"):
            store.open_phase(name, "0" * 64)
        for name, image, to in (("a", IMAGE, "practice"), ("b", IMAGE, "public")):
            store.enter(team, name, datetime.now(UTC), phase=to, image=image)
        store.enter(team, "c", datetime.now(UTC), phase="practice", image=PROJECT)
        for image, size in ((IMAGE, 20), (PROJECT, 10)):
            folder.image_file(image).write_bytes(bytes(size))
        yield folder, store


def reveal(store: Store, name: str) -> None:
    """All that was entered there has been played."""
    for each in store.submissions(name):
        store.set_status(each.id, "cancelled")
    store.close_phase(name)
    store.reveal_phase(name)


def needed(folder: CompetitionFolder, store: Store) -> dict[str, str]:
    return {each.digest: each.needed_for for each in kept_archives(folder, store)}


def test_they_are_needed_until_their_phases_are_revealed(
    held: tuple[CompetitionFolder, Store],
) -> None:
    folder, store = held
    coming = "private, which begins with it"
    assert needed(folder, store) == {
        IMAGE: f"practice, until it is revealed; {coming}; public, until it is revealed",
        PROJECT: "practice, until it is revealed",
    }
    assert [each.submissions for each in kept_archives(folder, store)] == [2, 1]
    reveal(store, "practice")
    assert needed(folder, store)[PROJECT] == ""
    reveal(store, "public")
    assert needed(folder, store)[IMAGE] == coming
    store.open_phase("private", "0" * 64)
    reveal(store, "private")
    assert needed(folder, store) == {IMAGE: "", PROJECT: ""}


def test_those_that_are_needed_stay(held: tuple[CompetitionFolder, Store]) -> None:
    folder, store = held
    reveal(store, "practice")
    (folder.images_path / "incoming").mkdir()
    nobodys = folder.images_path / f"{64 * '3'}.tar"
    nobodys.touch()
    assert needed(folder, store)[64 * "3"] == ""
    delete_archives(folder, store)
    assert {*folder.images_path.iterdir()} == {
        folder.image_file(IMAGE),
        folder.images_path / "incoming",
    }
