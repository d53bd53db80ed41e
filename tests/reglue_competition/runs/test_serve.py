"""`reglue competition serve`, as a process that a test stops and kills."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from filelock import FileLock

from reglue.errors import RunBusy, UsageError
from reglue.net.grpc_settings import HUB_MESSAGE_BYTES, grpc
from reglue.net.join_string import JoinString, split_address
from reglue.net.join_string import join_string as read_join_string
from reglue.net.lobby import open_channel
from reglue_competition.competition_folder import DATABASE, CompetitionFolder
from reglue_competition.definition import FILE
from reglue_competition.phases import Secrets
from reglue_competition.phases.certificates import renew
from reglue_competition.runs.hosted import Hosted
from reglue_competition.runs.serve import Addresses, serve
from reglue_competition.store import Store, migrate
from reglue_competition.store.database import sqlite_url
from tests.error_facts import raises
from tests.glue_server.rpc.peers import ask, refusal
from tests.leftovers import child_processes
from tests.programs import wait_until_gone
from tests.reglue_bench.agents import Seeded
from tests.reglue_competition.runs.corridor_submissions import alone, joined_process, of_folder
from tests.repository.pages import blocks
from tests.waiting import PATIENCE_S, until

pytestmark = pytest.mark.slow

COMPETITION = """
name = "test"
title = "A test"
[[phases]]
name = "public"
kind = "public"
opens = 2026-01-01T00:00:00Z
closes = 2100-01-01T00:00:00Z
needs_admission = false
[[phases.benchmarks]]
benchmark = "multi-task:tests.worlds:Corridor"
[phases.benchmarks.options]
environment_args = { solved = { a = [1, 3, 0], b = [5, 0, 2] } }
num_episodes = 8
slots = 2
[play]
places = 2
[quotas]
at_once = 2
"""


class Server:
    """A server's process, and where it listens."""

    def __init__(self, folder: Path, url: str, listen: str, *flags: str) -> None:
        words = [sys.executable, "-u", "-m", "reglue", "competition", "serve", str(folder)]
        self.process = subprocess.Popen(
            [*words, "--no-page", "--listen", listen, *flags],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), DATABASE: url},
        )
        assert self.process.stdout is not None
        said = ""
        while (found := re.search(r"agents join at (\S+)", said)) is None:
            line = self.process.stdout.readline()
            assert line, said
            said += line
        self.address, self.said = found.group(1), said


@contextmanager
def served(folder: Path, url: str, listen: str = "127.0.0.1:0", *flags: str) -> Iterator[Server]:
    """A server, which is killed at the end if it is still there."""
    server = Server(folder, url, listen, *flags)
    with server.process:
        try:
            yield server
        finally:
            server.process.kill()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A competition's."""
    Secrets.create(tmp_path / "secrets", "127.0.0.1:4096")
    (tmp_path / FILE).write_text(COMPETITION)
    return tmp_path


