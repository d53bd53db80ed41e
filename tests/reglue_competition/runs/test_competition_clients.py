"""Ten teams at once, in four languages, and a server that is killed in the middle."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from reglue.net.grpc_settings import HUB_MESSAGE_BYTES
from reglue.net.join_string import JoinString
from reglue.net.lobby import open_channel
from reglue_bench.benchmark.benchmark import make_plan
from reglue_bench.evaluation import carry_out
from reglue_bench.runs.observer import NullObserver
from reglue_bench.runs.run import Request, begin
from reglue_bench.settings import Settings
from reglue_competition.definition import FILE
from reglue_competition.phases import Secrets
from reglue_competition.runs.submission import run_folder, transcript_file
from reglue_competition.store import FINAL, Store, Submission
from reglue_competition.transcript.transcript_reader import Transcript
from reglue_competition.transcript.verification import verify
from tests.agent_clients.client_programs import ROOT, built
from tests.reglue_bench.toys import AGENTS
from tests.reglue_competition.runs.corridor_submissions import of_folder
from tests.reglue_competition.runs.malicious import floods, play_raw
from tests.reglue_competition.runs.test_serve import Server, hosted_in, join_string, served
from tests.reglue_competition.transcript.test_verification import with_action
from tests.reglue_competition.transcript.transcripts import changed, with_episode
from tests.waiting import until

pytestmark = [
    pytest.mark.clients,
    pytest.mark.timeout(900),  # it may compile the C and C++ libraries
]

COMPETITION = """
name = "test"
title = "Ten teams"
[[phases]]
name = "public"
kind = "public"
opens = 2026-01-01T00:00:00Z
closes = 2100-01-01T00:00:00Z
needs_admission = false
[[phases.benchmarks]]
benchmark = "multi-task:tests.reglue_competition.runs.corridor_submissions:Gated"
[phases.benchmarks.options]
environment_args = { gate = "GATE", solved = { a = [1, 3, 0], b = [5, 0, 2] } }
num_episodes = 100
slots = 2
[play]
places = 10
step_s = 20.0
bank_s = 0.0
late = "fault"
reconnect_window_s = 40.0
turn_grid_s = 0.02
[quotas]
at_once = 1
a_day = 2
"""

LONG_S = 180.0
HONEST = ("Python 1", "Python 2", "C++ 1", "C++ 2", "Julia", "TypeScript 1", "TypeScript 2")
STALLED, KILLED, MALICIOUS = "stalled", "killed", "malicious"


@dataclass(frozen=True)
class Programs:
    """Agents' commands, by language."""

    commands: Mapping[str, list[str]]

    @contextmanager
    def joined(self, language: str, where: JoinString) -> Iterator[subprocess.Popen[bytes]]:
        """One that joins."""
        own = {"REGLUE_ADDRESS": str(where)}
        with subprocess.Popen(self.commands[language], env=os.environ | own) as process:
            try:
                yield process
            finally:
                process.kill()


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch) -> Programs:
    monkeypatch.setenv("REGLUE_LIBRARY", str(built("c", "reglue_c", "libreglue.so")))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    julia = ROOT / "agent_clients/julia"
    return Programs(
        {
            "C++": [str(built("cpp", "random_agent", "examples/random_agent"))],
            "Julia": [
                *("julia", "--startup-file=no", "-O1", f"--project={julia}"),
                str(julia / "examples/random.jl"),
            ],
            "TypeScript": ["node", str(ROOT / "agent_clients/typescript/dist/examples/random.js")],
            "Python": python("Seeded"),
            STALLED: python("Hangs"),
            KILLED: python("Seeded"),
        }
    )


def python(agent: str) -> list[str]:
    return [sys.executable, "-m", "reglue", "join", f"{AGENTS}:{agent}"]


# No client sees which database it is: tests of Python agents kill servers on both.
@pytest.mark.parametrize("url", ["postgresql"], indirect=True)
def test_honest_teams_get_to_the_bit_what_each_gets_alone_whatever_else_happens(
    tmp_path: Path, store: Store, url: str, programs: Programs
) -> None:
    """One is killed, one stalls, one is malicious, and the server is killed in the middle.

    So nobody knows whether the killed one left or looked for a server: it may come back.
    """
    Secrets.create(tmp_path / "secrets", "127.0.0.1:4096")
    gate = tmp_path / "gate"
    (tmp_path / FILE).write_text(COMPETITION.replace("GATE", str(gate)))
    with ExitStack() as closing:
        first = closing.enter_context(served(tmp_path, url))
        where = {
            team: join_string(tmp_path, store, first.address, team)
            for team in (*HONEST, STALLED, KILLED, MALICIOUS)
        }

        def join(team: str) -> subprocess.Popen[bytes]:
            return closing.enter_context(programs.joined(team.rstrip(" 12"), where[team]))

        agents = {team: join(team) for team in (*HONEST, KILLED)}
        until(lambda: len([*tmp_path.glob("gate-*")]) == len(agents), "all are there", LONG_S)
        gate.touch()
        bad = closing.enter_context(ThreadPoolExecutor(1))
        said = bad.submit(attack, where[MALICIOUS])
        until(lambda: all(done(store, team) for team in (*HONEST, KILLED)), "all play", LONG_S)
        agents[KILLED].kill()
        first.process.kill()
        first.process.wait()
        assert playing(store) >= {*HONEST}
        second = closing.enter_context(served(tmp_path, url, first.address))
        join(STALLED)  # it would be called lost if it had stalled before
        until(lambda: statuses(store, HONEST) == {"finished"}, "the honest have ended", LONG_S)
        assert [agents[team].wait(LONG_S) for team in HONEST] == [0] * len(HONEST)
        until(lambda: statuses(store, (STALLED,)) == {"failed"}, "another too", LONG_S)
        until(lambda: statuses(store, (KILLED,)) == {"waiting"}, "one is waited for", LONG_S)
        said.result(LONG_S)
        drain(second)
    check_what_stands(tmp_path, store, programs)
    check_what_fails(store)
    check_transcripts(tmp_path, store)


