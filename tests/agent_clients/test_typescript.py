"""The TypeScript client, as built: the conformance kit, the examples, how programs leave."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from glue_server.conformance.checks import CHECKS, OF_GRPC_ALONE
from glue_server.rpc import GlueServer
from reglue.messages.agent import TextMessage
from tests.leftovers import nothing_left

PATIENCE_S = 60.0

PACKAGE = Path(__file__).parents[2] / "agent_clients/typescript"
PROGRAM = PACKAGE / "dist/conformance/program.js"
EXAMPLES = PACKAGE / "dist/examples"

CHECKED = {check.name for check in CHECKS["agent"]}


@pytest.fixture(scope="module", autouse=True)
def build() -> None:
    """Fails where there is none, or the sources are newer."""
    if not PROGRAM.exists():
        pytest.fail(f"{PACKAGE.name} is not built: run `make typescript`", pytrace=False)
    sources = [
        source
        for folder in ("src", "conformance", "examples")
        for source in (PACKAGE / folder).rglob("*.ts")
        if "gen" not in source.parts
    ]
    newest = max(sources, key=lambda source: source.stat().st_mtime)
    if newest.stat().st_mtime > PROGRAM.stat().st_mtime:
        pytest.fail(f"{newest} is newer than its build: run `make typescript`", pytrace=False)


def reglue(*arguments: str, **environment: str) -> str:
    """What it prints. Fails where it does."""
    done = subprocess.run(
        [sys.executable, "-m", "reglue", *arguments],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        env=os.environ | environment,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def learned(folder: Path, *agent: str) -> list[float]:
    """The returns of the episodes of an online run."""
    arguments = ["--runs", "1", "--episodes", "4", "--seed", "7", "--slots", "1", "--out"]
    reglue("bench", "online:mountain-car", *agent, *arguments, str(folder))
    result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    (run,) = result["online"]["runs"]
    assert (run["status"], len(run["line"])) == ("ok", 4)
    returns: list[float] = run["line"]
    return returns


def program(*, leaves_with: int, **environment: str) -> str:
    """The words of the conformance program, which fails without the kit."""
    done = subprocess.run(
        ["node", str(PROGRAM)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={"PATH": os.environ["PATH"], **environment},
    )
    assert done.returncode == leaves_with, done.stderr
    return done.stderr


@contextmanager
def started(*command: str, hall: GlueServer) -> Iterator[subprocess.Popen[str]]:
    """A program that dials in, with pipes to it and from it; it is killed at the end."""
    where = {"REGLUE_ADDRESS": hall.address, "REGLUE_TOKEN": hall.token}
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdin=pipe, stderr=pipe, text=True, env=os.environ | where
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def test_it_keeps_the_rules_over_tcp_and_tls(tmp_path: Path) -> None:
    verdicts = tmp_path / "verdicts.json"
    told = reglue("conformance", "agent", "--cmd", f"node {PROGRAM}", "--json", str(verdicts))
    assert f"{len(CHECKED)} of {len(CHECKED)} checks passed" in told
    assert json.loads(verdicts.read_text())["sdk"].startswith("reglue-typescript ")


def test_it_keeps_the_rules_over_a_unix_socket() -> None:
    asked = len(CHECKED - set(OF_GRPC_ALONE))
    told = reglue("conformance", "agent", "--cmd", f"node {PROGRAM}", "--transport", "unix")
    assert f"{asked} of {asked} checks passed" in told


def test_nothing_in_the_environment_makes_it_trust_a_stranger() -> None:
    """Node itself would trust anybody then."""
    kit = ("conformance", "agent", "--cmd", f"node {PROGRAM}", "--only", "tls.*")
    told = reglue(*kit, NODE_TLS_REJECT_UNAUTHORIZED="0")
    assert "5 of 5 checks passed" in told


def test_its_sarsa_learns_mountain_car_as_pythons_does_to_the_step(tmp_path: Path) -> None:
    """The same chance from start seeds, and the same arithmetic."""
    here = learned(tmp_path / "ts", "--agent-cmd", f"node {EXAMPLES / 'sarsa.js'}")
    there = learned(tmp_path / "python", "--agent", "sarsa")
    assert here == there
    assert here[-1] > here[0] + 500


def test_its_small_agent_drives_up_the_mountain(tmp_path: Path) -> None:
    returns = learned(tmp_path, "--agent-cmd", f"node {EXAMPLES / 'momentum.js'}")
    assert all(-200 < each < -80 for each in returns)


def test_without_an_address_it_says_what_to_do() -> None:
    words = program(leaves_with=2)
    assert "give host:port or a join string, or set REGLUE_ADDRESS" in words


def test_a_join_string_that_was_cut_is_refused() -> None:
    words = program(leaves_with=2, REGLUE_ADDRESS="reglue://127.0.0.1:4096?ca=MIIBMj")
    assert "the join string's ca is no certificate" in words


def test_a_program_that_computed_too_long_hears_the_farewell(tmp_path: Path) -> None:
    """Its socket is closed before it comes to look at it: the answer cannot be sent any more."""
    script = tmp_path / "busy.mjs"
    script.write_text(
        'import { readSync } from "node:fs";\n'
        f'import {{ Agent, main }} from "{PACKAGE / "dist/src/index.js"}";\n'
        "class Busy extends Agent {\n"
        "  turn() {}\n"
        "  agentMessage() {\n"
        '    console.error("computing");\n'
        "    readSync(0, Buffer.alloc(1)); // until the glue has left\n"
        "    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);\n"
        '    return "at last";\n'
        "  }\n"
        "}\n"
        "await main(new Busy());\n"
    )
    with nothing_left(), ExitStack() as stack:
        hall = stack.enter_context(GlueServer(transport="unix"))
        process = stack.enter_context(started("node", str(script), hall=hall))
        port = hall.next("agent", PATIENCE_S)
        assert port is not None
        port.send(TextMessage("take your time"))
        assert process.stderr is not None
        assert process.stderr.readline() == "computing\n"
        port.close("that was all")
        hall.close()
        _, words = process.communicate("x", PATIENCE_S)
    assert (process.returncode, words) == (0, "reglue: that was all\n")


def test_an_interrupted_program_leaves() -> None:
    """Also while it waits for a glue; with the code that shells give to Ctrl-C."""
    environment = os.environ | {"REGLUE_ADDRESS": "127.0.0.1:1"}
    with subprocess.Popen(
        ["node", str(PROGRAM)], stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        try:
            assert process.stderr is not None
            assert "waiting for a glue" in process.stderr.readline()
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 130
        finally:
            process.kill()
