"""dm_env_rpc: the light environment is served, and a client steps it through its adaptor, or
`make_vec` through Reglue's bridge in so many slots.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import grpc
import numpy as np
from dm_env_rpc.v1 import connection, dm_env_adaptor, dm_env_rpc_pb2_grpc, tensor_utils
from dm_env_rpc.v1 import dm_env_rpc_pb2 as pb

from speed.contenders.served_contender import contend
from speed.launches import serve
from speed.light import NUMBERS, Light

OBSERVATION, REWARD, ACTION = 1, 2, 1


def step_by_their_client(address: str) -> None:
    """The client."""
    channel = connection.create_secure_channel_and_connect(address)
    environment, _ = dm_env_adaptor.create_and_join_world(channel, {}, {})
    action = {"action": np.int64(0)}

    def measure(steps: int) -> dict[str, float]:
        """Seconds for so many steps."""
        environment.reset()
        began = time.perf_counter()
        for _ in range(steps):
            environment.step(action)
        return {"seconds": time.perf_counter() - began, "steps": steps}

    serve(measure)
    environment.close()
    channel.close()


@contextmanager
def serving() -> Iterator[str]:
    """The server's address, until the block ends."""
    server = grpc.server(ThreadPoolExecutor(64))  # connections
    dm_env_rpc_pb2_grpc.add_EnvironmentServicer_to_server(Served(), server)
    port = server.add_secure_port("127.0.0.1:0", grpc.local_server_credentials())
    server.start()
    yield f"127.0.0.1:{port}"
    server.stop(None).wait()


class Served(dm_env_rpc_pb2_grpc.EnvironmentServicer):  # type: ignore[misc]
    """One light environment for each stream."""

    def Process(self, requests: Iterator[Any], context: Any) -> Iterator[Any]:  # noqa: N802
        """Answer one request after another."""
        light = Light()
        for request in requests:
            kind = request.WhichOneof("payload")
            yield pb.EnvironmentResponse(**{kind: _answer(light, kind, getattr(request, kind))})


def _answer(light: Light, kind: str, request: Any) -> Any:
    match kind:
        case "step":
            action = request.actions.get(ACTION)
            reward, seen = light.step(int(tensor_utils.unpack_tensor(action)) if action else 0)
            wanted = {OBSERVATION: seen, REWARD: np.float64(reward)}
            return pb.StepResponse(
                state=pb.EnvironmentStateType.RUNNING,
                observations={
                    uid: tensor_utils.pack_tensor(wanted[uid])
                    for uid in request.requested_observations
                },
            )
        case "create_world":
            return pb.CreateWorldResponse(world_name="light")
        case "join_world":
            return pb.JoinWorldResponse(specs=_specs())
        case "reset":
            light.reset()
            return pb.ResetResponse(specs=_specs())
        case "leave_world":
            return pb.LeaveWorldResponse()
        case _:
            raise ValueError(kind)


def _specs() -> Any:
    return pb.ActionObservationSpecs(
        actions={ACTION: pb.TensorSpec(name="action", dtype=pb.DataType.INT64)},
        observations={
            OBSERVATION: pb.TensorSpec(
                name="observation", dtype=pb.DataType.DOUBLE, shape=[NUMBERS]
            ),
            REWARD: pb.TensorSpec(name="reward", dtype=pb.DataType.DOUBLE),
        },
    )


if __name__ == "__main__":
    contend("dm_env_rpc", "dm-env-rpc", client=step_by_their_client, server=serving)
