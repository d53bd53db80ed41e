"""The C++ client of docs/how-to/minimal-client.md is compiled, and plays."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from reglue_bench import read_result
from tests.repository.pages import ROOT, blocks


def test_the_cpp_client_plays(tmp_path: Path) -> None:
    page = list(blocks("docs/how-to/minimal-client.md"))
    (code,) = (block.text for block in page if block.title == "minimal.cc")
    (build,) = (block.text for block in page if "grpc_cpp_plugin" in block.text)
    (tmp_path / "minimal.cc").write_text(code, encoding="utf-8")
    (tmp_path / "proto").symlink_to(ROOT / "proto")
    subprocess.run(["sh", "-eu", "-c", build], cwd=tmp_path, check=True)
    bench = "-m reglue bench online:gridworld --runs 1 --episodes 2 --episode-limit 20 --out run"
    command = [sys.executable, *bench.split(), "--agent-cmd", str(tmp_path / "minimal")]
    subprocess.run(command, cwd=tmp_path, check=True)
    assert read_result(tmp_path / "run").complete
