"""Decoders of a stranger's bytes, each with a few inputs that it accepts.

A target returns, or raises one of ALLOWED: whatever else it raises is a mistake of ours.
"""

from __future__ import annotations

import json
import random
import socket
import struct
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError, Message

from reglue.bridges.dm_env_rpc.tensor_messages import (
    WireTensor,
    WireText,
    pb,
    setting_value,
    wire_of,
)
from reglue.bridges.openenv.json_fields import Fields
from reglue.bridges.openenv.web_socket import json_object
from reglue.bridges.rl_glue.abstract_types import RowLayout
from reglue.bridges.rl_glue.legacy_frames import Code, Connection, text_bytes, text_of
from reglue.errors import ReglueError, TranscriptDamaged
from reglue.messages.agent_messages import (
    Actions,
    AgentInit,
    EndKind,
    Ends,
    Numbered,
    Phase,
    Starts,
    Steps,
    Turn,
)
from reglue.messages.environment_messages import (
    Cell,
    EnvironmentInit,
    EnvironmentReady,
    Play,
    Played,
)
from reglue.messages.experiment_messages import (
    Counts,
    ExperimentCall,
    RLAgentEnd,
    RLCounts,
    RLEnvStep,
    RLInit,
    RLStart,
    RLStep,
    Started,
    Stepped,
)
from reglue.net.join_string import join_string
from reglue.net.unix_socket import UnixSocket, UnixSocketEnded
from reglue.spec import Arrays, Box, Discrete, MultiDiscrete, TaskSpec, TensorSpec
from reglue.task_spec_string import task_spec_from_string
from reglue.texts import Text
from reglue.v1 import agent_pb2, environment_pb2, experiment_pb2
from reglue.wire.agent_encoding import decode_call, decode_reply, encode_call, encode_reply
from reglue.wire.environment_encoding import (
    decode_environment_call,
    decode_environment_reply,
    encode_environment_call,
    encode_environment_reply,
)
from reglue.wire.experiment_encoding import (
    decode_answer,
    decode_experiment_call,
    encode_answer,
    encode_experiment_call,
)
from reglue.wire.spec_encoding import spec_from_bytes, spec_to_bytes
from reglue_bench.benchmark.benchmark_file import FileSource
from reglue_bench.settings import read_settings
from reglue_competition.transcript.contents import Episode, Header, Score, read_content
from reglue_competition.transcript.framing import MAGIC, Kind, Place, first_chain, write_record
from reglue_competition.transcript.transcript_reader import Transcript
from tests.fuzz.fuzz_verification import mutated_contents, transcripts, verify_contents
from tests.fuzz.mutations import MOST_BYTES, mutated

ALLOWED = (ReglueError, DecodeError, UnixSocketEnded)

