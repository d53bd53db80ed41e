"""Files that forges and editors read name things that are in the repository."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]  # which comes with MkDocs

from tests.repository import test_wheel
from tests.repository.pages import ROOT
from tests.repository.test_make import dry_run

WORKFLOWS = sorted(path.name for path in (ROOT / ".github/workflows").iterdir())
FORMS = sorted(path.name for path in (ROOT / ".github/ISSUE_TEMPLATE").iterdir())
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
PYTHONS = [
    each.rpartition(" ")[2] for each in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", each)
]


def read(path: str) -> Any:
    return yaml.safe_load((ROOT / path).read_text("utf-8"))


def jobs(workflow: str) -> list[dict[str, Any]]:
    return list(read(f".github/workflows/{workflow}")["jobs"].values())


def commands(workflow: str) -> list[str]:
    return [step["run"] for job in jobs(workflow) for step in job["steps"] if "run" in step]


def targets() -> set[str]:
    return set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))


@pytest.mark.parametrize("workflow", WORKFLOWS)
def test_a_workflow_may_only_read_and_ends(workflow: str) -> None:
    assert read(f".github/workflows/{workflow}")["permissions"] == {"contents": "read"}
    assert all(job["timeout-minutes"] <= 180 for job in jobs(workflow))


@pytest.mark.parametrize("workflow", WORKFLOWS)
def test_a_workflow_names_the_version_of_each_action(workflow: str) -> None:
    used = [step["uses"] for job in jobs(workflow) for step in job["steps"] if "uses" in step]
    assert [each for each in used if not re.fullmatch(r"actions/[\w-]+@v\d+", each)] == []


def test_workflows_make_test_and_check() -> None:
    made = {
        workflow: [each.split()[1] for each in commands(workflow) if each.startswith("make ")]
        for workflow in WORKFLOWS
    }
    assert made == {"nightly.yml": ["check"], "test.yml": ["test"]}
    assert {"check", "test"} <= targets()


def test_every_python_of_the_package_is_tested() -> None:
    """And so is the wheel."""
    (job,) = jobs("test.yml")
    wheel_tests = Path(test_wheel.__file__).relative_to(ROOT)
    assert job["strategy"]["matrix"]["python"] == PYTHONS
    assert commands("test.yml") == [
        "make test PYTHON=python${{ matrix.python }}",
        f".venv/bin/python -m pytest {wheel_tests}",
    ]


def test_hooks_before_a_commit_are_commands_of_the_style_check() -> None:
    checked = [line.split() for line in dry_run("check-style")]
    (repo,) = read(".pre-commit-config.yaml")["repos"]
    assert repo["repo"] == "local"
    for hook in repo["hooks"]:
        assert hook["language"] == "system"
        assert any(hook["entry"].split()[:2] == words[:2] for words in checked)


@pytest.mark.parametrize("form", FORMS)
def test_a_form_for_issues_has_what_a_forge_asks_for(form: str) -> None:
    """And asks for the version."""
    said = read(f".github/ISSUE_TEMPLATE/{form}")
    assert {"name", "description", "body"} <= said.keys()
    questions = [each for each in said["body"] if each["type"] != "markdown"]
    assert all({"id", "attributes"} <= each.keys() for each in questions)
    assert "reglue --version" in str(questions)


def test_the_container_for_development_has_a_python_of_the_package_and_a_target() -> None:
    said = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text("utf-8"))
    assert re.fullmatch(r"python:(3\.\d+)(-\w+)?", said["image"])[1] in PYTHONS  # type: ignore[index]
    make, target = said["postCreateCommand"].split()
    assert make == "make"
    assert target in targets()


def test_the_page_for_contributors_names_all_of_these() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    files = [*(f".github/workflows/{each}" for each in WORKFLOWS), ".github/ISSUE_TEMPLATE/"]
    files += [".github/PULL_REQUEST_TEMPLATE.md", ".pre-commit-config.yaml"]
    files += [".devcontainer/devcontainer.json"]
    assert [
        each for each in files if f"`{each}`" not in page or not Path(ROOT, each).exists()
    ] == []
