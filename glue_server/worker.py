"""A worker process: holds the environments of some slots, started by `WorkerPool`.

`python -m glue_server.worker FD` talks frames over the inherited socket FD and
ends when the other end closes it.
"""

from __future__ import annotations

import contextlib
import socket
import sys

from env_adapters import Environment, Suite, SuiteName
from glue_server.frames import read_frame, read_work, write_answers, write_frame
from glue_server.pool import Answer, start, step
from reglue.errors import UsageError
from reglue.wire.specs import spec_to_bytes


def main() -> None:
    """Build the suite that the first frame names, then play until the pool is gone."""
    channel = socket.socket(fileno=int(sys.argv[1]))
    with contextlib.suppress(EOFError, OSError):
        head, _ = read_frame(channel)
        try:
            suite = SuiteName(head["factory"], head["config"]).build()
        except UsageError as error:
            write_frame(channel, {"refused": str(error)})
            return
        write_frame(channel, {}, spec_to_bytes(suite.spec))
        serve(channel, suite)


def serve(channel: socket.socket, suite: Suite) -> None:
    """Answer work, frame by frame. Raises EOFError or OSError when the pool is gone."""
    environments: dict[int, Environment] = {}
    while True:
        starts, steps = read_work(channel, suite.spec)
        answers: dict[int, Answer] = {}
        for slot, cell in starts.items():
            if slot not in environments:
                environments[slot] = suite.environment()
            answers[slot] = start(environments[slot], suite.spec, cell)
        for slot, action in steps.items():
            answers[slot] = step(environments[slot], suite.spec, action)
        write_answers(channel, suite.spec, answers)


if __name__ == "__main__":
    main()
