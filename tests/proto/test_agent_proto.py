"""An agent's messages cannot carry the driver's secrets: agent.proto has no room for them."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

import pytest
from google.protobuf.descriptor import Descriptor

from reglue.v1 import agent_pb2, session_pb2, spec_pb2

SECRETS = ("task", "goal", "variant", "success", "info", "seed")


def test_agent_proto_imports_the_spec_and_what_all_sessions_share_alone() -> None:
    imported = [file.name for file in agent_pb2.DESCRIPTOR.dependencies]
    assert imported == ["reglue/v1/session.proto", "reglue/v1/spec.proto"]


@pytest.mark.parametrize("shared", [spec_pb2, session_pb2])
def test_what_agents_share_imports_nothing(shared: ModuleType) -> None:
    assert list(shared.DESCRIPTOR.dependencies) == []


def test_no_message_to_an_agent_has_a_field_named_like_a_secret() -> None:
    """An agent's own start seeds are not secret; they say nothing of the benchmark's."""
    named = {
        field.full_name
        for message in sent_to_agents()
        for field in message.fields
        if any(secret in field.name for secret in SECRETS)
    }
    assert named == {"reglue.v1.Turn.start_seeds"}


def test_what_is_sent_to_agents_includes_every_call_and_the_spec() -> None:
    """Guards the test above: a walk that visits nothing finds nothing."""
    names = {message.name for message in sent_to_agents()}
    assert names >= {"AgentCall", "Budget", "AgentInit", "Turn", "Refusal", "TaskSpec", "Discrete"}


def sent_to_agents() -> set[Descriptor]:
    """Every message type that an AgentCall can hold, itself included."""
    reached: set[Descriptor] = set()
    waiting = [agent_pb2.DESCRIPTOR.message_types_by_name["AgentCall"]]
    while waiting:
        message = waiting.pop()
        if message not in reached:
            reached.add(message)
            waiting.extend(_parts(message))
    return reached


def _parts(message: Descriptor) -> Iterator[Descriptor]:
    for field in message.fields:
        if field.message_type is not None:
            yield field.message_type
