"""A worker process: holds the environments of some slots, started by `WorkerPool`.

`python -m glue_server.worker FD` talks frames over the inherited socket FD and
ends when the other end closes it.
"""

from __future__ import annotations

import contextlib
import socket
import sys
import traceback

from env_adapters import Cell, Suite, SuiteName, World
from glue_server.frames import read_frame, read_work, write_answers, write_frame
from glue_server.pool import Answer, fault, start, step
from reglue.errors import EnvironmentFault, UsageError
from reglue.wire.specs import spec_to_bytes


def main() -> None:
    """Build the suite that the first frame names, then play until the pool is gone."""
    channel = socket.socket(fileno=int(sys.argv[1]))
    with contextlib.suppress(EOFError, OSError):
        head, _ = read_frame(channel)
        try:
            suite = SuiteName(head["factory"], head["config"]).build()
            spec = spec_to_bytes(suite.spec)
        except Exception as error:  # noqa: BLE001 - the edge of somebody's suite
            write_frame(channel, {"refused": _reason(head["factory"], error)})
            return
        write_frame(channel, {}, spec)
        serve(channel, suite)


def serve(channel: socket.socket, suite: Suite) -> None:
    """Answer work, frame by frame. Raises EOFError or OSError when the pool is gone."""
    environments: dict[int, World] = {}
    while True:
        starts, steps = read_work(channel, suite.spec)
        answers: dict[int, Answer] = {}
        for slot, cell in starts.items():
            answers[slot] = _begin(suite, environments, slot, cell)
        for slot, action in steps.items():
            if slot in environments:
                answers[slot] = step(environments[slot], suite.spec, action)
            else:  # we are a replacement, and its episode was given up meanwhile
                answers[slot] = EnvironmentFault("its episode could not be rebuilt")
        write_answers(channel, suite.spec, answers)


def _begin(suite: Suite, environments: dict[int, World], slot: int, cell: Cell) -> Answer:
    """Start an episode, in an environment that is made when its slot is first used."""
    try:
        if slot not in environments:
            environments[slot] = suite.world()
    except Exception as error:  # noqa: BLE001 - the edge of somebody's suite
        return fault(error)
    return start(environments[slot], suite.spec, cell)


def _reason(factory: str, error: Exception) -> str:
    if isinstance(error, UsageError):
        return str(error)
    traceback.print_exception(error)  # to the log: the suite's author needs the lines
    return f"suite {factory!r} cannot be built: {type(error).__name__}: {error}"


if __name__ == "__main__":
    main()