SPEC = TaskSpec(
    (TensorSpec("seen", "float32", (2,)), TensorSpec("kind", "uint8", (), Discrete(3))),
    (TensorSpec("done", "int8", (2,), MultiDiscrete((2, 3))), TensorSpec("by", "float64")),
    slots=3,
)
_SEEN: Arrays = {"seen": np.zeros((3, 2), np.float32), "kind": np.zeros(3, np.uint8)}
_DONE: Arrays = {"done": np.zeros((2, 2), np.int8), "by": np.zeros(2)}
_TURN = Turn(
    Phase.TRAIN,
    Ends(np.array([0], np.uint32), np.array([EndKind.VOID], np.uint8)),
    Steps(np.array([1], np.uint32), np.array([2], np.uint8)),
    Starts(np.array([2], np.uint32), np.array([2**64 - 1], np.uint64)),
    np.array([1.0, 2.0]),
    _SEEN,
)
_PLAY = Play(np.array([0, 1], np.uint32), _DONE, {2: Cell("walk", 1, 7, 0, Phase.EVALUATE)})
_NO = np.zeros(2, np.bool_)
_PLAYED = Played(np.zeros(2), _SEEN, _NO, _NO, _NO, {1: "it fell"})
_READY = EnvironmentReady(SPEC, {"walk": 3, "run": 1}, tells_success=False)
_TWO: Arrays = {name: rows[:2] for name, rows in _SEEN.items()}
_AUTHORITY = (  # a certificate's, until 2049
    b"MIHbMIGOoAMCAQICAQEwBQYDK2VwMA0xCzAJBgNVBAMMAmNhMB4XDTAwMDEwMTAwMDAwMFoXDTQ5MDEwMTAwMDAw"
    b"MFowDTELMAkGA1UEAwwCY2EwKjAFBgMrZXADIQCpJFT7XzdbcBwSvT9VFNxFYlIjlJQD62HG55SoT6s2G6MTMBEw"
    b"DwYDVR0TAQH_BAUwAwEB_zAFBgMrZXADQQC55NHsR8ZaZ7ffJ8eAV1DzdLIrSvL_jmjhBhpzmsvGCtPOjVBI5xdY"
    b"wsclVOrgZRA5rRd78Cc0Nu2XZD5coQwF"
)
_KEY = "0" * 64
_HEADER = b"".join(
    (
        b'{"competition":"cup","phase":"p","submission":"s","draw":0,"team":"t","agent":"a","index":0,',
        f'"public_key":"{_KEY}","cell_key":"","start_key":"{_KEY}",'.encode(),
        b'"benchmark":"MT1:reach-v3","plan":"{}","spec":"","code":"","versions":{"numpy":"2"},"limits":{}}',
    )
)
_EPISODE_JSON = (
    b'{"unit":0,"try":0,"k":0,"cell":{"task":"t","variant":0,"seed":1,"repeat":0,'
    b'"phase":"evaluate","start_seed":2,"steps_before":0,"max_steps":0},"status":"ok",'
    b'"success":false,"first_success":0,"return":1.5,"steps":2,"clipped":0,"detail":"","action_bytes":8,'
    b'"reward_bytes":16}'
)
_EPISODE = len(_EPISODE_JSON).to_bytes(4, "little") + _EPISODE_JSON + bytes(24)
_SCORE = (
    b'{"episodes":1,"result":{"benchmark":"b","procedure":"evaluate","parameters":{},"seed":0,'
    b'"slots":1,"plan_sha256":"0","goals_sha256":"0","agent":{"name":"a","label":"a"},'
    b'"privileged":[],"complete":true,"score":{"kind":"return","mean_return":1.5,'
    b'"intervals95":null,"returns_per_task":{"t":1.5},"success":null},"coverage":{"cells_planned":1,'
    b'"cells_completed":1,"goals_planned":1,"goals_total":1},"status_counts":{"ok":1},'
    b'"clipped_steps":0,"steps":{"counted":2,"executed":2},"seconds":{"wall":1.0,"agent":0.5,'
    b'"environment":0.5,"glue":0.0},"versions":{}}}'
)


_OPENENV = {
    "type": "object",
    "$defs": {"Mood": {"enum": ["glad", 7, None]}},
    "properties": {
        "x": {"anyOf": [{"type": "number"}, {"type": "null"}]},
        "grid": {
            "type": "array",
            "items": {
                "type": "array",
                "items": {"type": "integer", "minimum": -9, "exclusiveMaximum": 10},
                "minItems": 1,
                "maxItems": 1,
            },
            "minItems": 2,
            "maxItems": 2,
        },
        "mood": {"$ref": "#/$defs/Mood"},
        "legs": {
            "type": "array",
            "prefixItems": [{"type": "boolean"}, {"type": "string", "maxLength": 3}],
            "minItems": 2,
            "maxItems": 2,
        },
    },
}


def _transcript_bytes() -> bytes:
    draft, chain = BytesIO(), first_chain()
    draft.write(MAGIC)
    for kind, content in zip(Kind, (_HEADER, _EPISODE, _SCORE), strict=True):
        chain = write_record(draft, kind, content, chain)
    return draft.getvalue() + bytes(64)


@dataclass(frozen=True)
class Target:
    """One reader, and what it takes."""

    read: Callable[[bytes], object]
    known: tuple[bytes, ...] | Callable[[], tuple[bytes, ...]]
    mutate: Callable[[random.Random, Sequence[bytes]], bytes] = mutated
    most_bytes: int = MOST_BYTES  # of an input
    most_memory: int = 1 << 23  # bytes, for such inputs

    @property
    def seeds(self) -> tuple[bytes, ...]:
        """Inputs that it accepts as they are."""
        return self.known() if callable(self.known) else self.known


def _serialised(*messages: Message) -> tuple[bytes, ...]:
    return tuple(message.SerializeToString() for message in messages)


def _experiment_answer(data: bytes) -> None:
    """As the answer to each of four calls: it is one to one of them at most."""
    message = experiment_pb2.ExperimentReply.FromString(data)
    calls: tuple[ExperimentCall, ...] = (RLInit(3, 0), RLStart(), RLStep(), RLCounts(0))
    refused: list[ReglueError] = []
    for call in calls:
        try:
            decode_answer(message, call, SPEC)
        except ReglueError as error:
            refused.append(error)
    if len(refused) == len(calls):
        raise refused[-1]


