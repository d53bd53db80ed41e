"""Agents without an SDK, built as their pages say, keep the protocol's rules and play."""

from __future__ import annotations

import functools
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from glue_server.conformance.check_runner import checks_of
from glue_server.conformance.tcp_proxy import TcpProxy
from reglue_bench import evaluate
from reglue_bench.results.scoring import read_run
from tests.agent_clients.client_programs import JULIA, ROOT, built, run, typescript
from tests.repository.pages import blocks

pytestmark = pytest.mark.timeout(900)  # a first test compiles the clients

CLIENTS = {
    "cpp": ("docs/how-to/minimal-client.md", "minimal.cc", "grpc_cpp_plugin", "{}/minimal"),
    "go": ("docs/how-to/go.md", "minimal.go", "go build", "{}/minimal"),
    "java": ("docs/how-to/java.md", "Minimal.java", "javac", "java -jar {}/minimal.jar"),
}
"""Language -> page, source, words of the block that builds it, and command in its folder."""


@pytest.fixture(scope="session")
def minimal_client(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """Language -> the command of its client, which is built at the first call."""

    @functools.cache
    def command(language: str) -> str:
        page, source, words, started = CLIENTS[language]
        folder = tmp_path_factory.mktemp(language)
        (script,) = (block.text for block in blocks(page) if words in block.text)
        (folder / source).symlink_to(ROOT / "agent_clients/minimal" / source)
        (folder / "proto").symlink_to(ROOT / "proto")
        run("sh", "-eu", "-c", f"cd {shlex.quote(str(folder))}\n{script}")
        return started.format(folder)

    return command


@pytest.mark.parametrize("language", CLIENTS)
def test_it_keeps_the_rules_of_the_wire_and_plays_over_tls(
    language: str, minimal_client: Callable[[str], str], tmp_path: Path
) -> None:
    """The join string of the run holds its address, token and authority."""
    command, verdicts = minimal_client(language), tmp_path / "verdicts.json"
    kit = (sys.executable, "-m", "reglue", "conformance", "agent", "--level", "wire")
    run(*kit, "--cmd", command, "--json", str(verdicts))
    checks = json.loads(verdicts.read_text())["checks"]
    wanted = [check.name for check in checks_of("agent", level="wire")]
    assert [check["name"] for check in checks if check["passed"]] == wanted
    play: dict[str, Any] = {"runs": 1, "episodes": 2, "episode_limit": 20, "tls": True}
    result = evaluate("online:gridworld", "", agent_cmd=command, out=tmp_path / "run", **play)
    assert result.complete


CUT = ("?", "?ca=", "?ca=&token=t", "?token=t&later=1")


@pytest.mark.parametrize("language", CLIENTS)
def test_it_does_not_dial_by_a_join_string_that_was_cut(
    language: str, minimal_client: Callable[[str], str]
) -> None:
    """Its authority may be in the part that is missing."""
    command = shlex.split(minimal_client(language))
    for end in CUT:
        with TcpProxy() as nobody:
            address = {"REGLUE_ADDRESS": f"reglue://{nobody.address}{end}", "REGLUE_TOKEN": "t"}
            done = subprocess.run(
                command,
                env=os.environ | address,
                capture_output=True,
                check=False,
                text=True,
                timeout=60,
            )
            assert done.returncode > 0
            assert "join string that was cut" in done.stderr
            assert nobody.refused == 0


def test_agents_in_seven_languages_meet_in_one_bakeoff(
    minimal_client: Callable[[str], str], libreglue: Mapping[str, str], tmp_path: Path
) -> None:
    random = {
        "C": str(built("c", "random_agent_c", "random_agent_c")),
        "C++": str(built("cpp", "random_agent", "examples/random_agent")),
        "Julia": shlex.join([*JULIA, str(ROOT / "agent_clients/julia/examples/random.jl")]),
        "TypeScript": f"node {typescript('examples/random.js')}",
    }
    first = {"Go": minimal_client("go"), "Java": minimal_client("java")}
    agents = [f"agent_cmd = {json.dumps(command)}" for command in (random | first).values()]
    tables = zip((*random, *first, "Python"), (*agents, 'agent = "random"'), strict=True)
    file, out = tmp_path / "bakeoff.toml", tmp_path / "out"
    file.write_text(
        '[benchmark]\nname = "online:cart-pole"\nruns = 2\nepisodes = 5\n'
        + "".join(
            f'[agents.agent-{number}]\nlabel = "{label}"\n{agent}\n'
            for number, (label, agent) in enumerate(tables)
        )
    )
    words = ("-m", "reglue", "bakeoff", str(file), "--out", str(out))
    print(run(sys.executable, *words, environment=libreglue))
    results = [read_run(folder) for folder in sorted(out.iterdir()) if folder.is_dir()]
    labels = {each.agent.label for each in results if each.complete}
    assert labels == {*random, *first, "Python"}
