"""What the hub's programs load."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize("module", ["glue_server.commands.glue", "glue_server.peers.run_process"])
def test_a_hub_without_tls_does_not_load_cryptography(module: str) -> None:
    program = [sys.executable, "-c", f"import sys, {module}; print(*sys.modules)"]
    loaded = subprocess.run(program, capture_output=True, text=True, check=True).stdout.split()
    assert module in loaded
    assert "cryptography" not in loaded
