"""The part of its starter's machine that an agent's program sees in bubblewrap."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from glue_server.processes.program import agent_environment
from glue_server.processes.sandboxes.bubblewrap import bubblewrap_words
from glue_server.processes.sandboxes.launch import Launch
from glue_server.processes.sandboxes.needed_paths import needed_paths
from glue_server.processes.sandboxes.sandbox import Bubblewrap
from reglue.errors import UsageError
from tests.error_facts import raises
from tests.ordinary_user import ROOT, UID, as_ordinary_user

pytestmark = pytest.mark.sandbox

PEOPLE = ["root", "an ordinary user"]

RUN = """
import os, subprocess, sys
from pathlib import Path
from glue_server.processes.sandboxes.launch import Launch
from glue_server.processes.sandboxes.sandbox import Bubblewrap
folder, sockets, *command = sys.argv[1:]
given = {"PATH": os.environ["PATH"], "REGLUE_ADDRESS": "127.0.0.1:9", "REGLUE_TOKEN": ""}
launch = Launch(command, given, folder, sockets=Path(sockets) if sockets else None)
with Bubblewrap().enclosed(launch) as there:
    done = subprocess.run(there.command, env=there.environment, cwd=there.folder, check=False)
sys.exit(done.returncode)
"""


def enclosed(who: str, folder: Path, *command: str, sockets: str = "") -> str:
    """The output of a program that `who` started in the sandbox."""
    words = [] if who == "root" else as_ordinary_user()
    words += [sys.executable, "-c", RUN, str(folder), sockets, *command]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.stdout, done.stderr)
    return done.stdout


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that is nobody's home and no temporary one, with an agent's folder in it."""
    with tempfile.TemporaryDirectory(dir="/var/lib") as name:
        (Path(name) / "agent").mkdir()
        Path(name).chmod(0o755)
        yield Path(name)


def own(who: str, *paths: Path) -> None:
    """They are readable to `who` alone."""
    for path in paths:
        path.chmod(0o700 if path.is_dir() else 0o600)
        if who != "root":
            os.chown(path, UID, UID)


@pytest.mark.parametrize("who", PEOPLE)
def test_a_program_does_not_see_the_other_files_of_who_starts_it(who: str, place: Path) -> None:
    """Wherever they are: also beside its folder."""
    key = place / "secrets" / "master.key"
    key.parent.mkdir()
    key.write_text("the-organisers", encoding="utf-8")
    own(who, key, key.parent)
    code = f"import os; print(os.path.exists({str(key)!r}), os.listdir({str(place)!r}))"
    assert enclosed(who, place / "agent", sys.executable, "-c", code) == "False ['agent']\n"


@pytest.mark.parametrize("who", PEOPLE)
def test_a_program_can_write_to_shared_memory_and_temporary_files_alone(
    who: str, place: Path
) -> None:
    writes = (
        "for each in / /etc /usr . /dev/shm /tmp /var/tmp $HOME; do touch $each/new && echo $each"
    )
    printed = enclosed(who, place / "agent", "/bin/sh", "-c", f"({writes}; done) 2>&1 || true")
    written = [line for line in printed.splitlines() if ":" not in line]
    assert written == ["/dev/shm", "/tmp", "/var/tmp", "/tmp/home"]


LIMITED = """
import os, resource, signal
for each in ("/tmp", "/dev/shm", "/var/tmp"):
    stat = os.statvfs(each)
    print(each, stat.f_blocks * stat.f_frsize)
print("data", *resource.getrlimit(resource.RLIMIT_DATA))
try:
    held = bytearray(16 * 2**30)
except MemoryError:
    print("no more memory")
children = []
try:
    while len(children) < 2000:
        children.append(os.fork() or signal.pause())
except OSError:
    print("no more processes", 900 < len(children) < 1024)
for each in children:
    os.kill(each, 9)
"""


@pytest.mark.parametrize("who", PEOPLE)
def test_a_program_has_so_much_memory_and_so_many_processes(who: str, place: Path) -> None:
    program = place / "agent" / "limited.py"
    program.write_text(LIMITED, encoding="utf-8")
    printed = enclosed(who, place / "agent", sys.executable, str(program)).splitlines()
    half = 4 * 2**30
    assert printed == [
        f"/tmp {half}",
        f"/dev/shm {half}",
        f"/var/tmp {64 * 2**20}",
        f"data {2 * half} {2 * half}",
        "no more memory",
        "no more processes True",
    ]


@pytest.mark.parametrize("who", PEOPLE)
def test_with_unix_sockets_a_program_reaches_no_other_server(who: str, place: Path) -> None:
    """Neither over TCP nor at an abstract socket; what it dials is the glue's lobby."""
    sockets = place / "sockets"
    sockets.mkdir()
    abstract = f"\0{place.name}"
    code = (
        "import os, socket\n"
        "def dial(family, address):\n"
        "    try: socket.socket(family).connect(address); return True\n"
        "    except OSError: return False\n"
        f"print(dial(socket.AF_UNIX, {abstract!r}))\n"
        "print(dial(socket.AF_INET, ('127.0.0.1', {port})))\n"
        "lobby = socket.socket(socket.AF_UNIX)\n"
        "lobby.connect(os.environ['REGLUE_ADDRESS'].removeprefix('unix:'))\n"
        "lobby.sendall(b'join')\n"
        "print(lobby.recv(100).decode())\n"
    )
    with (
        socket.create_server(("127.0.0.1", 0)) as tcp,
        socket.socket(socket.AF_UNIX) as unix,
        socket.socket(socket.AF_UNIX) as lobby,
    ):
        unix.bind(abstract)
        lobby.bind(str(sockets / "lobby"))
        (sockets / "lobby").chmod(0o666)
        for each in (unix, lobby):
            each.listen()
        answering = threading.Thread(target=_answer, args=(lobby,), daemon=True)
        answering.start()
        code = code.replace("{port}", str(tcp.getsockname()[1]))
        words = [sys.executable, "-c", code]
        printed = enclosed(who, place / "agent", *words, sockets=str(sockets))
        answering.join()
    assert printed == "False\nFalse\nwelcome, join\n"


