"""A benchmark program that breaks a rule is found out by the check of that rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, get_args

import numpy as np
import pytest

from reglue.conformance.experiment_under_test import ConformanceExperiment
from reglue.errors import OutOfDomain, RoutineRefused, SessionLost
from reglue.experiments.experiment import Experiment
from reglue.messages.experiment_messages import ExperimentCall, Stepped
from reglue.net.experiment_session import ExperimentSession
from reglue.net.join_string import JoinString
from reglue.net.streams import Stream
from reglue.v1 import experiment_pb2 as pb
from tests.glue_server.conformance.findings import found, verdicts
from tests.glue_server.conformance.thread_clients import Play

pytestmark = pytest.mark.slow


def program(
    kind: type[Experiment] = Experiment, asking: type[ExperimentSession] | None = None
) -> Play:
    """Plays with routines that a test may have bent."""

    def play(where: JoinString) -> None:
        with kind(str(where)) as rl:
            if asking is not None:
                rl._asking.__class__ = asking
            ConformanceExperiment(rl).run()

    return play


class Swapping(Experiment):
    """Takes the end of time for the end of a task."""

    def step(self, slots: Sequence[int] = ()) -> Stepped:
        stepped = super().step(slots)
        return replace(stepped, terminated=stepped.truncated, truncated=stepped.terminated)


class Coarse(Experiment):
    """Has one kind of refusal."""

    def _call(self, call: ExperimentCall) -> object:
        try:
            return super()._call(call)
        except RoutineRefused as refused:
            raise OutOfDomain(got=refused.got, wanted=refused.wanted) from refused


class Speechless(Experiment):
    """Keeps the words of refusals to itself."""

    def _call(self, call: ExperimentCall) -> object:
        try:
            return super()._call(call)
        except RoutineRefused as refused:
            raise type(refused)(got="something", wanted="something else") from refused


class Insisting(Experiment):
    """Asks again where it cannot read the answer."""

    def _call(self, call: ExperimentCall) -> object:
        try:
            return super()._call(call)
        except SessionLost as lost:
            if "cannot read" not in str(lost):
                raise
            self._asking._over = ""
            return super()._call(call)


class Rude(Experiment):
    """Leaves without a word."""

    def __exit__(self, *error: Any) -> None:
        self._asking._is_known = False
        super().__exit__(*error)


class Sorted(Experiment):
    """Steps slots in their order."""

    def step(self, slots: Sequence[int] = ()) -> Stepped:
        return super().step(sorted(slots))


class Single(Experiment):
    """Sends rewards of single precision."""

    def agent_step(self, rewards: Any, observations: Any, slots: Sequence[int] = (0,)) -> Any:
        return super().agent_step(np.float32(rewards), observations, slots)


class Noting(Experiment):
    """Notes which routines it is asked for."""

    called: ClassVar[set[type[ExperimentCall]]] = set()

    def _call(self, call: ExperimentCall) -> object:
        self.called.add(type(call))
        return super()._call(call)


class Renumbering(ExperimentSession):
    """Sends a call again under a new number."""

    def _open(self) -> Stream:
        comes_back = self._stream is None and self._answered > 0
        stream = super()._open()
        if comes_back:
            send = stream.send
            stream.send = lambda message: send(_next_number(message))  # type: ignore[method-assign]
        return stream


def _next_number(message: bytes) -> bytes:
    call = pb.ExperimentCall.FromString(message)
    call.seq += 1
    return call.SerializeToString()


class Narrow(ExperimentSession):
    """Sends calls of three quarters of the limit at most."""

    def _open(self) -> Stream:
        stream = super()._open()
        self._most -= self._most // 4
        return stream


class Giving(ExperimentSession):
    """Does not come back."""

    def _open(self) -> Stream:
        if self._stream is None and self._answered:
            raise SystemError("where has it gone?")
        return super()._open()


WRONG: Mapping[str, tuple[Play, str, str]] = {
    "flags swapped": (program(Swapping), "calls.one-slot", "the memory of its flags"),
    "refusals alike": (program(Coarse), "refusals.out-of-order", "refused OUT_OF_DOMAIN"),
    "refusals without words": (program(Speechless), "refusals.before-init", "RL_init first"),
    "bad answers asked again": (program(Insisting), "broken.short-flags", "RLEpisode"),
    "no farewell": (program(Rude), "farewell.leaves", "farewell"),
    "slots sorted": (program(Sorted), "calls.some-slots", "the call of `step 7 0 3`"),
    "rewards rounded": (program(Single), "routines.one-slot", "'its rewards'"),
    "another number": (program(asking=Renumbering), "reconnect.answer-lost", "RLEpisode"),
    "large calls unsent": (program(asking=Narrow), "tensors.largest-call", "OUT_OF_DOMAIN"),
    "it does not come back": (program(asking=Giving), "reconnect.between-calls", "gone"),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_program_is_found_out(what: str) -> None:
    play, check, words = WRONG[what]
    assert words in found("experiment", play, check)


def test_a_program_that_is_well_stays_for_the_next_check() -> None:
    """Also after refusals and faults."""
    became = verdicts("experiment", program(), "refusals.o*", "faults.*", "routines.*")
    assert {name: each.detail for name, each in became.items()} == dict.fromkeys(became, "")
    assert len(became) == 9


def test_the_checks_of_routines_ask_for_each_of_them() -> None:
    Noting.called.clear()
    for check in ("routines.one-slot", "routines.goals", "routines.adapting"):
        verdicts("experiment", program(Noting), check)
    assert Noting.called == {*get_args(ExperimentCall)}