def join_string(folder: Path, store: Store, address: str, team: str) -> JoinString:
    """Of a new team."""
    tls = Secrets.read(folder / "secrets").tls
    token = store.new_token(store.add_team(team))
    return JoinString(address, token, tls.authority, tls.name)


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
def test_the_minimal_client_of_the_docs_plays_a_competition(
    url: str, store: Store, folder: Path, tmp_path: Path
) -> None:
    """By a join string, over TLS, under the submission's name, without our SDK."""
    for block in blocks("docs/how-to/minimal-client.md"):
        if block.title in ("minimal.py", "first.py"):
            (tmp_path / block.title).write_text(block.text, encoding="utf-8")
    program = (tmp_path / "first.py").read_text().replace("run(First())", 'run(First(), "first")')
    with served(folder, url) as server:
        where = join_string(folder, store, server.address, "us")
        environment = os.environ | {"REGLUE_ADDRESS": str(where), "PYTHONPATH": str(tmp_path)}
        environment["PYTHONPATH"] += os.pathsep + os.pathsep.join(sys.path)
        done = subprocess.run(
            [sys.executable, "-c", program],
            env=environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    (played,) = store.submissions()
    assert (played.name, played.status) == ("first", "finished")


PRACTICE = """
[[phases]]
name = "practice"
kind = "practice"
opens = 2026-01-01T00:00:00Z
closes = 2101-01-01T00:00:00Z
[[phases.benchmarks]]
benchmark = "multi-task:tests.worlds:Corridor"
[phases.benchmarks.options]
environment_args = { solved = { a = [1, 3, 0], b = [5, 0, 2] } }
num_episodes = 1000
[[phases]]
name = "public"
"""


def test_a_team_plays_practice_and_another_phase_at_the_same_time(
    folder: Path, tmp_path: Path
) -> None:
    """With a token for each: practice goes on while the other begins, ends, and closes."""
    before, _, after = COMPETITION.partition('[[phases]]\nname = "public"\n')
    (folder / FILE).write_text(before + PRACTICE + after)
    migrate(url := sqlite_url(tmp_path / "competition.sqlite"))

    def statuses() -> dict[str, str]:
        return {each.phase: each.status for each in store.submissions()}

    with Store(url) as store, served(folder, url) as server:
        plain = join_string(folder, store, server.address, "us")
        alone = replace(plain, token=store.new_token(store.team("us"), phase="practice"))
        with joined_process(alone, "Pausing"):
            until(lambda: statuses() == {"practice": "playing"}, "it practises")
            with joined_process(plain, "Seeded") as agent:
                assert agent.wait(PATIENCE_S) == 0
            assert statuses() == {"practice": "playing", "public": "finished"}
            store.close_phase("public")
            (practised, _) = store.submissions()
            done = practised.progress.get("done", 0)
            until(
                lambda: store.submission(practised.id).progress.get("done", 0) > done, "it goes on"
            )
        wrong = replace(plain, token=store.new_token(store.team("us"), phase="public"))
        with joined_process(wrong, "Seeded") as agent:
            _, said = agent.communicate(timeout=PATIENCE_S)
            assert (agent.returncode, "phase public is closed" in said) == (2, True)


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)  # test_kills is of PostgreSQL
def test_servers_that_end_in_the_middle_lose_nothing_and_score_nothing_twice(
    folder: Path, store: Store, url: str
) -> None:
    """One is killed, one is drained, and the third plays what is left, with the same agent."""

    def done() -> int:
        found = store.submissions(team="ours")
        return int(found[0].progress.get("done", 0)) if found else 0

    with served(folder, url) as first:
        where = join_string(folder, store, first.address, "ours")
        with joined_process(where, "Pausing") as agent:
            until(lambda: done() > 0, "it has played some")
            first.process.kill()
            first.process.wait()
            (submission,) = store.submissions()
            assert submission.status == "playing"
            before = done()
            with served(folder, url, first.address) as second:
                until(lambda: done() > before, "it has played some more")
                second.process.send_signal(signal.SIGTERM)
                assert second.process.wait(PATIENCE_S) == 0
            assert store.submission(submission.id).status == "playing"
            with served(folder, url, first.address) as third:
                until(lambda: store.submission(submission.id).status == "finished", "it has ended")
                assert agent.wait(PATIENCE_S) == 0
                third.process.send_signal(signal.SIGTERM)
                assert third.process.wait(PATIENCE_S) == 0
    hosted = hosted_in(folder)
    settings = [each.settings for each in hosted.benchmarks("public")]
    here = of_folder(hosted.runs_of(submission), 1)
    assert here == alone(folder / "alone", Seeded(), submission.id, *settings)
    kinds = [event.kind for event in store.events(limit=1000)]
    assert kinds.count("run recorded") == kinds.count("submission finished") == 1


def test_agents_join_a_server_that_has_moved_by_their_join_strings_with_its_new_address(
    folder: Path, tmp_path: Path
) -> None:
    """Their submissions go on, by the old tokens, also with a certificate for the new address."""
    migrate(url := sqlite_url(tmp_path / "competition.sqlite"))
    with Store(url) as store:
        with served(folder, url) as first:
            where = join_string(folder, store, first.address, "ours")
            with joined_process(where, "Pausing"):
                until(lambda: any(each.progress for each in store.submissions()), "it plays")
                first.process.kill()
                first.process.wait()
        (submission,) = store.submissions()
        assert submission.status == "playing"
        renew(folder / "secrets", "elsewhere.example.org:4096")
        host, port = split_address(first.address)
        with socket.create_server((host, port)), served(folder, url) as second:
            moved = str(where).replace(first.address, second.address)
            with joined_process(read_join_string(moved), "Pausing") as agent:
                until(lambda: store.submission(submission.id).status == "finished", "it has ended")
                assert agent.wait(PATIENCE_S) == 0
        assert [each.id for each in store.submissions()] == [submission.id]
        assert len(store.tokens()) == 1


