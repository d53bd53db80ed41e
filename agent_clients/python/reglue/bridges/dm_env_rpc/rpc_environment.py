"""A dm_env_rpc server as an environment: each slot has a stream and a world."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from reglue.bridges.dm_env_rpc.tensor_messages import (
    DISCOUNT,
    MESSAGE_BYTES,
    REWARD,
    WireText,
    dm_env_rpc_pb2_grpc,
    grpc,
    pb,
    settings_of,
    wire_of,
)
from reglue.bridges.dm_env_rpc.world_stream import AnswerWatch, WorldStream
from reglue.bridges.server_worlds import ServerWorlds, Talk, Wait
from reglue.error_message import brief
from reglue.errors import BadArgument, EnvironmentFault, UsageError
from reglue.messages.environment_messages import Cell, Played
from reglue.spec import Arrays, Box, TaskSpec, TensorSpec
from reglue.texts import MOST_CHARACTERS

SEEDED = ("reset", "create")
"""The requests that may take an episode's seed."""

_OPTIONS = [
    *MESSAGE_BYTES,
    # Between tries to reach a server that has left; gRPC's own wait grows to two minutes.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1000),
]
_RUNNING, _TERMINATED, _INTERRUPTED = (
    pb.EnvironmentStateType.Value(name) for name in ("RUNNING", "TERMINATED", "INTERRUPTED")
)


