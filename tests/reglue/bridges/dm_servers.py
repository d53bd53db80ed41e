"""Servers of dm_env_rpc: one that plays a game, and misbehaves where its settings say so.

As a program, `python -m tests.reglue.bridges.dm_servers PORT` serves it until it is killed.
"""

from __future__ import annotations

import math
import sys
import threading
from collections.abc import Callable, Container, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import grpc
import numpy as np
from dm_env_rpc.v1 import dm_env_rpc_pb2 as pb
from dm_env_rpc.v1 import dm_env_rpc_pb2_grpc, tensor_utils
from google.rpc import status_pb2

from reglue.spec import Array

SPECS = pb.ActionObservationSpecs(
    actions={
        3: pb.TensorSpec(
            name="push",
            dtype=pb.DataType.FLOAT,
            shape=[2],
            min={"floats": {"array": [-1.0]}},
            max={"floats": {"array": [1.0, 2.0]}},
        ),
        4: pb.TensorSpec(
            name="gear",
            dtype=pb.DataType.INT8,
            min={"int8s": {"array": b"\xff"}},
            max={"int8s": {"array": b"\x01"}},
        ),
    },
    observations={
        7: pb.TensorSpec(name="place", dtype=pb.DataType.DOUBLE, shape=[3]),
        8: pb.TensorSpec(name="reward", dtype=pb.DataType.DOUBLE),
        9: pb.TensorSpec(name="discount", dtype=pb.DataType.DOUBLE),
        10: pb.TensorSpec(name="ticks", dtype=pb.DataType.UINT8, shape=[2, 2]),
        11: pb.TensorSpec(name="odd", dtype=pb.DataType.BOOL),
    },
)

WORD_SPECS = pb.ActionObservationSpecs(
    actions={**SPECS.actions, 5: pb.TensorSpec(name="say", dtype=pb.DataType.STRING)},
    observations={
        **SPECS.observations,
        12: pb.TensorSpec(name="heard", dtype=pb.DataType.STRING),
    },
)


class Game:
    """A point that is pushed about for `length` steps."""

    def __init__(self, seed: int, length: int) -> None:
        self._rng = np.random.default_rng(seed)
        self.place, self.ticks, self.length = self._rng.normal(size=3), 0, length
        self.reward = 0.0
        self.heard = ""

    def step(self, push: Array, gear: int) -> None:
        """Move."""
        self.place[:2] += 0.1 * np.float64(push) * (gear + 2)
        self.place[2] = math.sin(float(self.place.sum())) + 0.01 * self._rng.normal()
        self.reward = float(self.place[2]) / 3
        self.ticks += 1

    def seen(self) -> dict[int, Any]:
        """Observations, by uid."""
        return {
            7: self.place,
            8: np.float64(self.reward),
            9: np.float64(1.0),
            10: np.full((2, 2), self.ticks, np.uint8),
            11: np.bool_(self.ticks % 2),
            12: self.heard,
        }

    @property
    def state(self) -> int:
        """Every third game is interrupted at its end."""
        if self.ticks < self.length:
            return int(pb.EnvironmentStateType.RUNNING)
        return int(pb.EnvironmentStateType.INTERRUPTED if self.length % 3 == 0 else 2)


@dataclass
class GameServer(dm_env_rpc_pb2_grpc.EnvironmentServicer):  # type: ignore[misc]
    """Its worlds' settings: `length`, `seed`, and `fails`, how; each at the step `fails_at`."""

    specs: Any = field(default_factory=lambda: SPECS)
    failing: Container[int] = range(1, 2)  # the worlds that fail, by number
    together: threading.Barrier | None = None  # of the steps that are answered together
    worlds: dict[str, dict[str, Any]] = field(default_factory=dict)  # that exist, by name
    settings: list[tuple[str, dict[str, Any]]] = field(default_factory=list)  # that were sent
    ended: threading.Event = field(default_factory=threading.Event)
    created: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def Process(self, requests: Iterator[Any], context: Any) -> Iterator[Any]:  # noqa: N802
        """Answer one request after another."""
        visit = _Visit(self, context)
        for request in requests:
            kind = request.WhichOneof("payload")
            try:
                answer = visit.answer(kind, getattr(request, kind))
            except LookupError as refused:
                yield pb.EnvironmentResponse(error=status_pb2.Status(code=3, message=str(refused)))
                continue
            if answer is None:
                return
            yield answer