def _frames(data: bytes) -> None:
    """As they come over a Unix socket whose other end then closes."""
    ours, theirs = socket.socketpair()
    with closing(UnixSocket(ours, 1024)) as unix_socket:
        with theirs:
            theirs.sendall(data)
            while unix_socket.receive(0.0) is not None:
                pass
        with suppress(UnixSocketEnded):
            unix_socket.receive(0.0)


def _openenv_schemas(data: bytes) -> None:
    """As an OpenEnv server publishes them."""
    for kind in ("action", "observation"):
        Fields(kind, json_object("schemas", data).get(kind), {}, ())


def _openenv_answer(data: bytes) -> None:
    """Read an observation of an OpenEnv server, and write it again."""
    fields = Fields("observation", _OPENENV, {}, ())
    columns = {spec.name: spec.empty(1) for spec in fields.specs}
    fields.read(json_object("an answer", data), columns, 0)
    fields.write(columns, 0)


def _legacy_frames(data: bytes) -> None:
    """As a legacy program sends them before it leaves: each is numbers, or else a text."""
    ours, theirs = socket.socketpair()
    layout = RowLayout(SPEC.observations)
    with closing(Connection(ours)) as connection, suppress(EOFError, ConnectionError):
        with theirs:
            theirs.sendall(data)
        while True:
            code, content = connection.receive(1024, 1.0)
            if code == Code.ENV_START:
                layout.decode([content])
            else:
                text_of(content)


_STRING = WireText(len(SPEC.observations) + len(SPEC.actions), Text("string", 8))


def _dm_env_rpc_specs(data: bytes) -> None:
    """As a server tells them."""
    specs = pb.ActionObservationSpecs.FromString(data)
    for kind, tensors in (("action", specs.actions), ("observation", specs.observations)):
        for uid, tensor in tensors.items():
            wire_of(kind, uid, tensor, 8)


def _dm_env_rpc_tensors(data: bytes) -> None:
    """As a server answers a step, or a client acts."""
    step = pb.StepRequest.FromString(data)
    for uid, tensor in enumerate((*SPEC.observations, *SPEC.actions)):
        WireTensor(uid, tensor).read(step.actions[uid])
    _STRING.read(step.actions[_STRING.uid])


def _dm_env_rpc_step() -> Any:
    step = pb.StepRequest()
    arrays = {**_SEEN, **_DONE}
    for uid, tensor in enumerate((*SPEC.observations, *SPEC.actions)):
        WireTensor(uid, tensor).write(step.actions[uid], arrays[tensor.name][0])
    _STRING.write(step.actions[_STRING.uid], _STRING.spec.encode("words"))
    return step


def _dm_env_rpc_specs_of(spec: TaskSpec) -> Any:
    actions, observations = (
        {uid: WireTensor(uid, tensor).spec_message() for uid, tensor in enumerate(tensors)}
        for tensors in (spec.actions, spec.observations)
    )
    return pb.ActionObservationSpecs(actions=actions, observations=observations)


def _benchmark_file(data: bytes) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, "benchmark.toml")
        path.write_bytes(data)
        FileSource.read(path, read_settings(benchmark=str(path), agent="random"))


def _transcript(data: bytes) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, "run.reglue")
        path.write_bytes(data)
        try:
            Transcript(path).close()
        except TranscriptDamaged as error:  # the folder's name is another each time
            raise TranscriptDamaged(str(error).removeprefix(f"{path}: ")) from error


def _transcript_content(data: bytes) -> None:
    """The content of a record whose chain fits; its first byte is the record's kind."""
    place = Place(1, 8)
    match data[:1]:
        case b"\1":
            read_content(Header, data[1:], place)
        case b"\2":
            Episode.from_bytes(data[1:], place)
        case _:
            read_content(Score, data[1:], place)


def _words(data: bytes) -> str:
    return data.decode("utf-8", "replace")


