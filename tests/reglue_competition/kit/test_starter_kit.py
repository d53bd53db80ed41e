"""The starter kit: it rehearses what is played, and holds nothing of the secrets."""

from __future__ import annotations

import compileall
import errno
import json
import os
import re
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pytest

from reglue.errors import StorageFailed, UsageError
from reglue_bench.kit.language import LANGUAGES
from reglue_competition.definition import Definition
from reglue_competition.kit import write_kit
from reglue_competition.phases import Secrets, plan_phase
from tests.error_facts import raises
from tests.reglue_competition.competitions import (
    AFTER,
    CLOSES,
    definition,
    phase,
    practice,
    private,
)
from tests.repository.pages import ROOT

HIDDEN = """
from tests.worlds import Corridor


class Buried(Corridor):
    def __init__(self) -> None:
        super().__init__(solved={"secret-task": [1, 0]})
"""

PUBLIC = {
    "benchmark": "multi-task:gridworld",
    "options": {"num_episodes": 3, "slots": 2, "environment_args": {"horizon": 20}},
}


def competition(folder: Path) -> Definition:
    """With a public benchmark, and a hidden one."""
    (folder / "hidden.py").write_text(HIDDEN)
    hidden = {"benchmark": "multi-task:hidden.py:Buried", "options": {"num_episodes": 2}}
    return definition(phase(benchmarks=[PUBLIC]), private(benchmarks=[hidden]))


def rehearse(kit: Path, *words: str, folder: str = ".") -> subprocess.CompletedProcess[str]:
    """As a team does in a folder of the kit, with this environment's `reglue`."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["sh", os.path.relpath("rehearse.sh", folder), *words],
        cwd=kit / folder,
        env=os.environ | {"PATH": path},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_an_agent_of_the_kit_rehearses_what_a_phase_plays(tmp_path: Path) -> None:
    whole = competition(tmp_path)
    write_kit(whole, tmp_path, tmp_path / "kit")
    agent = ("--agent", "python/agent.py:RandomAgent", "--workers", "0")
    done = rehearse(tmp_path / "kit", "public", "bench", *agent, "--out", "run")
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads((tmp_path / "kit/run/result.json").read_text())
    (wanted,) = plan_phase(whole, whole.phases[0], None, tmp_path)
    assert result["complete"]
    assert result["plan_sha256"] == wanted.plan.sha256


def test_a_stand_in_has_the_spaces_and_slots_of_a_hidden_task(tmp_path: Path) -> None:
    write_kit(competition(tmp_path), tmp_path, tmp_path / "kit")
    agent = ("--agent", "python/agent.py:RandomAgent", "--workers", "0")
    done = rehearse(tmp_path / "kit", "private", "try", *agent)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "observation float64[2] → action float32[1]" in (tmp_path / "kit/README.md").read_text()


def test_a_project_of_a_kit_rehearses_in_its_own_folder(tmp_path: Path) -> None:
    write_kit(competition(tmp_path), tmp_path, tmp_path / "kit")
    agent = ("--agent", "agent.py:RandomAgent", "--workers", "0")
    done = rehearse(tmp_path / "kit", "private", "try", *agent, folder="python")
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_phase_that_does_not_exist_is_told(tmp_path: Path) -> None:
    write_kit(competition(tmp_path), tmp_path, tmp_path / "kit")
    done = rehearse(tmp_path / "kit", "final", "try")
    assert (done.returncode, done.stderr) == (2, "got phase final, wanted one of public, private\n")


def test_the_bytes_of_a_kit_are_the_same_under_two_secrets(tmp_path: Path) -> None:
    whole = competition(tmp_path)
    found = []
    for name in ("one", "other"):
        Secrets.create(tmp_path / "secrets")
        write_kit(whole, tmp_path, tmp_path / name)
        (tmp_path / "secrets").rename(tmp_path / f"secrets-{name}")
        files = sorted(path for path in (tmp_path / name).rglob("*") if path.is_file())
        found.append({path.relative_to(tmp_path / name): path.read_bytes() for path in files})
    assert found[0] == found[1]
    whole_kit = b"".join(found[0].values())
    assert not re.search(rb"secret-task|hidden\.py|Buried\b", whole_kit)


def test_a_kit_without_hidden_tasks_has_no_stand_in(tmp_path: Path) -> None:
    write_kit(definition(phase(benchmarks=[PUBLIC])), tmp_path, tmp_path / "kit")
    assert not (tmp_path / "kit/stand_in.py").exists()
    assert "stand_in" not in (tmp_path / "kit/README.md").read_text()


def test_a_kit_installs_the_python_client_that_it_holds(tmp_path: Path) -> None:
    write_kit(definition(), tmp_path, tmp_path / "kit")
    readme = (tmp_path / "kit/README.md").read_text()
    (client,) = re.findall(r"^pip install (.*)$", readme, re.MULTILINE)
    assert (tmp_path / "kit" / client / "pyproject.toml").exists()


def test_a_kit_holds_nothing_compiled(tmp_path: Path) -> None:
    """As an installation is, where it would tell the organiser's paths."""
    assert compileall.compile_dir(ROOT / "agent_clients/python/reglue/tools", quiet=2)
    write_kit(definition(), tmp_path, tmp_path / "kit")
    assert not [*(tmp_path / "kit").rglob("__pycache__")]


