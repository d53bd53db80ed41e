"""Publications before a phase, and their comparison afterwards."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest

from reglue.errors import NotVerified, UsageError
from reglue_competition.phases import (
    PlannedBenchmark,
    Secrets,
    check_reveal,
    commitment,
    plan_phase,
    reveal,
)
from tests.error_facts import raises
from tests.reglue_competition.competitions import definition, phase


@pytest.fixture(scope="module")
def secrets(tmp_path_factory: pytest.TempPathFactory) -> Secrets:
    return Secrets.create(tmp_path_factory.mktemp("keys") / "secrets")


@pytest.fixture(scope="module")
def drawn(secrets: Secrets) -> list[PlannedBenchmark]:
    whole = definition(phase(benchmarks=[{"benchmark": "MT1:reach-v3"}]))
    return plan_phase(whole, whole.phases[0], secrets, Path())


@pytest.fixture
def revealed(drawn: list[PlannedBenchmark], secrets: Secrets, tmp_path: Path) -> Path:
    path = tmp_path / "reveal.json"
    reveal(path, drawn, secrets.salt("public"), competition="cup", phase="public")
    return path


def test_what_was_committed_to_is_opened(
    revealed: Path, drawn: list[PlannedBenchmark], secrets: Secrets
) -> None:
    found = check_reveal(revealed, commitment(drawn, secrets.salt("public")).upper() + "\n")
    assert found.benchmarks[0].plan == json.loads(drawn[0].plan.to_json())
    assert found.benchmarks[0].cell_key == drawn[0].cell_key


def test_a_commitment_needs_its_salt(drawn: list[PlannedBenchmark], secrets: Secrets) -> None:
    assert commitment(drawn, secrets.salt("public")) != commitment(drawn, secrets.salt("final"))


def test_the_secret_itself_is_not_revealed(revealed: Path, secrets: Secrets) -> None:
    assert secrets.phase_secret("public") not in revealed.read_text()


def _goal(told: Any) -> None:
    told["benchmarks"][0]["plan"]["suite"]["config"]["goals"]["reach-v3"][0][0] += 1e-12


def _weight(told: Any) -> None:
    told["benchmarks"][0]["weight"] = 2.0


def _salt(told: Any) -> None:
    told["salt"] = "0" * 64


def _no_benchmark(told: Any) -> None:
    told["benchmarks"] = []


@pytest.mark.parametrize("change", [_goal, _weight, _salt, _no_benchmark])
def test_another_plan_than_was_committed_to_is_found(
    revealed: Path, drawn: list[PlannedBenchmark], secrets: Secrets, change: Any
) -> None:
    told = json.loads(revealed.read_text())
    change(told)
    revealed.write_text(json.dumps(told))
    published = commitment(drawn, secrets.salt("public"))
    with raises(NotVerified, revealed, published):
        check_reveal(revealed, published)


@pytest.mark.parametrize("text", ["", "[]", "{}", "[" * 100_000, '{"salt": 1e999}', "\\ud800"])
def test_a_file_that_reveals_nothing_is_told(tmp_path: Path, text: str) -> None:
    path = tmp_path / "reveal.json"
    path.write_text(text)
    with raises(NotVerified, path, "no plans"):
        check_reveal(path, "0" * 64)
    with raises(UsageError, tmp_path / "none.json", os.strerror(errno.ENOENT)):
        check_reveal(tmp_path / "none.json", "0" * 64)
