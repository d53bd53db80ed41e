"""`python -m tests.crowd`: a competition with many teams, whose server is killed in its midst.

The teams come from a table, each enters one agent after another, and a third of the way the server
gets SIGKILL and is started again. It prints whether every submission was played once, and what
processor time one costs the server: with its process, and without the agents.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import Progress

import reglue
from reglue.errors import ReglueError
from reglue.examples.constant import Constant

_REGLUE = (sys.executable, "-m", "reglue", "competition")
_LOOK_S = 5.0
_AGAIN_S = 1.0
_MOST_S = 7200.0

_FILE = """
name = "crowd"
title = "A crowd"
address = "127.0.0.1:{port}"

[[phases]]
name = "public"
kind = "public"
opens = 2026-01-01T00:00:00Z
closes = 2100-01-01T00:00:00Z
benchmarks = [{{ benchmark = "evaluate:cart-pole", options = {{ num_episodes = 4 }} }}]

[play]
places = {places}
"""


def crowd(
    teams: Annotated[int, typer.Option(min=1, help="teams")] = 200,
    each: Annotated[int, typer.Option(min=1, help="agents that each enters")] = 3,
    places: Annotated[int, typer.Option(min=1, help="submissions that play at once")] = 4,
) -> None:
    """Hold the competition, and say what was lost or played twice."""
    logging.getLogger("reglue").setLevel(logging.ERROR)  # each agent says that it waits
    console = Console()
    with tempfile.TemporaryDirectory(prefix="reglue-crowd-") as folder:
        held = _Competition(Path(folder), teams, places)
        try:
            wrong = held.play(each, console)
        finally:
            held.stop()
        for words in wrong:
            console.print(words, markup=False, highlight=False)
    raise typer.Exit(int(bool(wrong)))


class _Competition:
    """One whose teams are imported."""

    def __init__(self, folder: Path, teams: int, places: int) -> None:
        self._folder = folder / "competition"
        self._teams = teams
        self._log = folder / "server.log"
        self._processor_s = 0.0  # of servers that have ended
        self._server: subprocess.Popen[bytes] | None = None
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        _done("init", self._folder)
        file = _FILE.format(port=port, places=places)
        (self._folder / "competition.toml").write_text(file, encoding="utf-8")
        table = folder / "teams.csv"
        names = "".join(f"Team {number:04}\n" for number in range(teams))
        table.write_text(f"team\n{names}", encoding="utf-8")
        _done("team", "import", self._folder, table, folder / "joins")
        self._joins = [each.read_text().strip() for each in sorted(folder.glob("joins/*.join"))]

    def play(self, each: int, console: Console) -> list[str]:
        """Let all teams enter, and kill the server once; what went wrong."""
        began, wanted = time.monotonic(), self._teams * each
        self._serve()
        enters = [
            threading.Thread(target=_enter, args=(where, each), daemon=True)
            for where in self._joins
        ]
        for thread in enters:
            thread.start()
        was_killed = False
        with Progress(console=console, transient=True) as progress:
            task = progress.add_task("submissions", total=wanted)
            while (ended := self._ended()) < wanted and time.monotonic() < began + _MOST_S:
                progress.update(task, completed=ended)
                if not was_killed and 3 * ended >= wanted:
                    was_killed = True
                    self._end(signal.SIGKILL)
                    self._serve()
                time.sleep(_LOOK_S)
        wall_s = time.monotonic() - began
        self.stop()
        for thread in enters:
            thread.join(_LOOK_S)
        console.print(
            f"{self._teams} teams, {wanted} submissions, one kill -9 of the server: {wall_s:.0f} "
            f"s; a submission costs the server {self._processor_s / wanted:.2f} s of a processor"
        )
        return _wrong(self._exported(), wanted)

    def stop(self) -> None:
        """Stop the server, if it runs."""
        if self._server is not None:
            self._end(signal.SIGTERM)

    def _serve(self) -> None:
        words = [*_REGLUE, "serve", str(self._folder), "--no-page"]
        with self._log.open("ab") as log:
            self._server = subprocess.Popen(words, stdout=log, stderr=log)

    def _end(self, by: signal.Signals) -> None:
        assert self._server is not None
        self._server.send_signal(by)
        _, _, used = os.wait4(self._server.pid, 0)
        self._processor_s += used.ru_utime + used.ru_stime
        self._server = None

    def _ended(self) -> int:
        told = json.loads(_done("status", self._folder, "--json"))
        (counts,) = (each["submissions"] for each in told["phases"] if each["name"] == "public")
        return sum(count for name, count in counts.items() if name not in ("waiting", "playing"))

    def _exported(self) -> dict[str, Any]:
        exported: dict[str, Any] = json.loads(_done("export", self._folder, "--json"))
        return exported


def _enter(where: str, each: int) -> None:
    """One agent after another; one that the server went away from joins again."""
    for number in range(each):
        while True:
            with suppress(ReglueError):
                reglue.connect(Constant(), where, name=f"agent {number}", connect_timeout_s=600.0)
                break
            time.sleep(_AGAIN_S)


def _wrong(exported: dict[str, Any], wanted: int) -> list[str]:
    submissions, runs, events = (exported[name] for name in ("submissions", "runs", "events"))
    found = []
    statuses = Counter(each["status"] for each in submissions)
    if statuses != {"finished": wanted}:
        found.append(f"got {dict(statuses)}, wanted {wanted} that are finished")
    if len({(each["team"], each["name"]) for each in submissions}) != len(submissions):
        found.append("a team's agent was entered twice")
    of_run = Counter(each["submission"] for each in runs)
    finished = Counter(e["submission"] for e in events if e["kind"] == "submission finished")
    for each in submissions:
        counts = of_run[each["id"]], finished[each["id"]]
        if counts != (1, 1):
            found.append(f"{each['id']}: {counts[0]} runs, and finished {counts[1]} times")
    return found


def _done(*words: object) -> str:
    done = subprocess.run([*_REGLUE, *map(str, words)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise typer.BadParameter(f"{words}: {done.stdout}{done.stderr}")
    return done.stdout


typer.run(crowd)
