"""The folder of a glue's sockets, its permissions, and its remains."""

from __future__ import annotations

import os
import signal
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest

from glue_server.rpc import GlueServer
from glue_server.rpc.unix_listener import UnixSocketFolder
from reglue import connect
from reglue.errors import UsageError
from reglue.net.join_string import LONGEST
from tests.error_facts import raises
from tests.glue_server.playing import Follower
from tests.glue_server.rpc.peers import PATIENCE_S, seated, ticket_of


def test_only_the_glues_user_enters_its_folder(server: GlueServer) -> None:
    path = Path(ticket_of(server).unix_socket_path)
    assert modes(path) == (0o700, 0o600)


def test_everybody_enters_where_that_is_asked_for(short_path: Path, monkeypatch: Any) -> None:
    """And not in the user's own folder, which nobody else enters."""
    monkeypatch.delenv("REGLUE_UNIX_SOCKET_DIR", raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(short_path))
    with GlueServer(open_unix_socket=True) as server:
        path = Path(ticket_of(server).unix_socket_path)
        assert modes(path) == (0o711, 0o666)
        assert short_path not in path.parents
    with GlueServer() as server:
        assert short_path in Path(ticket_of(server).unix_socket_path).parents


def modes(path: Path) -> tuple[int, int]:
    return stat.S_IMODE(path.parent.stat().st_mode), stat.S_IMODE(path.stat().st_mode)


def test_the_folder_is_gone_when_the_glue_has_closed() -> None:
    with GlueServer() as server:
        folder = Path(ticket_of(server).unix_socket_path).parent
        assert folder.is_dir()
    assert not folder.exists()


