"""Finds the clients' sources, and copies those that a project needs.

A copy has the shape of the checkout, as builds look for one another's sources in it.
"""

from __future__ import annotations

import json
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from shutil import copy, copyfile, copytree, ignore_patterns

import reglue
from reglue.errors import UsageError

_HERE = Path(__file__).parent
_PYTHON = "agent_clients/python"
_IGNORED = ignore_patterns(
    *("__pycache__", "build", "dist", "gen", "node_modules", "Manifest.toml"),  # made by builds
    *(".npmrc", "Dockerfile", "fuzz", "test", "tests"),  # of this repository alone
)


def copy_sources(paths: tuple[str, ...], out: Path) -> None:
    """Fill the new folder `out` with these files and folders of the checkout.

    Raises UsageError if this installation has no sources, and OSError.
    """
    for path in paths:
        if path == _PYTHON:
            _copy_python(out / path)
        elif source(path).is_dir():
            copytree(source(path), out / path, ignore=_IGNORED)
        else:
            (out / path).parent.mkdir(parents=True, exist_ok=True)
            copy(source(path), out / path)  # with its mode


def source(path: str) -> Path:
    """A file or folder of the checkout. Raises UsageError if this installation lacks it."""
    root = Path(reglue.__file__).parents[1]
    if path.startswith(f"{_PYTHON}/"):
        return root / path.removeprefix(f"{_PYTHON}/")
    # In a wheel they are beside this file.
    for place in (_HERE / "checkout", _HERE.parents[2]):
        if (place / path).exists() and (place / "proto/reglue").exists():
            return place / path
    raise UsageError(
        f"this installation of Reglue has no {path}: install it from a checkout, "
        "pip install '/path/to/reglue[server]'"
    )


_OUTSIDE = ("reglue_script.py", "reglue_signals.py")
"""Modules of the SDK beside its package."""


def _copy_python(out: Path) -> None:
    """The SDK as a distribution of its own: what is installed here, without the upper layers."""
    copytree(source(f"{_PYTHON}/reglue"), out / "reglue", ignore=_IGNORED)
    for module in _OUTSIDE:
        copyfile(source(f"{_PYTHON}/{module}"), out / module)
    try:
        about = metadata("reglue")
    except PackageNotFoundError:
        raise UsageError("reglue is not installed here: pip install it, then try again") from None
    wanted = [each for each in about.get_all("Requires-Dist", []) if "extra ==" not in each]
    (out / "pyproject.toml").write_text(
        _PYPROJECT.format(
            version=about["Version"],
            python=json.dumps(about["Requires-Python"]),
            dependencies=json.dumps(wanted),
            outside="\n".join(f'"{each}" = "{each}"' for each in _OUTSIDE),
        ),
        encoding="utf-8",
    )


_PYPROJECT = """\
# Reglue's SDK alone: what an agent needs.
[build-system]
requires = ["hatchling>=1.27,<2"]
build-backend = "hatchling.build"

[project]
name = "reglue"
version = "{version}"
requires-python = {python}
dependencies = {dependencies}

[project.scripts]
reglue = "reglue_script:script"

[project.entry-points."reglue.commands"]
join = "reglue.tools.join:main"

[tool.hatch.build.targets.wheel]
packages = ["reglue"]

[tool.hatch.build.targets.wheel.force-include]
{outside}
"""
