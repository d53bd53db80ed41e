"""`make docs` on a machine that has nothing but Python."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.repository.tracked_files import copy_tracked

PROGRAMS = ("date", "expr", "find", "head", "id", "make", "mkdir", "rm", "sh", "touch")
REFERENCES = ("c", "cpp", "julia", "typescript")


@pytest.mark.slow
def test_pages_are_built_and_what_is_left_out_is_named(tmp_path: Path) -> None:
    programs, checkout = tmp_path / "programs", tmp_path / "checkout"
    programs.mkdir()
    for name in PROGRAMS:
        (programs / name).symlink_to(str(shutil.which(name)))
    copy_tracked(checkout)
    (checkout / ".venv").symlink_to(sys.prefix)
    for path in ("pyproject.toml", "constraints.txt"):
        os.utime(checkout / path, (0, 0))  # older than the environment, which is there
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    done = subprocess.run(
        ["make", "docs"],
        cwd=checkout,
        env=kept | {"PATH": str(programs)},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    for name in ("Doxygen", "Julia", "Node"):
        assert [line for line in done.stderr.splitlines() if line.startswith(name)]
    assert "Search from disk is left out" in done.stderr
    for name in REFERENCES:
        page = (checkout / f"site/reference/{name}.html").read_text("utf-8")
        assert "Not built here" in page
    assert "iframe-worker" not in (checkout / "site/index.html").read_text("utf-8")
