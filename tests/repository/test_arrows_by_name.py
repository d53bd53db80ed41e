"""Arrows between layers that no import shows: `module:name` in a string."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from tests.repository.pages import ROOT

_NAME = re.compile(r"([a-z_]+(?:\.[a-z_0-9]+)+):[A-Za-z_]+")
_UPWARDS = {
    ("reglue_bench", "procedures", "renderers"),  # measured_by
    ("reglue_bench", "procedures", "results"),  # scored_by
    ("reglue_bench", "procedures", "terminal"),  # counted_by
    # Suites by name, which a plan keeps and another process makes.
    ("env_adapters", "arcade", "curricula"),
    ("env_adapters", "suite_names", "composed"),
    ("env_adapters", "suites", "curricula"),
}
"""A package, and the layers between which an arrow by name goes upwards: see code.md."""


def test_an_arrow_by_name_goes_downwards_or_is_listed() -> None:
    upwards = set()
    for package, floors in _floors().items():
        for path in _sources(package):
            own = _layer(_module(path), package)
            for named in _named(path, package):
                layer = _layer(named, package)
                if floors[layer] < floors[own]:
                    upwards.add((package, own, layer))
    assert upwards == _UPWARDS


def test_the_map_of_the_code_names_them() -> None:
    text = (ROOT / "docs/explanation/code.md").read_text(encoding="utf-8")
    words = ("`measured_by`", "`scored_by`", "`counted_by`")
    assert [word for word in words if word not in text] == []


@cache
def _floors() -> dict[str, dict[str, int]]:
    """By package, the floor of each of its layers: 0 is the highest."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts: list[dict[str, Any]] = settings["tool"]["importlinter"]["contracts"]
    found = {}
    for contract in contracts:
        for package in contract.get("containers", ()):
            layers = [re.findall(r"\w+", line) for line in contract["layers"]]
            found[package] = {name: floor for floor, line in enumerate(layers) for name in line}
    return found


def _sources(package: str) -> Iterator[Path]:
    places = {"reglue_bench": "benchmarks", "reglue_competition": "competition"}
    folder = places.get(package, "agent_clients/python" if package == "reglue" else ".")
    yield from (ROOT / folder / package).rglob("*.py")


def _module(path: Path) -> str:
    parts = path.with_suffix("").parts
    package = next(i for i, part in enumerate(parts) if part in _floors())
    return ".".join(parts[package:])


def _layer(module: str, package: str) -> str:
    """The layer of a package that a module belongs to; empty for the package itself."""
    return module.removeprefix(package).lstrip(".").partition(".")[0]


def _named(path: Path, package: str) -> Iterator[str]:
    """Modules of the package that strings of a file name."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            match = _NAME.fullmatch(node.value)
            if match and match[1].startswith(f"{package}."):
                yield match[1]
