"""The clients of docs/how-to/minimal-client.md keep the rules that the page says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from glue_server.conformance.check_runner import checks_of
from glue_server.conformance.checks import CHECKS
from glue_server.conformance.tcp_proxy import TcpProxy
from tests.repository.pages import blocks

pytestmark = pytest.mark.slow

PROGRAMS = {"agent": "first.py", "environment": "corridor.py", "experiment": "program.py"}


@pytest.fixture
def page(tmp_path: Path) -> Path:
    """A folder with the files of the page."""
    for block in blocks("docs/how-to/minimal-client.md"):
        if block.title:
            (tmp_path / block.title).write_text(block.text, encoding="utf-8")
    return tmp_path


def conformance(page: Path, role: str, program: Path, *flags: str) -> dict[str, bool]:
    """The checks, and whether the program passes."""
    verdicts = page / "verdicts.json"
    command = [sys.executable, "-m", "reglue", "conformance", role, "--json", str(verdicts), *flags]
    done = subprocess.run(
        [*command, "--cmd", f"{sys.executable} {program}"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(page), *filter(None, sys.path)])},
        capture_output=True,
        text=True,
        check=False,
    )
    checks = json.loads(verdicts.read_text())["checks"]
    passed = {check["name"]: check["passed"] for check in checks}
    assert (done.returncode == 0) == all(passed.values()), done.stdout[-4000:] + done.stderr
    return passed


@pytest.mark.parametrize("level", ["core", "pipelining"])
def test_the_python_client_plays_the_kits_program(level: str, page: Path) -> None:
    program = Path(__file__).with_name("minimal_program.py")
    passed = conformance(page, "agent", program, "--level", level)
    assert all(passed.values()), passed
    assert ("calls.many-slots" in passed) == (level == "core")
    assert not any(name.startswith(("reconnect.", "tls.", "tensors.largest")) for name in passed)


@pytest.mark.parametrize("role", CHECKS)
def test_the_python_clients_keep_the_rules_of_the_wire(role: str, page: Path) -> None:
    passed = conformance(page, role, page / PROGRAMS[role], "--level", "wire")
    assert all(passed.values()), passed
    assert [*passed] == [check.name for check in checks_of(role, level="wire")]


@pytest.mark.parametrize("end", ["?", "?ca=", "?ca=&token=t", "?token=t&later=1"])
def test_the_python_client_does_not_dial_by_a_join_string_that_was_cut(
    end: str, page: Path
) -> None:
    """Its authority may be in the part that is missing."""
    with TcpProxy() as nobody:
        done = subprocess.run(
            [sys.executable, page / "first.py"],
            env={**os.environ, "REGLUE_ADDRESS": f"reglue://{nobody.address}{end}"},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert done.returncode == 1
        assert nobody.refused == 0


AGENTS = {
    "answers another call": ("Reply(seq=call.seq)", "Reply(seq=call.seq + 1)", "calls.one-slot"),
    "answers a refusal": ('elif kind != "refusal"', "else", "refusals.taken"),
    "writes big-endian": ('newbyteorder("<")', 'newbyteorder(">")', "tensors.discrete"),
    "starts at zero": ("tensor.discrete.start)", "0)", "tensors.discrete"),
    "gives up at once": ("not in BUSY or", "in BUSY or", "join.waits"),
    "has no name": ('sdk="minimal",', "", "join.hello"),
    "answers the farewell": ('kind == "farewell"', "False", "farewell.at-once"),
    "leaves with code 0": ("                    raise\n", "", "broken.unknown-call"),
    "takes any slot": (">= agent.spec.slots", "< 0", "broken.no-such-slot"),
    "uses no TLS": ("if not where.ca", "if True", "tls.no-tls"),
    "checks no name": ('"grpc.ssl_target_name_override", where.name', "", "tls.plays"),
}
ENVIRONMENTS = {
    "draws anew": ("[cell.seed, cell.repeat]", "", "environment.repeats"),
    "hides what it lacks": ("NOT_SUPPORTED", "OUT_OF_ORDER", "environment.abilities"),
    "takes no slots": ('kind == "init" and', "False and", "environment.no-slots"),
    "takes any phase": ("session_pb2.Phase.Name(cell.phase)", "pass", "broken.unknown-phase"),
    "plays before init": ("if not self.slots", "if False", "broken.before-init"),
    "lacks a row": (
        "for reward, _, _ in steps]",
        "for reward, _, _ in steps[1:]]",
        "calls.one-slot",
    ),
}
EXPERIMENTS = {
    "says no farewell": (
        "calls.put(experiment_pb2.ExperimentCall(seq=glue.seq + 1",
        "print((1",
        "farewell.leaves",
    ),
    "takes any answer": (
        'reply.WhichOneof("reply") != ANSWERS[routine]',
        "False",
        "broken.unknown-answer",
    ),
}
WRONG = [
    pytest.param(role, *change, id=f"{role} {what}")
    for role, changes in (
        ("agent", AGENTS),
        ("environment", ENVIRONMENTS),
        ("experiment", EXPERIMENTS),
    )
    for what, change in changes.items()
]


@pytest.mark.parametrize(("role", "right", "wrong", "check"), WRONG)
def test_a_client_that_breaks_a_rule_is_found_out(
    role: str, right: str, wrong: str, check: str, page: Path
) -> None:
    files = [page / "minimal.py", page / PROGRAMS[role]]
    (file,) = (file for file in files if right in file.read_text())
    file.write_text(file.read_text().replace(right, wrong, 1))
    flags = ("--level", "wire", "--only", check, "--timeout", "8", "--join-timeout", "8")
    assert conformance(page, role, page / PROGRAMS[role], *flags) == {check: False}
