"""The last command of a project's README.md: its container, which joins a run."""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from reglue.net.join_string import join_string
from reglue_bench.kit.language import LanguageName
from reglue_bench.kit.writing import write_project
from reglue_bench.results.result import read_result
from tests.agent_clients.test_kit import bench
from tests.docker.conftest import Docker
from tests.docker.engine import HOST

pytestmark = [
    pytest.mark.timeout(1200),
    pytest.mark.skipif(os.environ.get("REGLUE_NO_DOCKER") == "1", reason="REGLUE_NO_DOCKER=1"),
]


@pytest.mark.parametrize("language", ["cpp"])  # each image takes minutes
def test_a_project_becomes_a_container_that_plays(
    docker: Docker, tmp_path: Path, language: LanguageName
) -> None:
    project = tmp_path / "project"
    write_project(language, project)
    command = re.findall(r"^```sh\n(.+)\n```$", (project / "README.md").read_text(), re.MULTILINE)[
        3
    ]
    build, _, start = command.partition(" && ")
    there = f"cd {shlex.quote(str(project))} && "
    docker("sh", "-c", there + build)  # before the run waits for it
    with bench(tmp_path / "run") as address:
        joined = join_string(address)
        port = joined.address.rpartition(":")[2]
        seen_inside = replace(joined, address=f"{HOST}:{port}")
        docker("sh", "-c", there + start.replace("reglue://…", str(seen_inside)))
    result = read_result(tmp_path / "run")
    assert result.complete
    assert not result.faults
