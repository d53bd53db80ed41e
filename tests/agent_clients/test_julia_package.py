"""The Julia client as users install it: `Pkg.develop` into a project outside the tree."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path

import pytest

from reglue_bench import evaluate
from reglue_bench.kit.writing import write_project
from tests.agent_clients.client_programs import ROOT, built, run

pytestmark = pytest.mark.timeout(900)  # the first test compiles the C library

CLIENT = ROOT / "agent_clients/julia"
# Pkg fetches the general registry unless there is one: this has no packages, and Reglue needs none.
REGISTRY = """
name = "Empty"
uuid = "3b0f3a1e-6f0c-4f4e-9a59-5d5b5f2f6a10"
repo = "nowhere"

[packages]
"""


@pytest.fixture
def depot(tmp_path: Path) -> Path:
    """The depot in which Julia installs and compiles: the user's own is left alone."""
    registry = tmp_path / "depot/registries/Empty/Registry.toml"
    registry.parent.mkdir(parents=True)
    registry.write_text(REGISTRY)
    return tmp_path / "depot"


def test_a_project_that_develops_the_client_plays(
    tmp_path: Path, depot: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JULIA_DEPOT_PATH", str(depot))
    monkeypatch.setenv("REGLUE_LIBRARY", str(built("c", "reglue_c", "libreglue.so")))
    project = tmp_path / "project"
    project.mkdir()
    (project / "agent.jl").write_text((CLIENT / "examples/random.jl").read_text())
    julia = ("julia", "--startup-file=no", "-O1", f"--project={project}")
    run(*julia, "-e", f'using Pkg; Pkg.develop(path = "{CLIENT}")')
    command = shlex.join([*julia, str(project / "agent.jl")])
    result = evaluate("online:mountain-car", agent="", agent_cmd=command, runs=1, steps=300)
    assert result.complete
    assert not result.faults
    assert manifest(project, CLIENT) == manifest(kit(tmp_path), "vendor/reglue/agent_clients/julia")


def test_the_readmes_project_is_that_of_the_kit(tmp_path: Path) -> None:
    page = (CLIENT / "README.md").read_text(encoding="utf-8")
    project = kit(tmp_path)
    for name in ("Project.toml", "Manifest.toml"):
        (block,) = re.findall(rf"^```toml\n# {name}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
        written = block.replace("/path/to/", "vendor/reglue/")
        assert tomllib.loads(written) == tomllib.loads((project / name).read_text())


def kit(folder: Path) -> Path:
    """A project of `reglue kit`, whose manifest is written by hand."""
    write_project("julia", folder / "kit")
    return folder / "kit"


def manifest(project: Path, client: Path | str) -> dict[str, object]:
    """The manifest of a project, without the path of the client."""
    entries = tomllib.loads((project / "Manifest.toml").read_text())
    (reglue,) = entries["Reglue"]
    path = reglue.pop("path")
    assert (project / path).resolve() == (project / client).resolve()
    return entries
