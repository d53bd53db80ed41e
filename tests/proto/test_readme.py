"""proto/README.md says what the code does: its bytes are made and read by the real encoders."""

from __future__ import annotations

import hashlib
import hmac
import re
from pathlib import Path

import numpy as np
import pytest
from google.protobuf import text_format
from google.protobuf.descriptor import FileDescriptor

from glue_server.agent.actions import ActionChecks
from glue_server.agent.turn_rows import Rows, turn_of
from reglue.messages.agent_messages import ActionFlag, Actions, EndKind, Numbered, Phase, Turn
from reglue.net.join_string import join_string
from reglue.net.lobby import hello_proof, unix_socket_proof
from reglue.spec import TaskSpec
from reglue.v1 import (
    agent_pb2,
    environment_pb2,
    experiment_pb2,
    lobby_pb2,
    session_pb2,
    spec_pb2,
)
from reglue.wire.agent_encoding import decode_call, decode_reply, encode_call, encode_reply
from reglue.wire.spec_encoding import decode_spec

PROTO = Path(__file__).parents[2] / "proto"
README = (PROTO / "README.md").read_text(encoding="utf-8")
SEQ = 8  # of the call in the example
START_SEED = 0x0123456789ABCDEF


def test_the_hello_proof_is_the_clients() -> None:
    told = hello_vector()
    proof = hello_proof(bytes.fromhex(told["secret"]), told["session"], int(told["answered"]))
    assert proof.hex() == told["proof"]


def test_the_hello_proof_is_that_of_the_text() -> None:
    told = hello_vector()
    text = told["text"].replace("<session>", told["session"]).replace("<answered>", "0")
    proof = hmac.digest(bytes.fromhex(told["secret"]), text.encode(), "sha256")
    assert proof.hex() == told["proof"]


def test_the_unix_socket_proof_is_that_of_the_text() -> None:
    told = dict(line.split(maxsplit=1) for line in block("text unix socket").splitlines())
    secret, answered = bytes.fromhex(told["secret"]), told["answered"]
    assert unix_socket_proof(secret, told["session"], int(answered)).hex() == told["proof"]
    text = told["text"].replace("<session>", told["session"]).replace("<answered>", answered)
    assert hmac.digest(secret, text.encode(), "sha256").hex() == told["proof"]


def test_the_bytes_of_the_call_are_what_the_glue_sends() -> None:
    message = encode_call(Numbered(SEQ, example_turn()), example_spec())
    assert message.SerializeToString(deterministic=True) == hex_block("call")


def test_the_bytes_of_the_reply_are_what_the_client_sends() -> None:
    message = encode_reply(SEQ, example_actions(), example_spec())
    assert message.SerializeToString(deterministic=True) == hex_block("reply")


def test_the_rewards_and_observations_are_those_of_the_call() -> None:
    turn = agent_pb2.AgentCall.FromString(hex_block("call")).turn
    rows = [hex_block(f"observation {name}") for name in ("position", "door_open")]
    assert [turn.rewards, *turn.observations] == [hex_block("rewards"), *rows]


def test_the_actions_are_those_of_the_reply() -> None:
    actions = agent_pb2.AgentReply.FromString(hex_block("reply")).actions
    assert list(actions.actions) == [hex_block(f"action {name}") for name in ("force", "grip")]


def test_the_client_reads_the_call_as_the_turn_that_is_told() -> None:
    read = decode_call(agent_pb2.AgentCall.FromString(hex_block("call")), example_spec())
    assert isinstance(read.call, Turn)
    np.testing.assert_equal(parts(read.call), parts(example_turn()))


def test_the_glue_reads_the_reply_and_finds_nothing_wrong() -> None:
    spec, message = example_spec(), agent_pb2.AgentReply.FromString(hex_block("reply"))
    reply = decode_reply(message, spec, rows=3)
    assert isinstance(reply, Actions)
    checked = ActionChecks(spec).check(reply.arrays, 3)
    assert not checked.refused
    assert not checked.clipped.any()


