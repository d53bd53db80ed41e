"""The client of docs/how-to/minimal-client.md keeps the rules that the page says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.repository.pages import blocks

pytestmark = pytest.mark.slow

PAGE = "docs/how-to/minimal-client.md"


@pytest.mark.parametrize("level", ["core", "pipelining"])
def test_the_python_client_passes(level: str, tmp_path: Path) -> None:
    (text,) = (block.text for block in blocks(PAGE) if block.title == "minimal.py")
    (tmp_path / "minimal.py").write_text(text, encoding="utf-8")
    program = Path(__file__).with_name("minimal_program.py")
    verdicts = tmp_path / "verdicts.json"
    command = ["-m", "reglue", "conformance", "agent", "--level", level, "--json", str(verdicts)]
    done = subprocess.run(
        [sys.executable, *command, "--cmd", f"{sys.executable} {program}"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *filter(None, sys.path)])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr
    names = {check["name"] for check in json.loads(verdicts.read_text())["checks"]}
    assert ("calls.many-slots" in names) == (level == "core")
    assert not any(name.startswith(("reconnect.", "tls.", "tensors.largest")) for name in names)