def test_a_glue_that_cannot_listen_leaves_no_folder(short_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("REGLUE_UNIX_SOCKET_DIR", str(short_path))
    with raises(UsageError, "nowhere.invalid:0"):
        GlueServer("nowhere.invalid:0")
    assert list(short_path.iterdir()) == []


def test_a_volume_may_be_mounted_at_two_places(short_path: Path, monkeypatch: Any) -> None:
    """The glue's path does not exist for the peer; its own REGLUE_UNIX_SOCKET_DIR says where."""
    there, here = short_path / "a", short_path / "b"
    there.mkdir()
    monkeypatch.setenv("REGLUE_UNIX_SOCKET_DIR", str(there))
    with GlueServer(transport="unix") as server, ThreadPoolExecutor(1) as threads:
        assert Path(ticket_of(server).unix_socket_path).parents[1] == there
        there.rename(here)
        monkeypatch.setenv("REGLUE_UNIX_SOCKET_DIR", str(here))
        left = threads.submit(connect, Follower(), server.address, server.token)
        seated(server).close("seen")
        assert left.result(PATIENCE_S) == "seen"


def test_a_folder_too_long_for_a_socket_is_refused(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("REGLUE_UNIX_SOCKET_DIR", str(tmp_path / ("x" * LONGEST)))
    with raises(UsageError, f"{LONGEST} bytes", "REGLUE_UNIX_SOCKET_DIR"):
        GlueServer()


def test_where_there_is_no_folder_peers_use_grpc(monkeypatch: Any) -> None:
    """A temporary folder with a long name is no reason not to play."""
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    monkeypatch.delenv("REGLUE_UNIX_SOCKET_DIR", raising=False)
    monkeypatch.setattr("glue_server.rpc.unix_listener.LONGEST", 9)
    with GlueServer() as server, ThreadPoolExecutor(1) as threads:
        assert ticket_of(server).unix_socket_path == ""
        left = threads.submit(connect, Follower(), server.address, server.token)
        seated(server).close("over gRPC")
        assert left.result(PATIENCE_S) == "over gRPC"
        with raises(UsageError, "9 bytes", "REGLUE_UNIX_SOCKET_DIR"):
            GlueServer(transport="unix")


# What killed glues leave.


KILLED = """
import os, signal
from glue_server.rpc import GlueServer
server = GlueServer(token="secret")
print(server._lobby._places["agent"].terms.unix_socket_path, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def place(short_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which folders of Unix sockets are made."""
    monkeypatch.setenv("REGLUE_UNIX_SOCKET_DIR", str(short_path))
    return short_path


@pytest.fixture
def killed(place: Path) -> Path:
    """The folder of a glue that was killed just now."""
    process = subprocess.run(
        [sys.executable, "-c", KILLED],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert process.returncode == -signal.SIGKILL
    return Path(process.stdout.strip()).parent


@pytest.fixture
def left(place: Path) -> Path:
    """As if its glue had been killed."""
    return abandoned("agent")


def abandoned(*roles: str) -> Path:
    folder = UnixSocketFolder(roles)
    for listener in folder.sockets.values():
        listener.close()
    return Path(folder.path(roles[0])).parent


def aged(folder: Path, by_s: float = 61.0) -> Path:
    """As if nothing had been made in it for so long."""
    made_s = folder.lstat().st_mtime - by_s
    os.utime(folder, (made_s, made_s), follow_symlinks=False)
    return folder


def test_what_a_killed_glue_left_harms_nobody(killed: Path) -> None:
    with GlueServer() as server, ThreadPoolExecutor(1) as threads:
        played = threads.submit(connect, Follower(), server.address, server.token)
        seated(server).close("alive")
        assert played.result(PATIENCE_S) == "alive"


def test_what_a_killed_glue_left_is_removed_by_a_later_one(killed: Path, place: Path) -> None:
    aged(killed)
    with GlueServer():
        assert not killed.exists()
        assert len(list(place.iterdir())) == 1


def test_a_folder_of_a_moment_ago_is_left_alone(left: Path) -> None:
    """Its glue may be about to listen."""
    aged(left, 50.0)
    with GlueServer():
        assert left.exists()


def test_a_glue_that_listens_is_left_alone_whatever_its_age(place: Path) -> None:
    with GlueServer() as old, ThreadPoolExecutor(1) as threads:
        aged(Path(ticket_of(old).unix_socket_path).parent)
        with GlueServer():
            played = threads.submit(connect, Follower(), old.address, old.token, transport="unix")
            seated(old).close("still here")
            assert played.result(PATIENCE_S) == "still here"


def test_a_glue_that_is_too_busy_to_let_anybody_in_is_left_alone(place: Path) -> None:
    folder = like_a_glues(place)
    folder.mkdir()
    with socket.socket(socket.AF_UNIX) as listener, ExitStack() as waiting:
        listener.bind(str(folder / "agent"))
        listener.listen(0)
        for _ in range(2):
            visitor = waiting.enter_context(socket.socket(socket.AF_UNIX))
            visitor.setblocking(False)
            with suppress(BlockingIOError):  # nobody lets them in
                visitor.connect(str(folder / "agent"))
        aged(folder)
        with GlueServer():
            assert (folder / "agent").is_socket()


def like_a_glues(place: Path) -> Path:
    """The name of a folder such as a glue makes."""
    with GlueServer() as server:
        return Path(ticket_of(server).unix_socket_path).parent


def beside(left: Path) -> None:
    (left / "notes.txt").write_text("mine")


def below(left: Path) -> None:
    (left / "sub").mkdir()


def emptied(left: Path) -> None:
    (left / "agent").unlink()


def linked(left: Path) -> None:
    moved = left.rename(left.with_name("moved"))
    left.symlink_to(moved)


def filed(left: Path) -> None:
    (left / "agent").unlink()
    (left / "agent").write_text("a file refuses connections, too")


def relinked(left: Path) -> None:
    moved = (left / "agent").rename(left.with_name("moved"))
    (left / "agent").symlink_to(moved)


@pytest.mark.parametrize("change", [beside, below, emptied, linked, filed, relinked])
def test_what_is_no_folder_of_sockets_alone_is_left_alone(
    left: Path, place: Path, change: Callable[[Path], None]
) -> None:
    change(left)
    aged(left)
    before = sorted(place.rglob("*"))
    with GlueServer():
        pass
    assert sorted(place.rglob("*")) == before


@pytest.mark.parametrize("name", ["reglue-0123456789abcdef", "reglue-notes", "other-{}", "{}x"])
def test_what_has_another_name_is_left_alone(left: Path, name: str) -> None:
    """Also what a glue of another host made where both have the place."""
    moved = aged(left.rename(left.with_name(name.format(left.name))))
    with GlueServer():
        assert (moved / "agent").is_socket()


def test_what_another_host_made_is_left_alone(left: Path, monkeypatch: Any) -> None:
    """If several hosts share the place, this one cannot hear the other's glue."""
    aged(left)
    monkeypatch.setattr(socket, "gethostname", lambda: "another")
    with GlueServer():
        assert (left / "agent").is_socket()


def test_what_another_user_left_is_left_alone(left: Path, monkeypatch: Any) -> None:
    aged(left)
    another = os.getuid() + 1
    monkeypatch.setattr("glue_server.rpc.unix_listener.os.getuid", lambda: another)
    with GlueServer():
        assert (left / "agent").is_socket()


def test_glues_that_start_at_the_same_moment_do_not_hurt_each_other(place: Path) -> None:
    roles = ("agent", "environment", "experiment")
    for _ in range(20):
        aged(abandoned(*roles))
    together = threading.Barrier(8)

    def begin() -> UnixSocketFolder:
        together.wait(PATIENCE_S)
        return UnixSocketFolder(roles)

    with ThreadPoolExecutor(8) as threads:
        began = [each.result() for each in [threads.submit(begin) for _ in range(8)]]
    paths = {Path(folder.path(role)) for folder in began for role in roles}
    assert {path for path in place.rglob("*") if path.is_socket()} == paths
    for folder in began:
        folder.close()
    assert list(place.iterdir()) == []
