"""Serves training episodes to dm_env_rpc's clients: each world is an environment of its own.

One connection at a time is joined to a world. Source: dm_env_rpc 1.1.7 and its compliance suite.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np

from reglue.bridges.dm_env_rpc.tensor_messages import (
    DISCOUNT,
    MESSAGE_BYTES,
    REWARD,
    Wire,
    WireTensor,
    WireText,
    dm_env_rpc_pb2_grpc,
    grpc,
    pb,
    setting_value,
    status_pb2,
)
from reglue.error_message import error_text, printable
from reglue.errors import BadArgument, EnvironmentFault, ReglueError, SpecError, UsageError
from reglue.spec import Array, Box, TaskSpec, TensorSpec
from reglue.texts import Text, action_texts, observation_texts
from reglue.tracebacks import explained

log = logging.getLogger("reglue")

SEED = "seed"
"""The only setting of create_world."""

_INVALID_ARGUMENT, _INTERNAL = 3, 13  # of google.rpc.Code


class TrainingEnv(Protocol):
    """The methods of `reglue.make`'s environments that a world uses."""

    task_spec: TaskSpec

    def reset(self, *, seed: int | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin the next episode."""

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take a step."""

    def close(self) -> None:
        """Release it."""


class WorldService(dm_env_rpc_pb2_grpc.EnvironmentServicer):  # type: ignore[misc]
    """Answers the requests of all connections."""

    def __init__(self, make: Callable[[], TrainingEnv], spec: TaskSpec, most: int) -> None:
        """`make` makes an environment of `spec`; at most `most` worlds exist at a time.

        Raises UsageError for a spec that dm_env_rpc cannot express.
        """
        self.tensors = _Tensors(spec)
        self._make, self._most = make, most
        self._lock = threading.Lock()  # guards the worlds, and which of them are joined
        self._worlds: dict[str, _World] = {}
        self._created = 0  # so far

    def Process(self, requests: Iterator[Any], context: Any) -> Iterator[Any]:  # noqa: N802
        """Answer one request of a connection after another; destroy its worlds when it ends."""
        visit = _Visit(self)
        try:
            for request in requests:
                yield visit.answer(request)
        finally:
            visit.end()

    def create(self, settings: Mapping[str, Any]) -> str:
        """A new world's name. Raises UsageError."""
        for name in settings:
            if name != SEED:
                raise BadArgument(got=f"the setting {name!r}", wanted=SEED)
        with self._lock:
            if len(self._worlds) >= self._most:
                raise UsageError(got="one more world", wanted=f"at most {self._most} at a time")
            number = self._created
            self._created += 1
            seed = setting_value(SEED, settings[SEED]) if settings else number
            self._worlds[f"world-{number}"] = _World(self._make, self.tensors, seed)
        return f"world-{number}"

    def join(self, name: str) -> _World:
        """Join the world: no other connection can join it now. Raises UsageError."""
        with self._lock:
            world = self.world(name)
            if world.is_joined:
                raise UsageError(got=f"{name!r}, which is joined", wanted="one that is not joined")
            world.is_joined = True
        return world

    def destroy(self, name: str) -> None:
        """Forget the world. Raises UsageError."""
        with self._lock:
            world = self.world(name)
            if world.is_joined:
                raise UsageError(got=f"{name!r}, which is joined", wanted="leave_world first")
            del self._worlds[name]
        world.close()

    def world(self, name: str) -> _World:
        """The world of this name. Raises UsageError."""
        if name not in self._worlds:
            raise BadArgument(got=f"the world {printable(name[:80])!r}", wanted="an existing world")
        return self._worlds[name]


class _Visit:
    """Answers the requests of one connection, and keeps the worlds that it created."""

    def __init__(self, service: WorldService) -> None:
        self._service = service
        self._created: set[str] = set()
        self._world: _World | None = None  # that it is joined to

    def answer(self, request: Any) -> Any:
        """The answer to a request, or an error."""
        kind = request.WhichOneof("payload")
        try:
            routine = getattr(self, f"_{kind}", None)
            if routine is None:
                raise BadArgument(got=f"the request {kind}", wanted="a request of dm_env_rpc 1.1")
            return pb.EnvironmentResponse(**{kind: routine(getattr(request, kind))})
        except UsageError as error:
            return _refusal(_INVALID_ARGUMENT, str(error))
        except ReglueError as error:
            return _refusal(_INTERNAL, str(error))
        except Exception as error:  # noqa: BLE001 - a user's environment raised it
            log.error("a world failed: %s", explained(error))
            return _refusal(_INTERNAL, error_text(error))

    def end(self) -> None:
        """Leave, and destroy its worlds unless others are joined to them."""
        self._leave_world(None)
        for name in self._created:
            try:
                self._service.destroy(name)
            except UsageError:
                log.debug("%s is not destroyed with its connection", name)

    def _create_world(self, request: Any) -> Any:
        name = self._service.create(request.settings)
        self._created.add(name)
        return pb.CreateWorldResponse(world_name=name)

    def _join_world(self, request: Any) -> Any:
        _refuse_settings(request)
        if self._world is not None:
            raise UsageError(got="join_world while joined", wanted="leave_world first")
        world = self._service.join(request.world_name)
        try:
            world.open()
        except BaseException:
            world.is_joined = False
            raise
        self._world = world
        return pb.JoinWorldResponse(specs=self._service.tensors.message)

    def _reset(self, request: Any) -> Any:
        _refuse_settings(request)
        self._joined("reset").begins = True
        return pb.ResetResponse(specs=self._service.tensors.message)

    def _reset_world(self, request: Any) -> Any:
        _refuse_settings(request)
        self._service.world(request.world_name).begins = True
        return pb.ResetWorldResponse()

    def _step(self, request: Any) -> Any:
        return self._joined("step").step(request)

    def _leave_world(self, _: Any) -> Any:
        world, self._world = self._world, None
        if world is not None:
            world.is_joined = False
        return pb.LeaveWorldResponse()

    def _destroy_world(self, request: Any) -> Any:
        self._service.destroy(request.world_name)
        self._created.discard(request.world_name)
        return pb.DestroyWorldResponse()

    def _joined(self, routine: str) -> _World:
        if self._world is None:
            raise UsageError(got=f"{routine} without a world", wanted="join_world first")
        return self._world


class _World:
    """One environment, made when it is first joined."""

    def __init__(self, make: Callable[[], TrainingEnv], tensors: _Tensors, seed: int) -> None:
        self.is_joined = False
        self.begins = True  # the next step begins an episode
        self._make, self._tensors = make, tensors
        self._seed: int | None = seed  # of the first reset
        self._env: TrainingEnv | None = None

    def open(self) -> TrainingEnv:
        """Its environment. Raises ReglueError."""
        if self._env is None:
            self._env, self.begins = self._make(), True
        return self._env

    def step(self, request: Any) -> Any:
        """A StepResponse; the first of an episode ignores actions. Raises ReglueError."""
        tensors = self._tensors
        uids = tensors.requested(request)
        begins, state, discount = self.begins, "RUNNING", 1.0
        action = {} if begins else tensors.actions(request)
        try:
            if begins:
                (seen, _), reward = self.open().reset(seed=self._seed), 0.0
                self._seed, self.begins = None, False
            else:
                seen, reward, terminated, truncated, _ = self.open().step(tensors.value(action))
                if terminated or truncated:
                    self.begins = True
                    state = "TERMINATED" if terminated else "INTERRUPTED"
                    discount = 0.0 if terminated else 1.0
        except EnvironmentFault:
            self.close()  # the next step makes another one
            raise
        answer = pb.StepResponse(state=pb.EnvironmentStateType.Value(state))
        values = tensors.observation(seen, reward, discount)
        for uid in uids:
            tensors.observations[uid].write(answer.observations[uid], values[uid])
        return answer

    def close(self) -> None:
        """Close the environment."""
        env, self._env, self.begins = self._env, None, True
        if env is not None:
            env.close()


class _Tensors:
    """A benchmark's specs in dm_env_rpc's form: by uid, with reward and discount."""

    def __init__(self, spec: TaskSpec) -> None:
        if taken := [each.name for each in spec.observations if each.name in (REWARD, DISCOUNT)]:
            wanted = "another name: in dm_env_rpc this is the reward or the discount"
            raise SpecError(got=f"an observation called {taken[0]!r}", wanted=wanted)
        told = (
            TensorSpec(REWARD, "float64"),
            TensorSpec(DISCOUNT, "float64", (), Box((0.0,), (1.0,))),
        )
        self.observations = _by_uid((*spec.observations, *told), observation_texts(spec))
        self._actions = _by_uid(spec.actions, action_texts(spec))
        self._defaults = {each.spec.name: each.default for each in self._actions.values()}
        self.message = pb.ActionObservationSpecs(
            actions={uid: each.spec_message() for uid, each in self._actions.items()},
            observations={uid: each.spec_message() for uid, each in self.observations.items()},
        )

    def requested(self, request: Any) -> set[int]:
        """The uids of the observations that are requested. Raises BadArgument."""
        uids = set(request.requested_observations)
        if unknown := uids - self.observations.keys():
            wanted = f"one of {[*self.observations]}"
            raise BadArgument(got=f"the observation uid {min(unknown)}", wanted=wanted)
        return uids

    def actions(self, request: Any) -> dict[str, Array]:
        """The actions of a request, by name. One that was not sent is zero, or the legal value
        nearest to zero; of texts one of the shortest.

        Raises BadArgument, BadReply.
        """
        named = dict(self._defaults)
        for uid, message in request.actions.items():
            if uid not in self._actions:
                wanted = f"one of {[*self._actions]}"
                raise BadArgument(got=f"the action uid {uid}", wanted=wanted)
            wire = self._actions[uid]
            value, limits = wire.read(message), wire.spec.limits
            if limits is not None and not ((value >= limits[0]) & (value <= limits[1])).all():
                got = f"the action {wire.spec.name!r} outside of its bounds"
                raise BadArgument(got=got, wanted=wire.spec.domain)
            named[wire.spec.name] = value
        return named

    def value(self, named: Mapping[str, Array]) -> Any:
        """Actions in the form that an environment of `reglue.make` takes."""
        return next(iter(named.values())) if len(named) == 1 else named

    def observation(self, seen: Any, reward: float, discount: float) -> dict[int, Array]:
        """The observations of an environment of `reglue.make`, with reward and discount, by uid."""
        *own, _, _ = self.observations.values()
        values = [seen[each.spec.name] for each in own] if isinstance(seen, dict) else [seen]
        told = (*values, reward, discount)
        return {uid: np.asarray(each) for uid, each in zip(self.observations, told, strict=True)}


@contextmanager
def serving(service: WorldService, listen: str, most: int) -> Iterator[str]:
    """Serve at `listen`, HOST:PORT, until the block ends. Yields the address, with the port used.

    At most `most` connections are served at a time. Raises UsageError.
    """
    host, _, port = listen.rpartition(":")
    if not host or not port.isdecimal() or int(port) >= 2**16:  # gRPC would use a part of it
        raise BadArgument("listen", got=repr(listen), wanted="HOST:PORT, the port below 65536")
    pool = ThreadPoolExecutor(most, "dm_env_rpc connection")
    options = [*MESSAGE_BYTES, ("grpc.so_reuseport", 0)]
    server = grpc.server(pool, options=options, maximum_concurrent_rpcs=most)
    dm_env_rpc_pb2_grpc.add_EnvironmentServicer_to_server(service, server)
    try:
        try:
            bound = server.add_insecure_port(listen)
        except RuntimeError as error:
            raise UsageError(f"cannot listen at {listen}: {error}") from error
        server.start()
        yield f"{host}:{bound}"
    finally:
        server.stop(0).wait()
        pool.shutdown()


def _by_uid(tensors: Sequence[TensorSpec], texts: Mapping[str, Text]) -> dict[int, Wire]:
    """Tensors, of which those with a name of `texts` are texts."""
    return {
        uid: WireText(uid, texts[each.name]) if each.name in texts else WireTensor(uid, each)
        for uid, each in enumerate(tensors, 1)
    }


def _refuse_settings(request: Any) -> None:
    if request.settings:
        raise BadArgument(got=f"the setting {min(request.settings)!r}", wanted="no settings")


def _refusal(code: int, message: str) -> Any:
    return pb.EnvironmentResponse(error=status_pb2.Status(code=code, message=message))