def _answer(lobby: socket.socket) -> None:
    connection, _ = lobby.accept()
    with connection:
        connection.sendall(b"welcome, " + connection.recv(100))


@pytest.mark.parametrize("who", PEOPLE)
def test_a_compiled_program_brings_the_libraries_of_its_prefix(who: str, place: Path) -> None:
    program, library = place / "tool" / "bin" / "program", place / "tool" / "lib" / "data"
    for file in (program, library):
        file.parent.mkdir(parents=True)
    shutil.copy(shutil.which("cat") or "", program)
    library.write_text("its own", encoding="utf-8")
    assert enclosed(who, place / "agent", str(program), str(library)) == "its own"


def test_how_a_program_ends_is_told_by_its_sandbox(place: Path) -> None:
    (place / "sockets").mkdir()
    given = {"PATH": os.environ["PATH"], "REGLUE_ADDRESS": "127.0.0.1:9", "REGLUE_TOKEN": ""}
    launch = Launch(["/bin/sh", "-c", "exit 7"], given, "/", sockets=place / "sockets")
    with Bubblewrap().enclosed(launch) as there:
        assert subprocess.run(there.command, env=there.environment, check=False).returncode == 7


def test_who_started_by_root_could_not_read_its_program_is_told(place: Path) -> None:
    """It is another user there."""
    script = place / "agent" / "agent.py"
    script.touch()
    script.parent.chmod(0o700)
    launch = Launch([sys.executable, str(script)], {"PATH": os.environ["PATH"]}, "/")
    with (
        raises(UsageError, script, f"read {script.parent}", "chmod o+rX"),
        Bubblewrap().enclosed(launch),
    ):
        pass


def test_what_a_link_shows_is_hidden_there_too(place: Path) -> None:
    run = place / "agent" / "run"
    run.mkdir()
    (run / "ledger").touch()
    link = place / "link"
    link.symlink_to(place / "agent")
    command = ["/bin/ls", "-A", str(link / "run")]
    launch = Launch(command, {"PATH": os.environ["PATH"]}, str(link), hidden=[run])
    with Bubblewrap().enclosed(launch) as there:
        assert subprocess.check_output(there.command, env=there.environment) == b""


def test_a_script_needs_what_runs_it_and_the_projects_that_are_edited(tmp_path: Path) -> None:
    prefix, project = tmp_path / "python", tmp_path / "my project"
    installed = prefix / "lib" / "python3.11" / "site-packages" / "mine-1.dist-info"
    for folder in (prefix / "bin", project, installed):
        folder.mkdir(parents=True)
    (prefix / "bin" / "python").touch(mode=0o755)
    (tmp_path / "python3").symlink_to("python/bin/python")
    script = tmp_path / "agent"
    script.write_text("#!/usr/bin/env -S X=1 python3 -u\n", encoding="utf-8")
    script.chmod(0o755)
    origin = {"url": project.as_uri(), "dir_info": {"editable": True}}
    (installed / "direct_url.json").write_text(json.dumps(origin), encoding="utf-8")
    found = needed_paths([str(script)], {"PATH": str(tmp_path)}, "/")
    assert {script, prefix, project, tmp_path / "python3"} <= {*found}


def test_a_script_of_node_needs_its_packages(tmp_path: Path) -> None:
    script = tmp_path / "dist" / "agent.js"
    script.parent.mkdir()
    script.touch()
    (tmp_path / "package.json").touch()
    assert tmp_path in needed_paths(["node", "dist/agent.js"], {}, str(tmp_path))
    assert tmp_path in needed_paths(["node", str(script)], {}, "/")


def test_a_word_that_is_too_long_for_a_path_is_none(tmp_path: Path) -> None:
    long = "x" * 300
    words = [f"config=/{long}", f"{long}.py:Agent", f"weights={tmp_path / long / 'w.npz'}"]
    with_words = needed_paths(["true", *words], {"PYTHONPATH": f"/{long}"}, "/")
    assert with_words == needed_paths(["true"], {}, "/")


def test_a_program_gets_no_display_and_nothing_of_terraform(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """TF_ is TensorFlow's, too."""
    refused = {
        "DISPLAY",
        "TF_VAR_admin_pw",
        "TF_CLI_CONFIG_FILE",
        "TF_TOKEN_host",
        "XDG_PASSPHRASE",
    }
    for name in (*refused, "TF_CPP_MIN_LOG_LEVEL"):
        monkeypatch.setenv(name, "1")
    given = agent_environment()
    assert refused.isdisjoint(given)
    assert "TF_CPP_MIN_LOG_LEVEL" in given


def test_what_the_system_names_twice_is_shown_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """As Debian does /lib32, in /etc/ld.so.conf.d: bubblewrap makes no link that is there."""
    monkeypatch.setattr(
        "glue_server.processes.sandboxes.bubblewrap._SYSTEM", ["usr", "bin", "lib64", "lib*"]
    )
    words = bubblewrap_words([], has_network=True)
    assert "/lib64" in words
    assert words.count("/lib64") == 1