@pytest.mark.parametrize(
    ("name", "dtype"),
    [("rewards", "<f8"), ("observation position", "<f8"), ("action force", "<f4")],
)
def test_the_numbers_beside_the_bytes_are_theirs(name: str, dtype: str) -> None:
    beside = re.findall(r"slot \d (.*)", block(f"hex {name}"))
    numbers = [float(number) for line in beside for number in line.split()]
    assert numbers == np.frombuffer(hex_block(name), dtype).tolist()


@pytest.mark.parametrize(
    ("file", "page"),
    [
        (lobby_pb2.DESCRIPTOR, "README.md"),
        (session_pb2.DESCRIPTOR, "README.md"),
        (agent_pb2.DESCRIPTOR, "README.md"),
        (spec_pb2.DESCRIPTOR, "README.md"),
        (environment_pb2.DESCRIPTOR, "ENVIRONMENT.md"),
        (experiment_pb2.DESCRIPTOR, "EXPERIMENT.md"),
    ],
    ids=lambda each: getattr(each, "name", ""),
)
def test_every_field_of_the_contract_is_explained(file: FileDescriptor, page: str) -> None:
    words = set(re.findall(r"\w+", (PROTO / page).read_text(encoding="utf-8")))
    assert {name for name in field_names(file) if name not in words} == set()


def test_the_join_string_holds_what_is_said_beside_it() -> None:
    told = dict(line.split(maxsplit=1) for line in block("text join-string-entries").splitlines())
    text = block("text join-string").replace("\n", "")
    invited = join_string(text)
    assert (invited.address, invited.tls_name) == (told["address"], told["name"])
    assert invited.token == told["token"]
    assert hashlib.sha256(invited.authority).hexdigest() == told["sha256"]
    assert str(invited) == text


def block(info: str) -> str:
    """The only fenced block of README whose fence says `info`."""
    (found,) = re.findall(rf"^```{re.escape(info)}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    return str(found)


def hello_vector() -> dict[str, str]:
    """The names and values of the proof's example."""
    return dict(line.split(maxsplit=1) for line in block("text hello").splitlines())


def hex_block(name: str) -> bytes:
    """The bytes of a block; what follows a # is for people."""
    return bytes.fromhex(re.sub(r"#.*", "", block(f"hex {name}")))


def field_names(file: FileDescriptor) -> set[str]:
    """Of all messages of a file."""
    messages = file.message_types_by_name.values()
    return {field.name for message in messages for field in message.fields}


def example_spec() -> TaskSpec:
    return decode_spec(text_format.Parse(block("textproto spec"), spec_pb2.TaskSpec()))


def example_turn() -> Turn:
    """Slot 2 ends and starts again, 0 and 3 go on, 1 is idle."""
    return turn_of(
        example_spec(),
        Phase.EVALUATE,
        ends=rows([2], [EndKind.TRUNCATED], [(1.5, -2.0)], door_open=[True], rewards=[1.0]),
        steps=rows(
            [0, 3],
            [0, ActionFlag.CLIPPED],
            [(0.25, 3.0), (-0.5, 0.0)],
            door_open=[False, True],
            rewards=[-0.25, 0.5],
        ),
        starts=rows([2], [START_SEED], [(0.0, 1.0)], door_open=[False], rewards=[0.0]),
    )


def rows(
    slots: list[int],
    marks: list[int],
    position: list[tuple[float, float]],
    *,
    door_open: list[bool],
    rewards: list[float],
) -> Rows:
    observations = {"position": np.array(position), "door_open": np.array(door_open)}
    return Rows(
        np.array(slots, np.uint32), np.array(marks, np.uint64), observations, np.array(rewards)
    )


def example_actions() -> Actions:
    """Of slots 0, 3 and 2."""
    force = np.array([[0.5, -1.0], [1.0, 0.0], [-0.25, 0.75]], np.float32)
    return Actions({"force": force, "grip": np.array([-1, 1, 0], np.int16)})


def parts(turn: Turn) -> list[object]:
    """All that a turn says, to compare."""
    ends, steps, starts = turn.ends, turn.steps, turn.starts
    marks = [ends.kinds, steps.flags, starts.seeds]
    slots = [ends.slots, steps.slots, starts.slots]
    return [turn.phase, slots, marks, turn.rewards, dict(turn.observations)]
