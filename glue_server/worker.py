"""A worker process: holds the environments of some slots, started by `WorkerPool`.

`python -m glue_server.worker FD` talks frames over the inherited socket FD and
ends when the other end closes it.
"""

from __future__ import annotations

import contextlib
import socket
import sys
import traceback

from env_adapters import SuiteName
from glue_server.frames import read_frame, write_frame
from reglue.environment import Environment, Worlds
from reglue.environment_player import play_environment
from reglue.errors import UsageError
from reglue.wire.environment_bytes import environment_call_from_bytes, environment_reply_to_bytes
from reglue.wire.specs import spec_to_bytes


def main() -> None:
    """Build the suite that the first frame names, then play until the pool is gone."""
    channel = socket.socket(fileno=int(sys.argv[1]))
    with contextlib.suppress(EOFError, OSError):
        head, _ = read_frame(channel)
        suite = SuiteName(head["factory"], head["config"])
        try:
            environment = _build(suite, head["slots"])
            spec = spec_to_bytes(environment.spec)
        except Exception as error:  # noqa: BLE001 - the edge of somebody's suite
            write_frame(channel, {"refused": _reason(suite, error)})
            return
        write_frame(channel, {}, spec)
        serve(channel, environment)


def serve(channel: socket.socket, environment: Environment) -> None:
    """Answer calls, frame by frame. Raises EOFError or OSError when the pool is gone."""
    while True:
        _, call = read_frame(channel)
        reply = play_environment(
            environment, environment_call_from_bytes(bytes(call), environment.spec)
        )
        assert reply is not None, "a pool sends calls that are answered"
        write_frame(channel, {}, environment_reply_to_bytes(reply, environment.spec))


def _build(suite: SuiteName, slots: int) -> Environment:
    """Its worlds, ready for a Play. Each is made when its slot is first used."""
    environment = Worlds(suite.build())
    environment.spec = environment.env_init(slots)
    return environment


def _reason(suite: SuiteName, error: Exception) -> str:
    if isinstance(error, UsageError):
        return str(error)
    traceback.print_exception(error)  # to the log: the suite's author needs the lines
    return f"suite {suite.factory!r} cannot be built: {type(error).__name__}: {error}"


if __name__ == "__main__":
    main()
