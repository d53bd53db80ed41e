"""A worker process: holds the environments of some slots, started by `WorkersPort`.

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
from glue_server.environment.shared_memory import SharedArrays, play_of
from glue_server.processes.children import die_with, leave_after
from glue_server.processes.frames import read_frame, write_frame
from reglue.environments.environment import Worlds
from reglue.errors import UsageError
from reglue.messages.environment import Play
from reglue.process_tuning import collecting_seldom
from reglue.wire.specs import spec_to_bytes


def main() -> None:
    """Build the suite that the first frame names, then play until the parent is gone."""
    channel, parent = socket.socket(fileno=int(sys.argv[1])), int(sys.argv[2])
    die_with(parent)
    if not parent:
        leave_after(channel)
    worker = None
    with contextlib.suppress(EOFError, OSError):
        head, _ = read_frame(channel)
        worker = _Worker(channel, SuiteName(head["factory"], head["config"]))
        worker.serve()
    if worker is not None and worker.worlds is not None:
        worker.worlds.env_cleanup()
    # At once: to take the modules of a simulator apart takes half a second.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


class _Worker:
    """Answers the frames of its parent."""

    def __init__(self, channel: socket.socket, suite: SuiteName) -> None:
        self.worlds: Worlds | None = None
        self._channel = channel
        self._suite = suite
        self._shared: SharedArrays

    def serve(self) -> None:
        """Answer frame by frame. Raises EOFError or OSError when the parent is gone."""
        while True:
            head, body = read_frame(self._channel)
            if "cleanup" in head and self.worlds is not None:
                self.worlds.env_cleanup()
            elif "slots" not in head:
                self._play(play_of(head, body, self._shared))
            elif not self._init(head["slots"]):
                return

    def _play(self, play: Play) -> None:
        assert self.worlds is not None, "init comes first"
        played = self.worlds.play(play)
        self._shared.put_played(play, played)
        faults = {"faults": list(played.faults.items())} if played.faults else {}
        write_frame(self._channel, faults)

    def _init(self, slots: int) -> bool:
        """env_init, and the memory that comes for it; False where the suite cannot be built.

        A world is made before the answer, since what it loads takes a while.
        """
        try:
            with collecting_seldom():
                self.worlds = worlds = self.worlds or Worlds(self._suite.build())
                worlds.spec = worlds.env_init(slots)
                spec = spec_to_bytes(worlds.spec)
                ready = {
                    "variants": dict(worlds.variants),
                    "standardizes": worlds.standardizes,
                    "tells_success": worlds.tells_success,
                }
                worlds.prepare()
        except Exception as error:  # noqa: BLE001 - the edge of somebody's suite
            write_frame(self._channel, {"refused": _reason(self._suite, error)})
            return False
        write_frame(self._channel, ready, spec)
        _, descriptors, _, _ = socket.recv_fds(self._channel, 1, 1)
        if not descriptors:
            raise EOFError("the other end closed")
        try:
            self._shared = SharedArrays(worlds.spec, descriptors[0])
        finally:
            os.close(descriptors[0])
        return True


def _reason(suite: SuiteName, error: Exception) -> str:
    traceback.print_exception(error.__cause__ or error)  # its author needs the lines
    if isinstance(error, UsageError):
        return str(error)
    return f"suite {suite.factory!r} cannot be built: {type(error).__name__}: {error}"


if __name__ == "__main__":
    main()
