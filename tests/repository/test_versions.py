"""pyproject.toml says which version this is, and all other places agree."""

from __future__ import annotations

import re
import tomllib

import pytest

import reglue
from tests.repository.pages import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
VERSION: str = PROJECT["version"]
CLIENTS = "agent_clients"
CMAKE = r"^project\(\w+ VERSION (\S+)"
EXAMPLE = r"reglue-python (\d\S*\d)"
SERIES = VERSION.rpartition(".")[0]

PLACES = {
    "CITATION.cff": r"^version: (.+)$",
    f"{CLIENTS}/c/CMakeLists.txt": CMAKE,
    f"{CLIENTS}/c/include/reglue.h": r"version, such as \"(.+)\"",
    f"{CLIENTS}/cpp/CMakeLists.txt": CMAKE,
    f"{CLIENTS}/julia/Project.toml": r"^version = \"(.+)\"",
    f"{CLIENTS}/typescript/README.md": r"reglue-(.+)\.tgz",
    f"{CLIENTS}/typescript/package.json": r"^  \"version\": \"(.+)\"",
    f"{CLIENTS}/typescript/package-lock.json": r"\"name\": \"reglue\",\s+\"version\": \"(.+)\"",
    f"{CLIENTS}/typescript/src/version.ts": r"^export const VERSION = \"(.+)\";",
    "benchmarks/reglue_bench/kit/projects/julia/Manifest.toml": r"^version = \"(.+)\"",
    "proto/reglue/v1/agent.proto": EXAMPLE,
    "proto/reglue/v1/environment.proto": EXAMPLE,
    "proto/reglue/v1/experiment.proto": EXAMPLE,
}
"""File -> where it says the version; a group."""

SERIES_PLACES = {
    f"{CLIENTS}/c/README.md": r"^find_package\(reglue_c (\S+) ",
    f"{CLIENTS}/cpp/README.md": r"^find_package\(reglue (\S+) ",
    f"{CLIENTS}/julia/src/library.jl": r"^const LIBRARY = v\"(.+)\"",
}
"""File -> where it says the first two numbers."""


def said(path: str, pattern: str) -> set[str]:
    return set(re.findall(pattern, (ROOT / path).read_text("utf-8"), re.MULTILINE))


@pytest.mark.parametrize("path", PLACES)
def test_a_file_has_the_projects_version(path: str) -> None:
    assert said(path, PLACES[path]) == {VERSION}


@pytest.mark.parametrize("path", SERIES_PLACES)
def test_a_file_has_the_first_two_numbers_of_the_version(path: str) -> None:
    assert said(path, SERIES_PLACES[path]) == {SERIES}


def test_the_package_says_its_version() -> None:
    assert reglue.__version__ == VERSION, "run `make setup` after a change of pyproject.toml"
