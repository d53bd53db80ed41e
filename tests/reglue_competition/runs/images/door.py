"""A competition's door for archives of agents, and how a team sends one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from glue_server.rpc.gateways.agent_gateway import AgentGateway
from reglue.net.join_string import JoinString
from reglue.net.upload import Submitted, submit
from reglue.v1 import submission_pb2
from reglue_competition.competition_folder import CompetitionFolder
from reglue_competition.runs.images.handed_in import INCOMING, HandedIn
from reglue_competition.runs.metrics import Metrics
from reglue_competition.runs.store_entries import StoreEntries
from reglue_competition.store import Store
from reglue_competition.store.database import sqlite_url
from reglue_competition.store.migrate import migrate
from tests.reglue_competition.competitions import definition, phase

pytestmark = pytest.mark.usefixtures("cleared")

Stub = Callable[..., submission_pb2.ArchiveState]


class Door:
    """A competition's gateway, without its queue: what is entered waits."""

    def __init__(self, folder: CompetitionFolder, store: Store) -> None:
        self.folder, self.store, self.is_closed = folder, store, False
        entries = StoreEntries(store, Metrics(), folder.definition)
        self.now_s = 0.0
        self.archives = HandedIn(folder, store, entries, clock=lambda: self.now_s)
        self.gateway = AgentGateway(entries=entries, archives=self.archives, reconnect_window_s=5.0)

    @property
    def incoming(self) -> list[str]:
        """The names of what has come."""
        return [each.name for each in (self.folder.images_path / INCOMING).glob("*")]

    @property
    def kept(self) -> list[str]:
        """The digests of images."""
        return [f"sha256:{each.stem}" for each in self.folder.images_path.glob("*.tar")]

    def team(self, name: str = "Team A") -> JoinString:
        """A new team's join string."""
        return JoinString(self.gateway.address, self.store.new_token(self.store.add_team(name)))

    def close(self) -> None:
        """Once more does nothing."""
        if not self.is_closed:
            self.gateway.close()
            self.archives.close()
        self.is_closed = True


@contextmanager
def door(
    folder: Path, agents: str = "submitted", *before: dict[str, Any], **changes: Any
) -> Iterator[Door]:
    """The door of a competition whose phases are open; a folder without one gets one."""
    url = sqlite_url(folder / "competition.sqlite")
    made = definition(*before, phase(agents=agents), **changes)
    is_new = not (folder / "competition.sqlite").exists()
    migrate(url)
    with ExitStack() as closing:
        store = closing.enter_context(Store(url))
        store.apply(made)
        if is_new:
            for each in made.phases:
                store.open_phase(each.name, "0" * 64)
        found = Door(CompetitionFolder(folder, made), store)
        closing.callback(found.close)
        yield found


def archived(folder: Path, content: bytes) -> Path:
    file = folder / "agent.tar"
    file.write_bytes(content)
    return file


def sent(where: JoinString, archive: Path, name: str = "first", **more: Any) -> Submitted:
    return submit(where, archive, name=name, connect_timeout_s=20.0, **more)