class DmEnvRpc(ServerWorlds):
    """The worlds of a dm_env_rpc server.

    The observation `reward` is the reward; without one, rewards are 0. `discount` is omitted.
    TERMINATED ends an episode, INTERRUPTED truncates it. The environment is repeatable if the
    server takes a seed for each episode as a setting. It raises EnvironmentLost if a server that
    has answered before answers nothing on a new connection.
    """

    def __init__(
        self,
        address: str,
        *,
        seed_setting: str = "",
        seed_at: str = "reset",
        join_settings: Mapping[str, Any] | None = None,
        reset_settings: Mapping[str, Any] | None = None,
        most_characters: int = MOST_CHARACTERS,
        answer_timeout_s: float = 60.0,
        **settings: Any,
    ) -> None:
        """`settings` are those of create_world.

        Args:
            address: HOST:PORT.
            seed_setting: The name of the setting that takes an episode's seed, 0 to 2**31 - 1.
            seed_at: The request that takes it: `reset`, or `create` for a new world each episode.
            join_settings: Settings of join_world.
            reset_settings: Settings of reset.
            most_characters: The length of the longest string: dm_env_rpc tells none.
            answer_timeout_s: How long the server may take for its answers to a turn.

        Raises BadArgument.
        """
        if seed_at not in SEEDED:
            raise BadArgument(got=f"seed_at {seed_at!r}", wanted=" or ".join(SEEDED))
        if type(most_characters) is not int or most_characters < 1:
            got = f"most_characters {brief(most_characters)}"
            raise BadArgument(got=got, wanted="an integer of 1 or more")
        super().__init__(f"the dm_env_rpc server at {address}", answer_timeout_s)
        self._address = address
        self._seed_setting, self._seed_at = seed_setting, seed_at
        self._most_characters = most_characters
        self._create = settings_of("the setting", settings)
        self._join = settings_of("the setting of join_settings", join_settings or {})
        self._reset = settings_of("the setting of reset_settings", reset_settings or {})
        self.repeatable = bool(seed_setting)
        self._specs: Any = None  # the first that the server sent
        self._close: Callable[[], None] = lambda: None

    @property
    def variants(self) -> Mapping[str, int]:
        """One task, `dm_env_rpc`."""
        return {"dm_env_rpc": 1}

    def env_init(self, slots: int) -> TaskSpec:
        """Create and join a world for each slot. Raises EnvironmentFault, UsageError."""
        self.env_cleanup()
        channel = grpc.insecure_channel(self._address, options=_OPTIONS)
        self._open_stream = dm_env_rpc_pb2_grpc.EnvironmentStub(channel).Process
        self._watch = AnswerWatch()
        self._specs = None

        def close() -> None:
            self._watch.close()
            channel.close()

        self._close = close
        try:
            self._join_all(slots)
        except EnvironmentFault as error:
            self.env_cleanup()
            more = "; it may serve fewer connections at once than slots" * (slots > 1)
            raise EnvironmentFault(f"{error}{more}") from None
        except BaseException:
            self.env_cleanup()
            raise
        return self._task

    def env_cleanup(self) -> None:
        """Leave and destroy the worlds that answer."""
        close, self._close = self._close, lambda: None
        try:
            self._leave_all()
        finally:
            close()

    def _open(self, slot: int) -> WorldStream:
        answers_before = self._specs is not None or self.is_replacement
        return WorldStream(self._open_stream, self._watch, is_patient=answers_before)

    def _wait(self, timeout_s: float) -> Wait:
        self._watch.begin(timeout_s)
        return super()._wait(timeout_s)

    # The exchanges of one slot.

    def _joining(self, slot: int, seed: Mapping[str, Any] | None = None) -> Talk:
        """Create a world, and join it; `seed` is a setting."""
        stream = self._stream(slot)
        settings = {**self._create, **(seed or {})}
        (created,) = yield [pb.CreateWorldRequest(settings=settings)]
        stream.world, stream.has_failed = created.world_name, False
        (joined,) = yield [pb.JoinWorldRequest(world_name=created.world_name, settings=self._join)]
        if self._specs is None:
            self._read_specs(joined.specs)
        self._check_specs(joined.specs)

    def _starting(self, slot: int, cell: Cell, row: int, answer: Played) -> Talk:
        drawn = {self._seed_setting: self._seed(cell)} if self._seed_setting else {}
        seed = settings_of("the seed", drawn)
        stream, in_reset = self._stream(slot), seed if self._seed_at == "reset" else {}
        if stream.has_failed or (seed and not in_reset):
            yield from self._leaving(slot)
        if not stream.world:
            yield from self._joining(slot, seed if not in_reset else None)
        begun, step = yield [
            pb.ResetRequest(settings={**self._reset, **in_reset}),
            pb.StepRequest(requested_observations=self._seen_uids),
        ]
        self._check_specs(begun.specs)
        self._read(step, self._seen_uids, row, answer)
        if step.state != _RUNNING:
            raise EnvironmentFault(got=_state(step.state), wanted="RUNNING after a reset")

    def _stepping(self, slot: int, row: int, actions: Arrays, answer: Played) -> Talk:
        request = pb.StepRequest(requested_observations=self._uids)
        for each in self._actions:
            each.write(request.actions[each.uid], actions[each.spec.name][row])
        (step,) = yield [request]
        self._read(step, self._uids, row, answer)
        if step.state not in (_RUNNING, _TERMINATED, _INTERRUPTED):
            wanted = "RUNNING, TERMINATED or INTERRUPTED"
            raise EnvironmentFault(got=_state(step.state), wanted=wanted)
        if self._reward is not None:
            reward = float(self._reward.read(step.observations[self._reward.uid]).item())
            if not math.isfinite(reward):
                raise EnvironmentFault("reward", got=f"{reward}", wanted="a finite number")
            answer.rewards[row] = reward
        answer.terminated[row] = step.state == _TERMINATED
        answer.truncated[row] = step.state == _INTERRUPTED

    def _leaving(self, slot: int) -> Talk:
        """Leave the slot's world, if it has one, and destroy it."""
        stream = self._stream(slot)
        name, stream.world = stream.world, ""
        if name:
            yield [pb.LeaveWorldRequest(), pb.DestroyWorldRequest(world_name=name)]

    def _read(self, step: Any, uids: Sequence[int], row: int, answer: Played) -> None:
        """Keep the observations of a StepResponse. Raises EnvironmentFault, BadReply."""
        seen = step.observations
        if len(seen) != len(uids) or any(uid not in seen for uid in uids):
            got = f"observations with the uids {brief(sorted(seen))}"
            raise EnvironmentFault(got=got, wanted=f"{brief(sorted(uids))}")
        for each in self._observations:
            answer.observations[each.spec.name][row] = each.read(seen[each.uid])

    # Specs.

    def _read_specs(self, specs: Any) -> None:
        """Raises UsageError for specs that a TaskSpec cannot express."""
        actions, observations = (
            [
                wire_of(kind, uid, each, self._most_characters)
                for uid, each in sorted(of_kind.items())
            ]
            for kind, of_kind in (("action", specs.actions), ("observation", specs.observations))
        )
        by_name = {each.spec.name: each for each in observations}
        reward = by_name.get(REWARD)
        self._actions = actions
        self._observations = [
            each for each in observations if each.spec.name not in (REWARD, DISCOUNT)
        ]
        if isinstance(reward, WireText):
            raise UsageError("the observation 'reward'", got="STRING", wanted="one number")
        if reward is not None and reward.spec.size != 1:
            shape = list(reward.spec.shape)
            raise UsageError("the observation 'reward'", got=f"shape {shape}", wanted="one number")
        self._reward = reward
        self._seen_uids = [each.uid for each in self._observations]
        self._uids = [*self._seen_uids, *([self._reward.uid] if self._reward else [])]
        self._task = TaskSpec(
            tuple(each.spec for each in self._observations),
            tuple(each.spec for each in actions),
            reward_range=_range(self._reward.spec) if self._reward else (0.0, 0.0),
        )
        self._specs = specs

    def _check_specs(self, specs: Any) -> None:
        if specs != self._specs:
            got = f"other specs than before: {_difference(specs, self._specs)}"
            raise EnvironmentFault(got=got, wanted="the same in every world")


def _difference(specs: Any, before: Any) -> str:
    """The first tensor that differs, and how."""
    for kind, tensors, old in (
        ("action", specs.actions, before.actions),
        ("observation", specs.observations, before.observations),
    ):
        for uid in sorted({*tensors, *old}):
            if uid not in tensors:
                return f"no {kind} {brief(old[uid].name)}"
            if uid not in old:
                return f"a new {kind} {brief(tensors[uid].name)}"
            if tensors[uid] != old[uid]:
                return f"another {kind} {brief(old[uid].name)}"
    return "another message"


def _state(number: int) -> str:
    known = {value: name for name, value in pb.EnvironmentStateType.items()}
    return f"the state {known.get(number, number)}"


def _range(reward: TensorSpec) -> tuple[float, float]:
    low, high = (
        (reward.limits or (-np.inf, np.inf)) if reward.domain != Box() else (-np.inf, np.inf)
    )
    return float(np.min(low)), float(np.max(high))
