"""The choice of a program's sandbox, and its start there; engines are played by scripts."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from glue_server.processes.sandboxes.launch import Launch, Limits
from glue_server.processes.sandboxes.sandbox import Bubblewrap, choose_sandbox
from glue_server.rpc.tls.authority import private_authority
from reglue.errors import ContainerEngineFailed, UsageError
from reglue.net.join_string import JoinString, join_string
from tests.error_facts import raises

Program = Callable[[str, str], None]

LIMITS = "true true true"
"""Docker's report on memory, processes and processors where it can limit them."""


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    """Writes a program that is found; no other one is."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))

    def write(name: str, script: str) -> None:
        file = folder / name
        file.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        file.chmod(0o755)

    return write


@pytest.fixture
def launch(tmp_path: Path) -> Launch:
    """Of a program that everybody may read."""
    where = {"REGLUE_ADDRESS": "127.0.0.1:9", "REGLUE_TOKEN": "secret", "EDITOR": "vi"}
    return Launch(["/bin/sh", "-c", "exit 0"], where, str(tmp_path))


def test_a_sandbox_that_does_not_work_here_is_told_with_its_own_words(
    tools: Program, launch: Launch
) -> None:
    tools("prlimit", "exit 0")
    tools("bwrap", "echo no namespaces >&2; exit 1")
    with raises(UsageError, "sandbox=bubblewrap", "bwrap does not work here: no namespaces"):
        choose_sandbox("bubblewrap", launch, print)
    tools("docker", "echo nobody serves >&2; exit 1")
    with raises(UsageError, "sandbox=container", "docker does not work here: nobody serves"):
        choose_sandbox("container", launch, print, image="agents")


def test_where_none_works_each_says_why(
    tools: Program, launch: Launch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 1000)
    tools("podman", "echo nobody serves >&2; exit 1")
    said: list[str] = []
    assert choose_sandbox("auto", launch, said.append, image="agents").isolation == "none"
    (words,) = said
    for why in ("podman does not work here: nobody serves", "there is no bwrap", "only root can"):
        assert why in words


def test_a_container_gets_what_an_image_can_use_and_is_removed_without_a_word(
    tools: Program, launch: Launch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    tools("docker", f'echo "$@" >>{tmp_path}/asked; echo {LIMITS}; echo "$@" >&2')
    sandbox = choose_sandbox("auto", launch, pytest.fail, image="agents")
    assert sandbox.isolation == "container"
    with sandbox.enclosed(launch) as there:
        subprocess.run(there.command, env=there.environment, check=True, stdout=subprocess.DEVNULL)
        capfd.readouterr()  # the program's own words
    assert capfd.readouterr() == ("", "")
    info, run, start, removal = (tmp_path / "asked").read_text().splitlines()
    assert info.startswith("info ")
    words = run.split()
    name = words[words.index("--name") + 1]
    assert words[-4:] == ["agents", "-c", "exit", "0"]
    assert "--entrypoint=/bin/sh" in words
    assert f"--volume={tmp_path}:{tmp_path}:ro" in words
    assert start == f"start --attach {name}"
    assert removal == f"rm --force --volumes {name}"
    handed_over = {word.removeprefix("--env=") for word in words if word.startswith("--env=")}
    assert handed_over == {"HOME", "REGLUE_ADDRESS", "REGLUE_TOKEN"}
    assert "secret" not in run  # nobody reads it in a list of processes
    assert there.environment["REGLUE_TOKEN"] == "secret"


@pytest.mark.parametrize("has_sockets", [False, True])
def test_a_container_has_no_network_where_there_are_unix_sockets(
    tools: Program, launch: Launch, tmp_path: Path, *, has_sockets: bool
) -> None:
    tools("docker", f'echo "$@" >>{tmp_path}/asked; echo {LIMITS}')
    launch = replace(launch, sockets=tmp_path / "sockets" if has_sockets else None)
    sandbox = choose_sandbox("container", launch, pytest.fail, image="agents")
    with sandbox.enclosed(launch) as there:
        pass
    words = (tmp_path / "asked").read_text().split()
    assert (f"--network={'none' if has_sockets else 'host'}") in words
    assert (f"--volume={tmp_path}/sockets:{tmp_path}/sockets:ro" in words) is has_sockets
    address = f"unix:{tmp_path}/sockets/lobby" if has_sockets else "127.0.0.1:9"
    assert there.environment["REGLUE_ADDRESS"] == address


def test_a_container_gets_the_graphics_cards_that_its_limits_name(
    tools: Program, launch: Launch, tmp_path: Path
) -> None:
    tools("docker", f'echo "$@" >>{tmp_path}/asked; echo {LIMITS}')
    for limits in (Limits(), Limits(gpus="device=0,2")):
        launch = replace(launch, limits=limits)
        with choose_sandbox("container", launch, pytest.fail, image="a").enclosed(launch):
            pass
    asked = [each.split() for each in (tmp_path / "asked").read_text().splitlines()]
    made = [words for words in asked if words[0] == "create"]
    assert ["--gpus=device=0,2" in words for words in made] == [False, True]


def test_an_engine_that_makes_no_container_is_not_the_programs_fault(
    tools: Program, launch: Launch
) -> None:
    tools("docker", f'[ $1 = info ] && echo {LIMITS} && exit; echo "no room" >&2; exit 125')
    sandbox = choose_sandbox("container", launch, pytest.fail, image="agents")
    with (
        raises(UsageError, "sandbox=container", "docker does not work here: no room"),
        sandbox.enclosed(launch),
    ):
        pytest.fail("there is no container")


STATE = {"Running": False, "OOMKilled": False, "ExitCode": 0, "Error": ""}
LOST = "docker has lost the agent's container"


@contextmanager
def container(tools: Program, launch: Launch, **state: object) -> Iterator[Launch]:
    """One of which the engine says that state."""
    said = json.dumps(STATE | state)
    tools("docker", f"[ $1 = inspect ] && echo '{said}' && exit; echo {LIMITS}")
    with choose_sandbox("container", launch, pytest.fail, image="a").enclosed(launch) as there:
        yield there


def test_a_container_that_wanted_too_much_memory_is_told(tools: Program, launch: Launch) -> None:
    launch = replace(launch, limits=Limits(memory_bytes=3 * 2**29))
    with container(tools, launch, OOMKilled=True, ExitCode=137) as there:
        assert there.told(137) == "its container has run out of memory: it may have 1.5 GiB"


@pytest.mark.parametrize(
    ("state", "exit_code"),
    [
        ({}, 0),
        ({"ExitCode": 137}, 137),  # it killed itself
        ({"Running": True}, None),  # it hangs, and was ended here
        ({"ExitCode": 137}, None),
        ({"ExitCode": 127, "Error": "no such file"}, 1),  # its image names no program
    ],
)
def test_an_engine_that_did_its_work_is_not_to_blame(
    tools: Program, launch: Launch, state: dict[str, object], exit_code: int | None
) -> None:
    with container(tools, launch, **state) as there:
        assert there.told(exit_code) == ""


@pytest.mark.parametrize("state", [{"Running": True}, {"ExitCode": 137}])
def test_a_container_that_the_engine_lost_is_not_its_programs_fault(
    tools: Program, launch: Launch, state: dict[str, object]
) -> None:
    with container(tools, launch, **state) as there, raises(ContainerEngineFailed, LOST):
        there.told(1)


def test_an_engine_that_answers_no_more_is_to_blame(tools: Program, launch: Launch) -> None:
    with container(tools, launch) as there:
        tools("docker", "echo nobody serves >&2; exit 1")
        with raises(ContainerEngineFailed, "docker does not work here: nobody serves"):
            there.told(0)


def test_an_engine_without_limits_is_refused(tools: Program, launch: Launch) -> None:
    tools("docker", "echo true false true")
    with raises(UsageError, "sandbox=container", "docker cannot limit memory, processes"):
        choose_sandbox("container", launch, pytest.fail, image="agents")


def test_by_a_socket_the_certificate_is_the_addresss(launch: Launch, tmp_path: Path) -> None:
    there = JoinString("[::1]:9", "secret", private_authority().authority)
    environment = {"REGLUE_ADDRESS": str(there), "REGLUE_TOKEN": "secret"}
    launch = replace(launch, environment=environment, sockets=tmp_path)
    here = replace(there, address=f"unix:{tmp_path}/lobby", tls_name="::1")
    assert join_string(launch.by_socket["REGLUE_ADDRESS"]) == here


@pytest.mark.parametrize("has_sockets", [False, True])
@pytest.mark.parametrize("uid", [0, 1000])
def test_bubblewrap_closes_the_network_where_there_are_unix_sockets(
    launch: Launch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, uid: int, *, has_sockets: bool
) -> None:
    """Then the program dials a socket. What root starts is another user there."""
    monkeypatch.setattr(os, "getuid", lambda: uid)
    launch = replace(launch, sockets=tmp_path if has_sockets else None)
    with Bubblewrap().enclosed(launch) as there:
        words = [*there.command]
    start = words.index("--") + 1
    outside, inside = words[:start], words[start:]
    assert outside[0] == "bwrap"
    assert ("--unshare-net" in outside) is has_sockets
    usr = outside.index("/usr")
    assert outside[usr - 1 : usr + 2] == ["--ro-bind", "/usr", "/usr"]
    assert ("setpriv" in inside) is (uid == 0)
    assert inside[-3:] == ["/bin/sh", "-c", "exit 0"]
    assert there.environment["HOME"] == "/tmp/home"
    address = f"unix:{tmp_path}/lobby" if has_sockets else "127.0.0.1:9"
    assert there.environment["REGLUE_ADDRESS"] == address
