"""A worker process: holds the environments of some slots, started by `WorkersPort`.

`python -m glue_server.environment.worker FD PARENT` talks frames over the inherited socket FD and
ends when the other end closes it, or the process PARENT ends (see children.die_with).
"""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import sys
import traceback

from env_adapters import SuiteName
from glue_server.environment.shared_memory import SharedArrays, play_of
from glue_server.processes.children import die_with, leave_after
from glue_server.processes.frames import read_frame, write_frame
from reglue.environments.environment import Worlds, fault_text
from reglue.environments.environment_dispatch import play_environment
from reglue.errors import UsageError
from reglue.messages.agent import Fault
from reglue.messages.environment import Play
from reglue.process_tuning import collecting_seldom
from reglue.v1.environment_pb2 import EnvironmentCall
from reglue.wire.environment import decode_environment_call, encode_environment_reply
from reglue.wire.specs import spec_to_bytes

log = logging.getLogger("reglue")


def main() -> None:
    """Build the suite that the first frame names, then play until the parent is gone."""
    channel, parent = socket.socket(fileno=int(sys.argv[1])), int(sys.argv[2])
    del sys.argv[1:]  # a user's module may parse it
    die_with(parent)
    _yield_to_glue()
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


def _yield_to_glue() -> None:
    """Do not preempt who wakes this worker: the glue still has the other workers to wake."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):  # a container's policy may refuse it
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


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
            elif "routine" in head:
                self._carry_out(bytes(body))
            elif "slots" not in head:
                self._play(play_of(head, body, self._shared))
            elif not self._init(head["slots"]):
                return

    def _play(self, play: Play) -> None:
        assert self.worlds is not None, "init comes first"
        played = self._shared.answer(play, self.worlds)
        faults = [(slot, what, slot in played.illegal) for slot, what in played.faults.items()]
        said = {"faults": faults, "outside": played.outside}
        write_frame(self._channel, said if faults or played.outside else {})

    def _carry_out(self, call: bytes) -> None:
        """A routine of one slot: its state, or its random seed."""
        assert self.worlds is not None, "init comes first"
        spec = self.worlds.spec
        try:
            decoded = decode_environment_call(EnvironmentCall.FromString(call), spec)
            reply = play_environment(self.worlds, decoded)
            assert reply is not None, "only calls that are answered are sent"
        except Exception as error:  # the edge of somebody's world
            log.exception("the environment failed")
            reply = Fault(fault_text(error))
        write_frame(self._channel, {}, encode_environment_reply(0, reply, spec).SerializeToString())

    def _init(self, slots: int) -> bool:
        """env_init, and the memory that comes for it; False where the suite cannot be built.

        A world is made before the answer, to see what it can save: what it loads takes a while.
        """
        try:
            with collecting_seldom():
                self.worlds = worlds = self.worlds or Worlds(self._suite.build())
                worlds.spec = worlds.env_init(slots)
                spec = spec_to_bytes(worlds.spec)
                ready = {
                    "variants": dict(worlds.variants),
                    "restores": worlds.restores,
                    "portable": worlds.portable,
                    "seeds": worlds.seeds,
                    "standardizes": worlds.standardizes,
                    "tells_success": worlds.tells_success,
                    "raw_actions": worlds.raw_actions,
                }
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
