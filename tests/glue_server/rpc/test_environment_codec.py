"""The glue's checks of an environment's answers, whatever client sent them."""

from __future__ import annotations

import numpy as np
import pytest

from glue_server.rpc.peer_codecs import EnvironmentCodec
from reglue.messages.agent_messages import UNLIMITED, Phase
from reglue.messages.environment_messages import Cell, EnvironmentReady, Play, Played
from reglue.spec import Box, Discrete, TaskSpec, TensorSpec
from reglue.wire.environment_encoding import encode_environment_reply

SPEC = TaskSpec(
    observations=(
        TensorSpec("place", "float64", (2,), Box((-1.0,), (1.0,))),
        TensorSpec("room", "int64", (), Discrete(4)),
    ),
    actions=(TensorSpec("action", "int64", (), Discrete(2)),),
    slots=4,
)
PLAY = Play(
    np.array([2, 0, 3], np.uint32),
    {"action": np.zeros(3, np.int64)},
    {1: Cell("task", 0, seed=1, repeat=0, phase=Phase.TRAIN)},
)


def ready_codec(nullable: tuple[str, ...] = ()) -> EnvironmentCodec:
    """One that knows the task."""
    codec = EnvironmentCodec(2**20)
    ready = EnvironmentReady(SPEC, {"task": 1}, nullable=nullable)
    codec.decode(encode_environment_reply(1, ready, None), PLAY)
    return codec


def decoded(
    places: list[float],
    rooms: list[int],
    faults: dict[int, str],
    nullable: tuple[str, ...] = (),
) -> Played:
    """The result of an answer of four rows: slots 2, 0 and 3 step, and slot 1 starts."""
    codec = ready_codec(nullable)
    played = Played.blank(SPEC, PLAY, faults)
    played.observations["place"][:, 1] = places
    played.observations["room"][:] = rooms
    reply = codec.decode(encode_environment_reply(2, played, SPEC), PLAY)
    assert isinstance(reply, Played)
    np.testing.assert_array_equal(reply.observations["place"][:, 1], places)
    return reply


def test_what_lies_in_its_domain_is_passed_on() -> None:
    played = decoded([1.0, -1.0, 0.0, 0.5], [0, 3, 1, 2], {})
    assert (played.outside, played.faults) == (0, {})


def test_numbers_outside_of_a_box_are_passed_on_and_counted() -> None:
    played = decoded([1.5, np.nan, 0.0, -np.inf], [0, 3, 1, 2], {})
    assert (played.outside, played.faults) == (3, {})


def test_nan_is_not_counted_where_the_environment_says_that_it_is_a_missing_value() -> None:
    played = decoded([1.5, np.nan, 0.0, np.nan], [0, 3, 1, 2], {}, nullable=("place",))
    assert (played.outside, played.faults) == (1, {})


def test_numbers_that_a_discrete_lacks_are_the_environments_fault() -> None:
    played = decoded([0.0] * 4, [4, 0, 0, -1], {})
    assert played.outside == 0
    assert played.faults == {
        2: "observation 'room': got 4, wanted 0 to 3",
        1: "observation 'room': got -1, wanted 0 to 3",
    }
    assert played.illegal == frozenset()


def test_rows_of_slots_that_failed_are_not_looked_at() -> None:
    played = decoded([0.0, 0.0, 7.0, 7.0], [0, 0, 9, 9], {3: "it broke", 1: "so did it"})
    assert (played.outside, played.faults) == (0, {3: "it broke", 1: "so did it"})


def test_plays_of_a_task_that_is_known_are_encoded_the_quick_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slowly: list[Play] = []
    slow = "glue_server.rpc.peer_codecs.encode_environment_call"
    monkeypatch.setattr(slow, lambda _seq, call, _spec: slowly.append(call))
    assert ready_codec().encode(2, PLAY, UNLIMITED)
    assert not slowly
