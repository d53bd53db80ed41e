"""The health check of containers."""

from __future__ import annotations

import subprocess
import sys

from glue_server.rpc import GlueServer
from glue_server.rpc.tls.authority import private_authority


def check(*arguments: str) -> int:
    """Its exit code."""
    command = [sys.executable, "-m", "glue_server.rpc.healthy", *arguments]
    return subprocess.run(command, check=False, stderr=subprocess.DEVNULL).returncode


def test_a_glue_that_serves_is_healthy(server: GlueServer) -> None:
    assert check(server.address) == 0


def test_a_glue_that_speaks_tls_is_healthy_too() -> None:
    with GlueServer(tls=private_authority()) as server:
        assert check(server.address) == 0


def test_a_glue_that_is_gone_is_not() -> None:
    with GlueServer() as server:
        address = server.address
    assert check(address) == 1


def test_an_address_is_wanted() -> None:
    assert check() == 2
