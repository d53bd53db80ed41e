"""A hundred submissions that are queued at once, and a page that is read meanwhile.

`python -m speed.contenders.competition_contender sqlite 100` is the whole measurement; PostgreSQL
is the server that the tests start. It runs itself again with `agents`, the teams' side.
"""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

import reglue
from reglue import Starts, Steps
from reglue.net.join_string import JoinString
from reglue.spec import Arrays
from reglue_bench.results.scoring import read_run
from reglue_competition.competition_folder import DATABASE
from reglue_competition.definition import FILE
from reglue_competition.phases import Secrets
from reglue_competition.store import Store, Submission, migrate
from reglue_competition.store.database import sqlite_url

TEAMS, PLACES, EPISODES, STEPS = 10, 2, 10, 200
COMPETITION = f"""
name = "speed"
title = "A hundred submissions"
[[phases]]
name = "practice"
kind = "practice"
opens = 2026-01-01T00:00:00Z
closes = 2100-01-01T00:00:00Z
benchmarks = [
    {{ benchmark = "evaluate:mountain-car", options = {{ num_episodes = {EPISODES}, slots = 5, episode_limit = {STEPS} }} }},
]
[quotas]
at_once = 100
[play]
places = {PLACES}
"""  # noqa: E501 - an inline table of TOML is one line

_PATIENCE_S = 3600.0
_LEAVE_S = 20.0
_READ_EVERY_S = 0.2
_IDLE_READS = 100