TARGETS: Mapping[str, Target] = {
    "agent_call": Target(
        lambda data: decode_call(agent_pb2.AgentCall.FromString(data), SPEC),
        _serialised(
            encode_call(Numbered(1, _TURN), SPEC), encode_call(Numbered(2, AgentInit(SPEC)), None)
        ),
    ),
    "agent_reply": Target(
        lambda data: decode_reply(agent_pb2.AgentReply.FromString(data), SPEC, 2),
        _serialised(encode_reply(1, Actions(_DONE, (1,)), SPEC)),
    ),
    "environment_call": Target(
        lambda data: decode_environment_call(
            environment_pb2.EnvironmentCall.FromString(data), SPEC
        ),
        _serialised(
            encode_environment_call(1, _PLAY, SPEC),
            encode_environment_call(2, EnvironmentInit(3), None),
        ),
    ),
    "environment_reply": Target(
        lambda data: decode_environment_reply(
            environment_pb2.EnvironmentReply.FromString(data), _PLAY, SPEC
        ),
        _serialised(
            encode_environment_reply(1, _PLAYED, SPEC), encode_environment_reply(2, _READY, None)
        ),
    ),
    "experiment_call": Target(
        lambda data: decode_experiment_call(experiment_pb2.ExperimentCall.FromString(data), SPEC),
        _serialised(
            encode_experiment_call(1, RLInit(3, 7, "walk"), None),
            encode_experiment_call(2, RLStep((0, 2)), SPEC),
            encode_experiment_call(3, RLEnvStep((0, 1), _DONE), SPEC),
            encode_experiment_call(4, RLAgentEnd((0, 1), np.zeros(2), _TWO, True), SPEC),
        ),
    ),
    "experiment_answer": Target(
        _experiment_answer,
        _serialised(
            encode_answer(1, SPEC, None),
            encode_answer(2, Started((0, 1), _TWO, _DONE), SPEC),
            encode_answer(3, Stepped((0, 1), np.zeros(2), _TWO, _NO, _NO, _NO, _DONE), SPEC),
            encode_answer(4, Counts(1.5, 7, 2), SPEC),
        ),
    ),
    "spec": Target(
        spec_from_bytes,
        (
            spec_to_bytes(SPEC),
            spec_to_bytes(
                TaskSpec(
                    (TensorSpec("x", "float64", (2, 3), Box((0.0,), (1.0,) * 6)),),
                    (TensorSpec("a", "int64", (), Discrete(4, -2)),),
                )
            ),
        ),
    ),
    "frames": Target(_frames, (b"\x02\0\0\0hi\x00\0\0\0", b"\xff\x03\0\0" + b"x" * 1023)),
    "openenv_schemas": Target(
        _openenv_schemas,
        (json.dumps({"action": _OPENENV, "observation": _OPENENV}).encode(),),
    ),
    "openenv_answer": Target(
        _openenv_answer,
        (
            b'{"x": 1.5, "grid": [[1], [-2]], "mood": "glad", "legs": [true, "a"]}',
            b'{"x": null, "grid": [[0], [9]], "mood": 7, "legs": [false, "\xc3\xa4bc"]}',
        ),
    ),
    "legacy_frames": Target(
        _legacy_frames,
        (
            struct.pack("!ii", 12, 32) + RowLayout(SPEC.observations).encode(_SEEN, 1)[0],
            struct.pack("!ii", 10, 9) + text_bytes("hello") + struct.pack("!ii", 35, 4) + bytes(4),
        ),
    ),
    "dm_env_rpc_specs": Target(_dm_env_rpc_specs, _serialised(_dm_env_rpc_specs_of(SPEC))),
    "dm_env_rpc_tensors": Target(_dm_env_rpc_tensors, _serialised(_dm_env_rpc_step())),
    "dm_env_rpc_setting": Target(
        lambda data: setting_value("seed", pb.Tensor.FromString(data)),
        _serialised(pb.Tensor(int64s={"array": [5]}), pb.Tensor(uint8s={"array": b"\5"})),
    ),
    "join_string": Target(
        lambda data: join_string(_words(data) or "?"),
        (
            b"reglue://hub:4096?token=t",
            b"reglue://[::1]:80?ca=" + _AUTHORITY + b"&name=hub&token=a%20b",
            b"hub:80",
        ),
    ),
    "benchmark_file": Target(
        _benchmark_file,
        (
            b'procedure = "multi-task"\nenvironment = "cart-pole"\nhorizon = 10\n'
            b'[tasks.easy]\nvariants = { train = "0-3", test = [4, "5-9"] }\n'
            b"[environment_args]\nsize = 8\n",
        ),
    ),
    "transcript": Target(_transcript, (_transcript_bytes(),)),
    "transcript_content": Target(
        _transcript_content, (b"\1" + _HEADER, b"\2" + _EPISODE, b"\3" + _SCORE)
    ),
    "verification": Target(
        verify_contents, transcripts, mutated_contents, most_bytes=1 << 14, most_memory=1 << 26
    ),
    "task_spec_string": Target(
        lambda data: task_spec_from_string(_words(data)),
        (
            b"VERSION RL-Glue-3.0 PROBLEMTYPE episodic DISCOUNTFACTOR 0.9 "
            b"OBSERVATIONS INTS (3 0 1) "
            b"DOUBLES (NEGINF POSINF) CHARCOUNT 2 "
            b"ACTIONS DOUBLES (-1 1) REWARDS (-1 UNSPEC) EXTRA x",
        ),
    ),
}
"""By name, which is that of its folder in the corpus."""
