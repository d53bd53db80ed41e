"""Values and messages of the field tables have the same fields."""

from __future__ import annotations

from typing import Any

import pytest

from reglue.v1 import agent_pb2, environment_pb2, experiment_pb2
from reglue.wire import agent_encoding, environment_encoding, experiment_encoding
from reglue.wire.fields import FieldTable

ROWS = {"env_step", "agent_start", "agent_step", "agent_end", "started", "stepped", "acted"}
CODED_BY_HAND = {"turn", "actions", "play", "played", "hello", "episode", *ROWS}
"""Frequent messages, those that need the TaskSpec, and hellos, which the sessions write."""

TABLES: list[tuple[FieldTable, Any, set[str]]] = [
    (agent_encoding._CALLS, agent_pb2.AgentCall, CODED_BY_HAND),
    (agent_encoding._REPLIES, agent_pb2.AgentReply, CODED_BY_HAND),
    (environment_encoding._CALLS, environment_pb2.EnvironmentCall, CODED_BY_HAND),
    (environment_encoding._REPLIES, environment_pb2.EnvironmentReply, CODED_BY_HAND),
    (experiment_encoding._CALLS, experiment_pb2.ExperimentCall, CODED_BY_HAND | {"farewell"}),
    (
        experiment_encoding._REPLIES,
        experiment_pb2.ExperimentReply,
        CODED_BY_HAND | {"refusal", "agent_fault", "environment_fault", "farewell"},
    ),
]


@pytest.mark.parametrize(("table", "message", "others"), TABLES, ids=lambda each: "")
def test_every_kind_of_the_protocol_is_coded(
    table: FieldTable, message: Any, others: set[str]
) -> None:
    oneof = message.DESCRIPTOR.oneofs_by_name[table._oneof]
    assert {field.name for field in oneof.fields} <= table._kinds.keys() | others


@pytest.mark.parametrize(("table", "message", "others"), TABLES, ids=lambda each: "")
def test_a_value_has_the_fields_of_its_message(
    table: FieldTable, message: Any, others: set[str]
) -> None:
    for name, (kind, names) in table._kinds.items():
        if kind not in table._codecs:
            of_message = message.DESCRIPTOR.fields_by_name[name].message_type.fields_by_name
            assert set(names) == set(of_message.keys()), name
