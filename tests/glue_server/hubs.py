"""A hub that serves in this process, and whom to send there."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

from glue_server.peers.hub import ROLES, Hub
from glue_server.rpc import GlueServer
from glue_server.timeouts import Timeouts
from reglue.environments.slot_worlds import Worlds
from tests.glue_server.playing import SOLVED
from tests.worlds import Corridor

PATIENCE_S = 60.0
TOKENS = [word for role in ROLES for word in (f"--{role}-token", f"secret of the {role}")]
Start = Callable[..., "Future[str]"]


@contextmanager
def a_hub(**more: Any) -> Iterator[tuple[GlueServer, list[str]]]:
    """A hub that serves, and what it has said."""
    said: list[str] = []
    with GlueServer(places=dict.fromkeys(ROLES, 4), **more) as server:
        timeouts = Timeouts(first_step_s=30.0, step_s=30.0, environment_s=30.0)
        hub = Hub(server, timeouts=timeouts, announce=said.append)
        serving = threading.Thread(target=hub.serve)
        serving.start()
        try:
            yield server, said
        finally:
            hub.close()
            serving.join()


def corridor() -> Worlds:
    return Worlds(Corridor(solved=SOLVED))
