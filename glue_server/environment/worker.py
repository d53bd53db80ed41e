"""A worker process: holds the environments of some slots, started by `WorkerPool`.

`python -m glue_server.environment.worker FD PARENT` talks frames over the inherited socket FD and
ends when the other end closes it, or the process PARENT ends (see children.die_with).
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import traceback

from env_adapters import SuiteName
from glue_server.environment.shared_memory import SharedArrays
from glue_server.processes.children import die_with, leave_after
from glue_server.processes.frames import read_frame, read_play, write_frame
from reglue.environments.environment import Environment, Worlds
from reglue.errors import UsageError
from reglue.process_tuning import collecting_seldom
from reglue.wire.specs import spec_to_bytes


def main() -> None:
    """Build the suite that the first frame names, then play until the pool is gone."""
    channel, parent = socket.socket(fileno=int(sys.argv[1])), int(sys.argv[2])
    die_with(parent)
    if not parent:
        leave_after(channel)
    environment = None
    with contextlib.suppress(EOFError, OSError):
        head, _ = read_frame(channel)
        suite = SuiteName(head["factory"], head["config"])
        with collecting_seldom():
            try:
                environment = _build(suite, head["slots"])
                spec = spec_to_bytes(environment.spec)
                environment.prepare()
            except Exception as error:  # noqa: BLE001 - the edge of somebody's suite
                write_frame(channel, {"refused": _reason(suite, error)})
                return
            write_frame(channel, {}, spec)
        serve(channel, environment, _board(channel, environment))
    _leave(environment)


def serve(channel: socket.socket, environment: Environment, board: SharedArrays) -> None:
    """Answer Plays, frame by frame. Raises EOFError or OSError when the pool is gone."""
    while True:
        play = read_play(channel, board)
        played = environment.play(play)
        board.put_played(play, played)
        write_frame(channel, {"faults": list(played.faults.items())} if played.faults else {})


def _build(suite: SuiteName, slots: int) -> Worlds:
    """Its worlds, ready for a Play. Each is made when its slot is first used."""
    environment = Worlds(suite.build())
    environment.spec = environment.env_init(slots)
    return environment


def _board(channel: socket.socket, environment: Environment) -> SharedArrays:
    """The pool's board, which it sends when it has the spec."""
    _, descriptors, _, _ = socket.recv_fds(channel, 1, 1)
    if not descriptors:
        raise EOFError("the other end closed")
    try:
        return SharedArrays(environment.spec, descriptors[0])
    finally:
        os.close(descriptors[0])


def _leave(environment: Environment | None) -> None:
    """Go at once: to take the modules of a simulator apart takes half a second."""
    if environment is not None:
        environment.env_cleanup()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def _reason(suite: SuiteName, error: Exception) -> str:
    if isinstance(error, UsageError):
        return str(error)
    traceback.print_exception(error)  # to the log: the suite's author needs the lines
    return f"suite {suite.factory!r} cannot be built: {type(error).__name__}: {error}"


if __name__ == "__main__":
    main()
