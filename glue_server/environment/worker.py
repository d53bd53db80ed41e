"""A worker process: holds the environments of some slots, started by `WorkersPort`.

`python -m glue_server.environment.worker FD PARENT` receives messages from the inherited socket FD
and ends when the other end closes it, or the process PARENT ends (see children.die_with).
"""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import sys
from collections.abc import Mapping

import numpy as np

from env_adapters import Cell, SuiteName
from glue_server.environment.environment_port import check_played
from glue_server.environment.shared_arrays import SharedArrays
from glue_server.environment.worker_process import (
    DONE,
    TO_WORKER,
    CannotBuild,
    CanPlay,
    CleanUp,
    DoneWithFaults,
    Init,
    Lost,
    Routine,
    RoutineReply,
    StepAndStart,
    ToWorker,
)
from glue_server.processes.child import Channel, inherited_channel
from glue_server.processes.crash_reports import crashes_reported
from glue_server.processes.message_codec import unexpected
from reglue.environments.environment import Environment, fault_text
from reglue.environments.environment_dispatch import play_environment
from reglue.environments.slot_worlds import Worlds
from reglue.errors import BadReply, EnvironmentLost, UsageError
from reglue.messages.agent_messages import Fault, Refusal
from reglue.messages.environment_messages import (
    EnvironmentInit,
    EnvironmentReady,
    Play,
    Played,
)
from reglue.process_tuning import collecting_seldom
from reglue.tracebacks import explained
from reglue.v1.environment_pb2 import EnvironmentCall
from reglue.wire.environment_encoding import decode_environment_call, encode_environment_reply

log = logging.getLogger("reglue")


def main() -> None:
    """Build the suite that the first message names, then play until the parent is gone."""
    channel = inherited_channel(TO_WORKER, listens=False)
    _yield_to_glue()
    worker = None
    with crashes_reported(), contextlib.suppress(EOFError, OSError):
        suite = channel.receive()
        if not isinstance(suite, SuiteName):
            raise unexpected(suite)
        worker = _Worker(channel, suite)
        worker.serve()
    if worker is not None and worker.environment is not None:
        worker.environment.env_cleanup()
    # At once: to take the modules of a simulator apart takes half a second.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def _yield_to_glue() -> None:
    """Do not preempt the glue, which wakes this worker and still has other workers to wake."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):  # a container's policy may refuse it
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


class _Worker:
    """Answers the messages of its parent."""

    def __init__(self, channel: Channel[ToWorker], suite: SuiteName) -> None:
        self.environment: Environment | None = None
        self._channel = channel
        self._suite = suite
        self._shared: SharedArrays

    def serve(self) -> None:
        """Answer message by message. Raises EOFError or OSError when the parent is gone."""
        while True:
            message = self._channel.receive()
            match message:
                case bytes():
                    self._play(message, {})
                case StepAndStart(slots, starts):
                    self._play(slots, dict(starts))
                case Routine(call):
                    self._carry_out(call)
                case CleanUp():
                    if self.environment is not None:
                        self.environment.env_cleanup()
                case Init():
                    if not self._init(message):
                        return
                case SuiteName():
                    raise unexpected(message)

    def _play(self, slots: bytes, starts: Mapping[int, Cell]) -> None:
        assert self.environment is not None, "init comes first"
        places = np.frombuffer(slots, np.uint32)
        play = Play(places, self._shared.actions(places), starts)
        try:
            played = self._played(self.environment, play)
        except EnvironmentLost as lost:
            self._channel.send(Lost(str(lost)))
            return
        faults = tuple((slot, what, slot in played.illegal) for slot, what in played.faults.items())
        is_fine = not (faults or played.outside)
        self._channel.send(DONE if is_fine else DoneWithFaults(faults, played.outside))

    def _played(self, environment: Environment, play: Play) -> Played:
        """The answer, which is in the shared arrays."""
        if isinstance(environment, Worlds):
            return self._shared.answer(play, environment)
        played = play_environment(environment, play)
        assert isinstance(played, Played), "what else answers a Play"
        try:
            check_played(environment.spec, play, played)
        except BadReply as refused:
            slots = (*play.slots.tolist(), *play.starts)
            played = Played.blank(environment.spec, play, dict.fromkeys(slots, str(refused)))
        self._shared.put_played(play, played)
        return played

    def _carry_out(self, call: bytes) -> None:
        """A message, or a routine of one slot: its state, or its random seed."""
        assert self.environment is not None, "init comes first"
        spec = self.environment.spec
        try:
            decoded = decode_environment_call(EnvironmentCall.FromString(call), spec)
            reply = play_environment(self.environment, decoded)
            assert reply is not None, "only calls that are answered are sent"
        except Exception as error:  # noqa: BLE001 - the edge of somebody's world
            log.error("the environment failed: %s", explained(error))
            reply = Fault(fault_text(error))
        encoded = encode_environment_reply(0, reply, spec).SerializeToString()
        self._channel.send(RoutineReply(encoded))

    def _init(self, init: Init) -> bool:
        """env_init, and the memory that comes for it; False if the suite cannot be built.

        A world is made before the answer, to see what it can save: what it loads takes a while.
        """
        try:
            with collecting_seldom():
                environment = self.environment = self.environment or self._suite.environment()
                environment.is_replacement = init.is_replacement
                ready = play_environment(environment, EnvironmentInit(init.slots))
                if isinstance(ready, Refusal):
                    raise UsageError(got=ready.got, wanted=ready.wanted)
                assert isinstance(ready, EnvironmentReady), "what else answers env_init"
                encoded = encode_environment_reply(0, ready, None).SerializeToString()
        except Exception as error:  # noqa: BLE001 - the edge of somebody's suite
            self._channel.send(CannotBuild(_reason(self._suite, error)))
            return False
        self._channel.send(CanPlay(encoded))
        _, descriptors, _, _ = socket.recv_fds(self._channel.socket, 1, 1)
        if not descriptors:
            raise EOFError("the other end closed")
        try:
            self._shared = SharedArrays(environment.spec, descriptors[0])
        finally:
            os.close(descriptors[0])
        return True


def _reason(suite: SuiteName, error: Exception) -> str:
    print(explained(error.__cause__ or error), file=sys.stderr)  # noqa: T201 - its author's log
    if isinstance(error, UsageError):
        return str(error)
    return f"suite {suite.factory!r} cannot be built: {type(error).__name__}: {error}"


if __name__ == "__main__":
    main()