def test_a_server_that_drains_ends_what_plays_and_lets_nobody_else_in(
    folder: Path, tmp_path: Path
) -> None:
    """A submission that does not end in time goes on with the next server."""
    (folder / FILE).write_text(COMPETITION.replace("places = 2", "places = 1"))
    migrate(url := sqlite_url(tmp_path / "competition.sqlite"))

    def status(team: str) -> str:
        return "".join(each.status for each in store.submissions(team=team))

    with Store(url) as store, ExitStack() as agents:
        flags = ("--drain-timeout", "60")
        with served(folder, url, "127.0.0.1:0", *flags) as first:
            where = {team: join_string(folder, store, first.address, team) for team in "ABC"}
            agents.enter_context(joined_process(where["A"], "Pausing"))
            until(lambda: status("A") == "playing", "A plays")
            store.enter(store.team("B"), "Pausing", datetime.now(UTC))
            first.process.terminate()
            with open_channel(where["C"], HUB_MESSAGE_BYTES) as channel:
                until(lambda: "stopped" in refused(channel, "guess"), "it drains")
                words = "RESOURCE_EXHAUSTED: the server is being stopped, and comes back soon"
                assert refused(channel, where["C"].token).startswith(words)
            assert first.process.wait(PATIENCE_S) == 0
        assert (status("A"), status("B"), status("C")) == ("finished", "waiting", "")
        flags = ("--drain-timeout", "0.5")
        with served(folder, url, first.address, *flags) as second:
            agents.enter_context(joined_process(where["B"], "Pausing"))
            until(lambda: status("B") == "playing", "B plays")
            second.process.terminate()
            assert second.process.wait(PATIENCE_S) == 0
        assert status("B") == "playing"
        kinds = [event.kind for event in store.events(limit=1000)]
        assert kinds.count("submission finished") == kinds.count("run recorded") == 1


def refused(channel: grpc.Channel, token: str) -> str:
    """The reason why a join is refused, after its code."""
    with pytest.raises(grpc.RpcError) as error:
        ask(channel, token=token, name="late")
    return ": ".join(refusal(error.value))


def test_a_competition_has_one_server(folder: Path, tmp_path: Path) -> None:
    migrate(sqlite_url(tmp_path / "competition.sqlite"))
    hosted = hosted_in(folder)
    with (
        hosted.folder.store() as opened,
        FileLock(folder / "server.lock"),
        raises(RunBusy, folder, "a server"),
    ):
        serve(hosted, opened, Addresses("127.0.0.1:0"), say=print)


def test_a_database_has_one_server_though_it_has_two_folders(folder: Path, url: str) -> None:
    other = folder / "other"
    shutil.copytree(folder / "secrets", other / "secrets")
    shutil.copy(folder / FILE, other)
    words = [sys.executable, "-m", "reglue", "competition", "serve", str(other), "--no-page"]
    with served(folder, url):
        second = subprocess.run(
            [*words, "--listen", "127.0.0.1:0"],
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), DATABASE: url},
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
    assert second.returncode == 2
    assert "another server has this competition; stop it first" in second.stderr


def test_a_killed_server_s_page_ends_with_it(folder: Path, tmp_path: Path) -> None:
    migrate(url := sqlite_url(tmp_path / "competition.sqlite"))
    flags = ("--page", "--page-listen", "127.0.0.1:0")
    with served(folder, url, "127.0.0.1:0", *flags) as server:
        assert server.process.stdout is not None
        assert server.process.stdout.readline().startswith("http://127.0.0.1:")  # it answers
        (page,) = child_processes(server.process.pid)
        descriptor = os.pidfd_open(page)
        server.process.kill()
        wait_until_gone([descriptor])


def test_a_server_does_not_start_with_a_certificate_that_has_expired(
    folder: Path, tmp_path: Path
) -> None:
    renew(folder / "secrets", valid=timedelta(hours=-1))
    migrate(sqlite_url(tmp_path / "competition.sqlite"))
    hosted = hosted_in(folder)
    command = f"`reglue competition certificate {folder} --renew`"
    with hosted.folder.store() as opened, raises(UsageError, command):
        serve(hosted, opened, Addresses("127.0.0.1:0"), say=print)


def test_a_server_warns_of_a_certificate_that_expires_soon(folder: Path, tmp_path: Path) -> None:
    renew(folder / "secrets", valid=timedelta(days=20))
    url = sqlite_url(tmp_path / "competition.sqlite")
    migrate(url)
    with served(folder, url) as server:
        assert "secrets/certificate.pem expires at" in server.said
        assert "--renew" in server.said


def test_what_is_played_is_what_was_committed_to(folder: Path, tmp_path: Path) -> None:
    """The organiser's environments were changed while the phase is open, say."""
    migrate(sqlite_url(tmp_path / "competition.sqlite"))
    hosted = hosted_in(folder)
    with hosted.folder.store() as opened:
        opened.apply(hosted.definition)
        opened.open_phase("public", "another plan's")
        with raises(UsageError, "phase public", "committed"):
            serve(hosted, opened, Addresses("127.0.0.1:0"), say=print)


def hosted_in(folder: Path) -> Hosted:
    return Hosted(CompetitionFolder.read(folder), Secrets.read(folder / "secrets"))