class Driver(reglue.Agent):
    """Swings the car out of the valley; one action in ten is drawn, by its own seed."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)

    def agent_start(self, observations: Arrays, starts: Starts) -> npt.NDArray[np.int64]:
        """Actions `(rows,)`."""
        return self._drive(observations)

    def agent_step(
        self, rewards: npt.NDArray[np.float64], observations: Arrays, steps: Steps
    ) -> npt.NDArray[np.int64]:
        """Actions `(rows,)`."""
        return self._drive(observations)

    def _drive(self, observations: Arrays) -> npt.NDArray[np.int64]:
        velocity = observations["observation"][:, 1]
        random_actions = self._rng.integers(3, size=len(velocity))
        return np.where(
            self._rng.random(len(velocity)) < 0.1, random_actions, np.where(velocity < 0, 0, 2)
        )


def agents(join_strings: list[str], each: int) -> None:
    """So many submissions of each team, each in a thread; prints their farewells."""
    results: list[str] = []

    def play(where: str, number: int) -> None:
        results.append(reglue.connect(Driver(number), where, name=f"agent {number}"))

    threads = [
        threading.Thread(target=play, args=(where, number))
        for number in range(each)
        for where in join_strings
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sys.stdout.write(json.dumps(Counter(results)))


@dataclass(slots=True)
class Measured:
    """The figures of the section."""

    seconds: list[float] = field(default_factory=list)  # from the first join to the last farewell
    cpu_s: list[float] = field(default_factory=list)  # of all processes in that time
    play_s: list[float] = field(default_factory=list)  # of each submission, by its result
    held_s: list[float] = field(default_factory=list)  # how long each had a place
    loaded_ms: list[float] = field(default_factory=list)  # of each request meanwhile
    idle_ms: list[float] = field(default_factory=list)  # afterwards


def hundred(url: str, folder: Path, submissions: int) -> Measured:
    """Play them. Raises AssertionError if one is lost, or counts twice."""
    (folder / FILE).write_text(COMPETITION)
    secrets = Secrets.create(folder / "secrets", "127.0.0.1:4096")
    migrate(url)
    measured = Measured()
    with Store(url) as store, _served(folder, url) as (agents_at, page_at):
        joins = [
            JoinString(agents_at, store.new_token(store.add_team(f"Team {n}")), *_trust(secrets))
            for n in range(TEAMS)
        ]
        began, cpu_before_s = time.perf_counter(), _cpu_s()
        with _agents([str(each) for each in joins], submissions // TEAMS) as process:
            page = Page(page_at)
            while process.poll() is None:
                assert time.perf_counter() < began + _PATIENCE_S, "they do not end"
                if ms := page.read(store):
                    measured.loaded_ms.append(ms)
            measured.seconds = [time.perf_counter() - began]
            farewells = json.loads(process.communicate()[0] or "{}")
        assert farewells == {"the submission is finished, thank you": submissions}, farewells
        ended = store.submissions()
        measured.idle_ms = [page.read(store) for _ in range(_IDLE_READS)]
        _check_played_once(store, folder, ended, submissions)
    measured.cpu_s = [_cpu_s() - cpu_before_s]
    for each in ended:
        assert each.started_at is not None
        assert each.ended_at is not None
        measured.held_s.append((each.ended_at - each.started_at).total_seconds())
        measured.play_s.append(read_run(folder / "runs" / each.id / "0").seconds.wall)
    return measured


class Page:
    """A reader who looks at the leaderboard and at a submission by turns."""

    def __init__(self, address: str) -> None:
        self._host = address.removeprefix("http://").rstrip("/")
        self._reads = 0
        self._submission = ""

    def read(self, store: Store) -> float:
        """Milliseconds until a page is here, after a pause."""
        time.sleep(_READ_EVERY_S)
        if not self._submission and (known := store.submissions()):
            self._submission = known[0].id
            time.sleep(1.5)  # until the page knows it, too
        self._reads += 1
        path = f"/submissions/{self._submission}" if self._submission and self._reads % 2 else "/"
        began = time.perf_counter()
        connection = HTTPConnection(self._host, timeout=_LEAVE_S)
        connection.request("GET", path)
        answer = connection.getresponse()
        answer.read()
        connection.close()
        assert answer.status == 200, (path, answer.status)
        return 1000 * (time.perf_counter() - began)


def _cpu_s() -> float:
    """Processor seconds of this process, and of its ended descendants that were waited for."""
    mine = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in mine)


def _check_played_once(
    store: Store, folder: Path, ended: list[Submission], submissions: int
) -> None:
    assert len(ended) == submissions
    assert {each.status for each in ended} == {"finished"}
    kinds = Counter((event.kind, event.submission) for event in _events(store))
    for each in ended:
        for kind in ("submission entered", "run recorded", "submission finished"):
            assert kinds[kind, each.id] == 1, (kind, kinds[kind, each.id])
        result = read_run(folder / "runs" / each.id / "0")
        cells = Counter((row.unit, row.k, row.attempt) for row in result.episodes)
        assert cells == Counter((unit, 0, 0) for unit in range(EPISODES)), cells
    assert len(store.runs()) == submissions


def _events(store: Store) -> Iterator[Any]:
    after = 0
    while page := store.events(after=after, limit=500):
        yield from page
        after = page[-1].id


@contextmanager
def _served(folder: Path, url: str) -> Iterator[tuple[str, str]]:
    """`reglue competition serve`: where agents join, and the page's address."""
    listen = ["--listen", "127.0.0.1:0", "--page-listen", "127.0.0.1:0"]
    server = subprocess.Popen(
        [sys.executable, "-u", "-m", "reglue", "competition", "serve", str(folder), *listen],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=os.environ | {DATABASE: url},
    )
    with server, ExitStack() as closing:
        closing.callback(server.terminate)
        assert server.stdout is not None
        yield _said(server.stdout)


def _said(lines: IO[str]) -> tuple[str, str]:
    output = ""
    while True:
        joins, page = re.search(r"join at (\S+)", output), re.search(r"http://\S+", output)
        if joins and page:
            return joins[1], page[0]
        line = lines.readline()
        assert line, output
        output += line


@contextmanager
def _agents(join_strings: list[str], each: int) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", __spec__.name, "agents", str(each), *join_strings]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def _trust(secrets: Secrets) -> tuple[bytes, str]:
    return secrets.tls.authority, secrets.tls.name


def main(database: str, submissions: int) -> None:
    """`database` is sqlite or postgresql."""
    with ExitStack() as closing:
        folder = Path(closing.enter_context(tempfile.TemporaryDirectory(prefix="reglue-speed-")))
        url = sqlite_url(folder / "competition.sqlite")
        if database == "postgresql":
            from tests.reglue_competition.postgresql import running

            url = closing.enter_context(running()).new_database()
        sys.stdout.write(json.dumps(asdict(hundred(url, folder, submissions))))


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["agents", each, *join_strings]:
            agents(join_strings, int(each))
        case [database, submissions]:
            main(database, int(submissions))
