"""The promises of pyproject.toml hold for the sources beside it."""

from __future__ import annotations

import pkgutil
import re
import tomllib
from importlib.metadata import EntryPoint
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


def pyproject() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def commands() -> dict[str, EntryPoint]:
    """The commands of `reglue …`, by name."""
    group = "reglue.commands"
    entries = pyproject()["project"]["entry-points"][group]
    return {name: EntryPoint(name, value, group) for name, value in entries.items()}


@pytest.mark.parametrize("name", sorted(commands()))
def test_every_command_can_be_called(name: str) -> None:
    assert callable(commands()[name].load())


@pytest.mark.parametrize("name", sorted(commands()))
def test_every_extra_that_a_command_names_exists(name: str) -> None:
    extras = pyproject()["project"]["optional-dependencies"]
    assert set(commands()[name].extras) <= set(extras)


def test_the_console_script_can_be_called() -> None:
    assert callable(pkgutil.resolve_name(pyproject()["project"]["scripts"]["reglue"]))


@pytest.mark.parametrize(
    "package", pyproject()["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
)
def test_every_shipped_package_is_marked_as_typed(package: str) -> None:
    assert (ROOT / package / "py.typed").is_file()


def test_measurements_are_not_shipped() -> None:
    """And nothing that is shipped needs them."""
    shipped = pyproject()["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    assert "benchmarks/speed" not in shipped
    for path in chain(*((ROOT / package).rglob("*.py") for package in shipped)):
        assert not re.search(r"^\s*(from|import) speed\b", path.read_text(encoding="utf-8"), re.M)


@pytest.mark.parametrize(
    "lock", ["constraints.txt", "proto/package-lock.json", "benchmarks/speed/requirements.txt"]
)
def test_a_lock_file_names_no_registry(lock: str) -> None:
    assert "://" not in (ROOT / lock).read_text(encoding="utf-8")


@pytest.mark.parametrize("folder", ["agent_clients/typescript", "docs/_hooks", "proto"])
def test_npms_lock_file_says_not_where_packages_were_found(folder: str) -> None:
    """Addresses of their makers' sponsors may stand in it."""
    assert '"resolved"' not in (ROOT / folder / "package-lock.json").read_text(encoding="utf-8")


def test_every_dependency_is_pinned_by_the_constraints() -> None:
    project = pyproject()["project"]
    wanted = chain(project["dependencies"], *project["optional-dependencies"].values())
    pinned = {line.split("==")[0] for line in constraints()}
    assert {requirement_name(each) for each in wanted} <= pinned


def constraints() -> list[str]:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if not line.startswith("#")]


def requirement_name(requirement: str) -> str:
    """`grpcio` of `grpcio>=1.76,<2`, `shimmy` of `shimmy[dm-control]>=2`."""
    return requirement.partition(">=")[0].partition("==")[0].partition("[")[0]
