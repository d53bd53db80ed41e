"""What programs of the glue load: each is started often."""

from __future__ import annotations

import subprocess
import sys

import pytest


def loaded_by(module: str) -> set[str]:
    program = [sys.executable, "-c", f"import sys, {module}; print(*sys.modules)"]
    loaded = subprocess.run(program, capture_output=True, text=True, check=True).stdout.split()
    assert module in loaded
    return {*loaded}


@pytest.mark.parametrize(
    "module", ["glue_server.commands.glue_command", "glue_server.peers.run_process"]
)
def test_a_hub_without_tls_does_not_load_cryptography(module: str) -> None:
    assert "cryptography" not in loaded_by(module)


def test_a_worker_loads_neither_the_glue_nor_grpc() -> None:
    heavy = {"asyncio", "glue_server.glue", "grpc", "importlib.metadata", "pydantic", "typer"}
    assert not loaded_by("glue_server.environment.worker") & heavy


def test_the_package_by_itself_loads_no_grpc() -> None:
    assert "grpc" not in loaded_by("glue_server")
