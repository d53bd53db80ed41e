"""A newcomer's project in each language becomes a container: the last command of its README.md.

tests/agent_clients carries out the three before it. Each says how long its commands took.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from reglue_bench.kit.language import LANGUAGES, LanguageName
from reglue_bench.results.result import read_result
from tests.agent_clients.test_kit import Project, bench
from tests.docker.conftest import Docker

pytestmark = [
    pytest.mark.timeout(1200),
    pytest.mark.skipif(os.environ.get("REGLUE_NO_DOCKER") == "1", reason="REGLUE_NO_DOCKER=1"),
]


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_project_becomes_a_container_that_plays(
    docker: Docker,
    tmp_path: Path,
    language: LanguageName,
    record_property: Callable[[str, str], None],
) -> None:
    project = Project(language, tmp_path / "project")
    build, _, start = project.container.partition(" && ")
    project.run("container's build", build, **docker.environment)  # before the run waits for it
    here = start.replace("docker run", "docker run --network host")  # as its README says
    with bench(tmp_path / "run", *docker.network) as address:
        project.run("run", here.replace("reglue://…", address), **docker.environment)
    record_property(*project.transcript)
    result = read_result(tmp_path / "run")
    assert result.complete
    assert not result.faults
