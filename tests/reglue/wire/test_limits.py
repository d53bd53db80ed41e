"""The sizes in a stranger's message are checked before it is copied: little time, little memory."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from reglue.errors import BadReply, SpecError
from reglue.messages.agent_messages import Phase
from reglue.messages.environment_messages import Cell, EnvironmentInit, Play
from reglue.messages.experiment_messages import RLStep
from reglue.spec import MOST_ELEMENTS, Box, TaskSpec, TensorSpec
from reglue.v1 import agent_pb2, environment_pb2, experiment_pb2, spec_pb2
from reglue.wire.agent_encoding import decode_call, decode_reply
from reglue.wire.environment_encoding import decode_environment_call, decode_environment_reply
from reglue.wire.experiment_encoding import decode_answer, decode_experiment_call
from reglue.wire.spec_encoding import decode_spec
from tests.error_facts import raises

SPEC = TaskSpec((TensorSpec("seen", "float32", (2,)),), (TensorSpec("done", "int8"),), slots=3)
PLAY = Play(
    np.array([0], np.uint32),
    {"done": np.zeros(1, np.int8)},
    {1: Cell("t", 0, 0, 0, Phase.TRAIN)},
)
MANY = 300_000
SLOTS = [7] * MANY
TENSOR = spec_pb2.TensorSpec(name="seen", dtype=spec_pb2.DTYPE_INT8, box=spec_pb2.Box())


@contextmanager
def little() -> Iterator[None]:
    """Fails if more than 20 s of this thread or 300 kB are spent on a message of many entries."""
    tracemalloc.start()
    began = time.thread_time()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < 300_000
        assert time.thread_time() - began < 20
    finally:
        tracemalloc.stop()


def spec_of(**change: Any) -> spec_pb2.TaskSpec:
    message = spec_pb2.TaskSpec(observations=[TENSOR], actions=[TENSOR], slots=1)
    for name, value in change.items():
        field = getattr(message.observations[0], name)
        (field.extend if isinstance(value, list) else field.MergeFrom)(value)
    return message


def many_tensors() -> spec_pb2.TaskSpec:
    message = spec_pb2.TaskSpec(actions=[TENSOR], slots=1)
    message.observations.extend([TENSOR] * MANY)
    return message


SPECS: dict[str, Callable[[], spec_pb2.TaskSpec]] = {
    "axes": lambda: spec_of(shape=[2**32 - 1] * MANY),
    "axes of one": lambda: spec_of(shape=[1] * MANY),
    "bounds": lambda: spec_of(box=spec_pb2.Box(low=[0.0] * MANY)),
    "choices": lambda: spec_of(multi_discrete=spec_pb2.MultiDiscrete(n=SLOTS)),
    "tensors": many_tensors,
}


@pytest.mark.parametrize("kind", SPECS)
def test_a_spec_of_too_many_is_refused_before_it_is_copied(kind: str) -> None:
    message = SPECS[kind]()
    with little(), pytest.raises(SpecError):
        decode_spec(message)


def a_call(**fields: list[int]) -> Callable[[], object]:
    message = agent_pb2.AgentCall(turn=agent_pb2.Turn(phase=1, **fields))  # type: ignore[arg-type]
    return lambda: decode_call(message, SPEC)


def a_reply(actions: agent_pb2.Actions) -> Callable[[], object]:
    message = agent_pb2.AgentReply(actions=actions)
    return lambda: decode_reply(message, SPEC, rows=2)


def an_environment_call(play: environment_pb2.Play) -> Callable[[], object]:
    message = environment_pb2.EnvironmentCall(play=play)
    return lambda: decode_environment_call(message, SPEC)


def an_environment_reply(call: Any, **reply: Any) -> Callable[[], object]:
    message = environment_pb2.EnvironmentReply(**reply)
    return lambda: decode_environment_reply(message, call, SPEC)


def an_experiment_call(spec: TaskSpec | None, **call: Any) -> Callable[[], object]:
    message = experiment_pb2.ExperimentCall(**call)
    return lambda: decode_experiment_call(message, spec)


def an_answer(**reply: Any) -> Callable[[], object]:
    message = experiment_pb2.ExperimentReply(**reply)
    return lambda: decode_answer(message, RLStep(), SPEC)


DECODERS: dict[str, Callable[[], Callable[[], object]]] = {
    "ends": lambda: a_call(end_slots=SLOTS, end_kinds=[1] * MANY),
    "steps": lambda: a_call(step_slots=SLOTS, step_flags=SLOTS),
    "starts": lambda: a_call(start_slots=SLOTS, start_seeds=SLOTS),
    "observations": lambda: a_reply(agent_pb2.Actions(actions=[b""] * MANY)),
    "abandoned": lambda: a_reply(agent_pb2.Actions(actions=[b"\0\0"], abandoned_slots=SLOTS)),
    "held": lambda: a_reply(agent_pb2.Actions(actions=[b"\0\0"], held_slots=SLOTS)),
    "played": lambda: an_environment_call(environment_pb2.Play(step_slots=SLOTS)),
    "cells": lambda: an_environment_call(
        environment_pb2.Play(start_slots=SLOTS, cells=[environment_pb2.Cell()] * MANY)
    ),
    "faults": lambda: an_environment_reply(
        PLAY, played=environment_pb2.Played(faults=[environment_pb2.SlotFault()] * MANY)
    ),
    "tasks": lambda: an_environment_reply(
        EnvironmentInit(1),
        ready=environment_pb2.EnvironmentReady(tasks=[environment_pb2.EnvironmentTask()] * MANY),
    ),
    "steps of a program": lambda: an_experiment_call(SPEC, step=experiment_pb2.RlStep(slots=SLOTS)),
    "steps before init": lambda: an_experiment_call(None, step=experiment_pb2.RlStep(slots=SLOTS)),
    "rows of a program": lambda: an_experiment_call(
        SPEC, env_step=experiment_pb2.RlEnvStep(slots=SLOTS)
    ),
    "stepped": lambda: an_answer(stepped=experiment_pb2.Stepped(slots=SLOTS)),
    "episodes": lambda: an_answer(episode=experiment_pb2.EpisodePlayed(slots=SLOTS)),
}


@pytest.mark.parametrize("kind", DECODERS)
def test_a_message_of_too_many_is_refused_before_it_is_copied(kind: str) -> None:
    decode = DECODERS[kind]()
    with little(), pytest.raises(BadReply) as refused:
        decode()
    assert len(str(refused.value)) < 1000


@pytest.mark.parametrize("shape", [(2,) * 64, (MOST_ELEMENTS + 1,), (0, 2**63)], ids=str)
def test_a_row_is_never_larger_than_a_message(shape: tuple[int, ...]) -> None:
    with raises(SpecError, "seen", "shape"):
        TensorSpec("seen", "int8", shape)


def test_what_a_spec_says_wrong_is_told_in_a_few_words() -> None:
    with pytest.raises(SpecError) as refused:
        TensorSpec("seen", "float32", (MANY,), Box((2.0,) * MANY, (1.0,)))
    assert len(str(refused.value)) < 1000
