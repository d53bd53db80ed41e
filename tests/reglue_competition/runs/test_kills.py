"""A server that is killed at any moment scores nothing twice.

Here over PostgreSQL; over SQLite, and for as long as one likes, it is a campaign of `make chaos`.
"""

from __future__ import annotations

import random
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from reglue import connect
from reglue.net.join_string import JoinString
from reglue_competition.definition import FILE
from reglue_competition.phases import Secrets
from reglue_competition.runs.submission import transcript_file
from reglue_competition.store import Store
from reglue_competition.transcript.verification import verify
from tests.reglue_bench.agents import Seeded
from tests.reglue_competition.runs.corridor_submissions import alone, of_folder
from tests.reglue_competition.runs.test_serve import COMPETITION, hosted_in, join_string, served
from tests.waiting import PATIENCE_S, until

pytestmark = pytest.mark.slow

TEAMS = ("A", "B")
NAMES = ("first", "second")
KILLS = 2
FINISHED = "the submission is finished, thank you"


def plays_all(where: JoinString) -> list[str]:
    """One submission after another; their farewells."""
    return [connect(Seeded(), str(where), name=name, connect_timeout_s=60.0) for name in NAMES]


@pytest.mark.parametrize("url", ["postgresql"], indirect=True)
def test_a_server_that_is_killed_at_any_moment_finishes_each_submission_once(
    tmp_path: Path, store: Store, url: str
) -> None:
    kill_servers(random.Random(0), tmp_path, store, url)


def kill_servers(rng: random.Random, folder: Path, store: Store, url: str) -> None:
    """Kill one server after another, and let the last one finish what their agents entered."""
    Secrets.create(folder / "secrets", "127.0.0.1:4096")
    (folder / FILE).write_text(COMPETITION)
    with ThreadPoolExecutor(len(TEAMS)) as threads:
        where: list[JoinString] = []
        agents = []
        for _ in range(KILLS):
            with served(folder, url, where[0].address if where else "127.0.0.1:0") as server:
                if not where:
                    where = [join_string(folder, store, server.address, team) for team in TEAMS]
                    agents = [threads.submit(plays_all, each) for each in where]
                time.sleep(rng.uniform(0.0, 4.0))  # anything may be under way
                server.process.kill()
        with served(folder, url, where[0].address) as last:
            until(lambda: all(each.done() for each in agents), "all agents have left", 120.0)
            last.process.terminate()
            assert last.process.wait(PATIENCE_S) == 0
        assert [each.result() for each in agents] == [[FINISHED] * len(NAMES)] * len(TEAMS)
    check_all(folder, store)


def check_all(folder: Path, store: Store) -> None:
    """Each has ended once, and has the rows and the transcript of an agent alone."""
    hosted = hosted_in(folder)
    settings = [each.settings for each in hosted.benchmarks("public")]
    submissions = store.submissions()
    found = [(each.team, each.name, each.status) for each in submissions]
    assert sorted(found) == [(team, name, "finished") for team in TEAMS for name in NAMES]
    events = [(each.kind, each.submission) for each in store.events(limit=10_000)]
    for each in submissions:
        assert events.count(("submission finished", each.id)) == 1
        assert [run.index for run in store.runs(each.id)] == [0]
        here = of_folder(hosted.runs_of(each), 1)
        assert here == alone(folder / "alone" / each.id, Seeded(), each.id, *settings)
        file = transcript_file(folder / "transcripts", each.id, 0)
        assert verify(file, public_key=hosted.secrets.public_key, trust_code=True).problem == ""
