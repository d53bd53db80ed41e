"""A competition over the corridor whose queue and gateway are in this process."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from glue_server.rpc.gateways.agent_gateway import AgentGateway
from reglue.net.join_string import JoinString
from reglue_competition.competition_folder import CompetitionFolder
from reglue_competition.phases import Secrets
from reglue_competition.runs.hosted import Hosted
from reglue_competition.runs.metrics import Metrics
from reglue_competition.runs.queue import Queue
from reglue_competition.runs.store_entries import StoreEntries
from reglue_competition.store import Store, Submission
from reglue_competition.store.database import PATIENCE_S, sqlite_url
from reglue_competition.store.migrate import migrate
from reglue_competition.store.server_lock import ServerLock
from tests.reglue_competition.competitions import definition, phase
from tests.reglue_competition.runs.corridor_submissions import CORRIDOR, alone
from tests.waiting import PATIENCE_S as TEST_PATIENCE_S

_LOOK_S = 0.05

OPTIONS = {"environment_args": CORRIDOR, "num_episodes": 6, "slots": 2}


def corridor(**options: Any) -> dict[str, Any]:
    """A benchmark of a phase."""
    return {"benchmark": "multi-task:tests.worlds:Corridor", "options": OPTIONS | options}


class Hosting:
    """One server, and what tests ask of it."""

    def __init__(self, hosted: Hosted, store: Store, lock: ServerLock) -> None:
        self.hosted, self.store = hosted, store
        self.metrics = Metrics()
        self.entries = StoreEntries(store, self.metrics, hosted.definition)
        asks = hosted.definition.client_certificates
        self.tls = replace(hosted.secrets.tls, asks=True) if asks else None
        self.gateway = AgentGateway(
            entries=self.entries, reconnect_window_s=hosted.reconnect_window_s, tls=self.tls
        )
        self.queue = Queue(
            store,
            hosted,
            lock=lock,
            gateway=self.gateway,
            entries=self.entries,
            metrics=self.metrics,
        )

    def team(self, name: str) -> JoinString:
        """A new team's join string."""
        self.store.add_team(name)
        return self.token(name)

    def token(self, team: str, phase: str | None = None) -> JoinString:
        """A join string with a new token of a team, for one phase or for any."""
        token = self.store.new_token(self.store.team(team), phase=phase)
        if self.tls is None:
            return JoinString(self.gateway.address, token)
        return JoinString(self.gateway.address, token, self.tls.authority, self.tls.name)

    def submission(self, team: str, name: str | None = None) -> Submission:
        """The team's last one, of that name."""
        found = self.store.submissions(team=team)
        return [each for each in found if name in (None, each.name)][-1]

    def runs_until(
        self, condition: Callable[[], bool], what: str, most_s: float = TEST_PATIENCE_S
    ) -> None:
        """Let the queue look until that holds: at what a process says, and now and then."""
        deadline = time.monotonic() + most_s
        while True:
            self.queue.tick()
            if condition():
                return
            assert time.monotonic() < deadline, f"waited {most_s:g} s until {what}"
            self.queue.wait(_LOOK_S)

    def runs_until_status(self, status: str, *teams: str) -> None:
        """Until the last submission of each team has it."""

        def all_have() -> bool:
            for team in teams:
                found = self.store.submissions(team=team)
                if not found or found[-1].status != status:
                    return False
            return True

        self.runs_until(all_have, f"{', '.join(teams)}: {status}")

    def runs_until_open(self, phase: str) -> None:
        """Until that phase is open: its plan may wait for another program's server."""

        def is_open() -> bool:
            return any(each.name == phase and each.state == "open" for each in self.store.phases())

        self.runs_until(is_open, f"{phase} is open")

    def enter(self, team: str, name: str = "Seeded", phase: str | None = None) -> Submission:
        """Enter a team's agent that is not here."""
        return self.store.enter(self.store.team(team), name, datetime.now(UTC), phase=phase)

    def folder(self, submission: Submission) -> Path:
        """Of its runs."""
        return self.hosted.runs_of(submission)

    def take_folder(self, team: str) -> None:
        """A file is where the runs of the team's submission belong: it cannot be played."""
        there = self.folder(self.submission(team))
        there.parent.mkdir()
        there.write_text("no folder")

    def alone(self, folder: Path, agent: Any, submission: Submission) -> list[Any]:
        """The rows that an agent gets when it plays that submission here, by itself."""
        played = [each.settings for each in self.hosted.benchmarks(submission.phase)]
        return alone(folder, agent, submission.id, *played)

    def close(self) -> None:
        """Stop what plays, then the gateway."""
        self.queue.close(10.0)
        self.gateway.close()


@contextmanager
def hosting(
    folder: Path,
    *phases: dict[str, Any],
    url: str | None = None,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    patience_s: float = PATIENCE_S,
    **changes: Any,
) -> Iterator[Hosting]:
    """A server of a competition in `folder`, which is made where there is none."""
    play = {"reconnect_window_s": 5.0, "places": 4, "step_s": 5.0, "bank_s": 0.0, "late": "fault"}
    made = definition(
        *(phases or [phase(benchmarks=[corridor()])]),
        **{"play": play | changes.pop("play", {}), **changes},
    )
    url = url or sqlite_url(folder / "competition.sqlite")
    keys = folder / "secrets"
    secrets = Secrets.read(keys) if keys.exists() else Secrets.create(keys)
    migrate(url)
    with ExitStack() as closing:
        store = closing.enter_context(Store(url, clock=clock, patience_s=patience_s))
        store.apply(made)
        lock = closing.enter_context(contextlib.closing(ServerLock(url, patience_s=patience_s)))
        server = Hosting(Hosted(CompetitionFolder(folder, made), secrets), store, lock)
        closing.callback(server.close)
        server.queue.tick()
        yield server