def test_a_kit_is_not_written_over_a_folder(tmp_path: Path) -> None:
    (tmp_path / "kit").mkdir()
    with raises(UsageError, tmp_path / "kit", "exists"):
        write_kit(definition(), tmp_path, tmp_path / "kit")


def test_a_kit_that_cannot_be_written_whole_is_not_there(tmp_path: Path) -> None:
    folder = tmp_path
    while len(str(folder)) < 4000:
        folder /= "x" * 60
    folder.mkdir(parents=True)
    with raises(StorageFailed, os.strerror(errno.ENAMETOOLONG)):
        write_kit(competition(tmp_path), tmp_path, folder / ("x" * (4070 - len(str(folder)))))
    assert not [*folder.iterdir()]


def test_a_kit_has_a_project_in_each_language_that_rehearses_its_first_phase(
    tmp_path: Path,
) -> None:
    write_kit(competition(tmp_path), tmp_path, tmp_path / "kit")
    assert (
        ROOT.joinpath("agent_clients/cpp/examples/random.cc").read_text()
        in (tmp_path / "kit/cpp/agent.cc").read_text()
    )
    for language in LANGUAGES:
        readme = (tmp_path / "kit" / language / "README.md").read_text()
        assert "sh ../rehearse.sh public try --agent-cmd " in readme
        assert re.search("^`sh ../rehearse.sh public bench --agent-cmd .+` plays all", readme, re.M)
        assert "mountain-car" not in readme


@pytest.mark.parametrize(
    ("closes", "words"),
    [
        (AFTER, "practice is open beside public or private,"),
        (CLOSES, "practice is open beside public,"),
    ],
)
def test_a_kit_says_which_token_is_for_practice_beside_another_phase(
    tmp_path: Path, closes: datetime, words: str
) -> None:
    write_kit(definition(practice(closes=closes), phase(), private()), tmp_path, tmp_path / "kit")
    text = (tmp_path / "kit/README.md").read_text()
    assert words in text
    assert "make a token for practice alone" in text
    assert "\n\n\n" not in text


def test_a_kit_of_phases_that_are_apart_says_nothing_of_tokens_for_one(tmp_path: Path) -> None:
    apart = definition(practice(closes=CLOSES), private())
    write_kit(apart, tmp_path, tmp_path / "kit")
    assert "is open beside" not in (tmp_path / "kit/README.md").read_text()


@pytest.mark.parametrize("asks", [True, False])
def test_a_kit_says_how_to_show_a_certificate_only_if_the_file_asks_for_one(
    tmp_path: Path, *, asks: bool
) -> None:
    write_kit(definition(client_certificates=asks), tmp_path, tmp_path / "kit")
    text = (tmp_path / "kit" / "README.md").read_text()
    assert ("export REGLUE_CERT=team.pem" in text) == ("certificate and its key" in text) == asks
    assert "\n\n\n" not in text
