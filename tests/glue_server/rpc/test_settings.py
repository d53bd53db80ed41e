"""grpc reads its settings once, when it is loaded: ours must be there by then."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from reglue.net.grpc_settings import channel_options, grpc

WATCH = """
import os, sys
class Watch:
    def find_spec(self, name, path, target=None):
        if name == "grpc":
            print(os.environ.get("GRPC_EXPERIMENTS"), os.environ.get("GRPC_VERBOSITY"))
sys.meta_path.insert(0, Watch())
import {module}
"""


@pytest.mark.parametrize(
    "module", ["glue_server.rpc", "reglue.net.session", "glue_server.peers.hub"]
)
def test_grpc_is_loaded_with_our_settings(module: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WATCH.format(module=module)],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout == "-event_engine_client,-event_engine_listener NONE\n"


def test_grpc_knows_every_option_that_we_set() -> None:
    """It says nothing of a name that it does not know."""
    cygrpc = grpc._cython.cygrpc  # type: ignore[attr-defined]
    library = Path(cygrpc.__file__).read_bytes()
    for name, _ in channel_options(1):
        assert name.encode() + b"\0" in library, name