class _Visit:
    """One connection."""

    def __init__(self, server: GameServer, context: Any) -> None:
        self._server, self._context = server, context
        self._name = ""
        self._game: Game | None = None
        self._games = 0

    def answer(self, kind: str, request: Any) -> Any:
        """The answer to a request; None: end the connection."""
        settings = _unpacked(getattr(request, "settings", {}))
        if hasattr(request, "settings"):
            self._server.settings.append((kind, settings))
        made = getattr(self, f"_{kind}")(request, settings)
        if made is None or isinstance(made, pb.EnvironmentResponse):
            return made
        return pb.EnvironmentResponse(**{kind: made})

    def _create_world(self, request: Any, settings: dict[str, Any]) -> Any:
        if unknown := settings.keys() - {"length", "seed", "fails", "fails_at"}:
            raise LookupError(f"unknown settings {sorted(unknown)}")
        server = self._server
        with server.lock:
            server.created += 1
            number = server.created
        name = f"world {number}"
        if number not in server.failing:
            settings.pop("fails", None)
        server.worlds[name] = settings
        return pb.CreateWorldResponse(world_name=name)

    def _join_world(self, request: Any, settings: dict[str, Any]) -> Any:
        self._world = self._server.worlds[request.world_name]
        self._name = request.world_name
        return pb.JoinWorldResponse(specs=self._server.specs)

    def _reset(self, request: Any, settings: dict[str, Any]) -> Any:
        self._game, self._next_seed = None, settings.get("seed")
        specs = self._server.specs
        if self._world.get("fails") == "specs" and self._games:
            specs = pb.ActionObservationSpecs(actions=specs.actions)
        return pb.ResetResponse(specs=specs)

    def _step(self, request: Any, settings: dict[str, Any]) -> Any:
        game = self._game
        if game is None:
            self._games += 1
            seed = self._next_seed if self._next_seed is not None else self._world.get("seed")
            length = int(self._world.get("length", 5))
            game = self._game = Game(self._games if seed is None else int(seed), length)
        else:
            if self._server.together is not None:
                self._server.together.wait(10)
            push = tensor_utils.unpack_tensor(request.actions[3])
            game.step(push, int(tensor_utils.unpack_tensor(request.actions[4])))
            if 5 in request.actions:
                game.heard = tensor_utils.unpack_tensor(request.actions[5]) * 3
        seen = game.seen()
        answer = pb.StepResponse(
            state=game.state,
            observations={
                uid: tensor_utils.pack_tensor(seen[uid]) for uid in request.requested_observations
            },
        )
        if game.state != pb.EnvironmentStateType.RUNNING:
            self._game = None
        how = self._world.get("fails")
        if how and game.ticks == int(self._world.get("fails_at", 2)):
            return FAILURES[str(how)](self, answer)
        return answer

    def _leave_world(self, request: Any, settings: dict[str, Any]) -> Any:
        self._name = ""
        return pb.LeaveWorldResponse()

    def _destroy_world(self, request: Any, settings: dict[str, Any]) -> Any:
        del self._server.worlds[request.world_name]
        return pb.DestroyWorldResponse()

    # How it fails.

    def leaves(self, answer: Any) -> None:
        """End the stream in order."""

    def breaks(self, answer: Any) -> None:
        """End the stream with a status."""
        self._context.abort(grpc.StatusCode.INTERNAL, "out of luck")

    def hangs(self, answer: Any) -> None:
        """Say nothing until the test ends, or the stream does."""
        self._context.add_callback(self._server.ended.set)
        self._server.ended.wait(60)

    def refuses(self, answer: Any) -> Any:
        """Answer with an error."""
        raise LookupError("the point is lost")

    def shape(self, answer: Any) -> Any:
        """Another shape."""
        answer.observations[7].CopyFrom(tensor_utils.pack_tensor(np.zeros(4)))
        return answer

    def short(self, answer: Any) -> Any:
        """Fewer numbers than the shape says."""
        del answer.observations[7].doubles.array[2:]
        return answer

    def huge(self, answer: Any) -> Any:
        """One number that stands for more than there is memory."""
        answer.observations[7].shape[:] = [2**31 - 1] * 8
        del answer.observations[7].doubles.array[1:]
        return answer

    def dtype(self, answer: Any) -> Any:
        """Another dtype."""
        answer.observations[7].CopyFrom(tensor_utils.pack_tensor(np.zeros(3, np.float32)))
        return answer

    def uid(self, answer: Any) -> Any:
        """An observation that nobody asked for in the place of one."""
        del answer.observations[7]
        answer.observations[77].CopyFrom(tensor_utils.pack_tensor(np.zeros(3)))
        return answer

    def lacks(self, answer: Any) -> Any:
        """An observation less."""
        del answer.observations[10]
        return answer

    def nan(self, answer: Any) -> Any:
        """A reward that is no number."""
        answer.observations[8].doubles.array[:] = [math.nan]
        return answer

    def state(self, answer: Any) -> Any:
        """No state."""
        answer.state = 0
        return answer

    def kind(self, answer: Any) -> Any:
        """The answer to another request."""
        return pb.EnvironmentResponse(leave_world=pb.LeaveWorldResponse())

    def empty(self, answer: Any) -> Any:
        """No answer in the answer."""
        return pb.EnvironmentResponse()

    def specs(self, answer: Any) -> Any:
        """Other specs from its next reset."""
        return answer


FAILURES: Mapping[str, Callable[[_Visit, Any], Any]] = {
    name: getattr(_Visit, name)
    for name in (
        *("leaves", "breaks", "hangs", "refuses", "shape", "short", "huge", "dtype", "uid"),
        *("lacks", "nan", "state", "kind", "empty", "specs"),
    )
}


@contextmanager
def served(servicer: Any, threads: int = 40, at: int = 0) -> Iterator[str]:
    """A server's HOST:PORT, until the block ends; `at` is the port, 0 any."""
    pool = ThreadPoolExecutor(threads)
    server = grpc.server(pool)
    dm_env_rpc_pb2_grpc.add_EnvironmentServicer_to_server(servicer, server)
    port = server.add_secure_port(f"127.0.0.1:{at}", grpc.local_server_credentials())
    server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        if isinstance(servicer, GameServer):
            servicer.ended.set()
        server.stop(0).wait()
        pool.shutdown()


def _unpacked(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tensor_utils.unpack_tensor(value) for name, value in settings.items()}


if __name__ == "__main__":
    with served(GameServer(), at=int(sys.argv[1])) as where:
        print(where, flush=True)
        threading.Event().wait()