def done(store: Store, team: str) -> int:
    """Episodes, as the page shows them."""
    found = store.submissions(team=team)
    return int(found[0].progress.get("done", 0)) if found else 0


def playing(store: Store) -> set[str]:
    return {each.team for each in store.submissions(statuses=["playing"])}


def statuses(store: Store, teams: tuple[str, ...]) -> set[str]:
    return {each.status for team in teams for each in store.submissions(team=team)}


def attack(where: JoinString) -> None:
    """Play, and join again, for as long as there is a quota, also while there is no server."""

    def is_refused() -> bool:
        with open_channel(where, HUB_MESSAGE_BYTES) as channel:
            said = play_raw(channel, where.token, floods)
        return said.startswith("INVALID_ARGUMENT: phase public allows a team 2 submissions")

    until(is_refused, "its quota is used up", LONG_S)


def drain(server: Server) -> None:
    server.process.terminate()
    assert server.process.wait(LONG_S) == 0


def check_what_stands(folder: Path, store: Store, programs: Programs) -> None:
    """Each honest team has one score, of one run, and its rows are those it gets alone."""
    (drawn,) = hosted_in(folder).benchmarks("public")
    kinds = [(each.kind, each.team) for each in store.events(limit=10_000)]
    for team in HONEST:
        (submission,) = store.submissions(team=team)
        here = of_folder(runs_of(folder, submission), 1)
        command = programs.commands[team.rstrip(" 12")]
        assert here == alone(folder / "alone" / team, command, submission, drawn.settings), team
        (run,) = store.runs(submission.id)
        assert (run.status, run.owner) == ("ok", "")
        assert run.score == pytest.approx(4 / 6)
        assert kinds.count(("submission finished", team)) == 1
        assert kinds.count(("run recorded", team)) == 1


def alone(
    folder: Path, command: list[str], submission: Submission, settings: Settings
) -> list[Any]:
    """The rows that a program gets when it plays a submission here, by itself."""
    own = {"agent": "", "agent_cmd": shlex.join(command), "turn_every": 0.0}
    changed = settings.model_copy(update=own)
    request = Request(changed, make_plan(changed), nonce=f"{submission.id} 0")
    with begin(run_folder(folder, 0), request) as ledger:
        carry_out(run_folder(folder, 0), ledger, request, NullObserver())
    return of_folder(folder, 1)


def check_what_fails(store: Store) -> None:
    for team, why in ((KILLED, "the server was away"), (STALLED, "agent_timeout")):
        (submission,) = store.submissions(team=team)
        assert submission.detail.startswith(why), (team, submission.detail)
    attacks = store.submissions(team=MALICIOUS)
    assert [each.status for each in attacks] == ["failed", "failed"]
    runs = [run for each in store.submissions() for run in store.runs(each.id)]
    assert len(runs) == len(HONEST) + 3
    assert {run.owner for run in runs if run.status != "ok"} == {"agent"}


def check_transcripts(folder: Path, store: Store) -> None:
    """All stand; none stands any more once a byte, or an action, is another."""
    secrets = Secrets.read(folder / "secrets")

    def verdict(file: Path) -> str:
        key = secrets.public_key
        return verify(file, public_key=key, trust_code=True).problem

    ended = store.submissions(statuses=FINAL)
    files = [transcript_file(folder / "transcripts", each.id, 0) for each in ended]
    assert [verdict(file) for file in files] == [""] * (len(HONEST) + 3)
    copy = Path(shutil.copy(files[0], folder / "copy.reglue"))
    content = bytearray(copy.read_bytes())
    content[len(content) // 2] ^= 1
    copy.write_bytes(content)
    assert "its bytes" in verdict(copy)
    shutil.copy(files[0], copy)
    with Transcript(copy) as read:
        number = next(n for n, episode in enumerate(read) if episode.facts.steps > 2)
    changed(copy, with_episode(number, with_action), key=secrets._signing)  # by the organiser
    assert "not replayed: step 3 of" in verdict(copy)


def runs_of(folder: Path, submission: Submission) -> Path:
    return folder / "runs" / submission.id
