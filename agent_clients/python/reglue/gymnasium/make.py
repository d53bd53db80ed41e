"""Environments at a glue, or of a benchmark that is played here."""

from __future__ import annotations

import os
import re
from functools import partial
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Literal, TypeAlias

import gymnasium
from gymnasium.envs.registration import EnvSpec
from gymnasium.vector import AutoresetMode

from reglue.agents.agent import Agent
from reglue.error_message import brief
from reglue.errors import (
    BadArgument,
    MissingExtra,
    NotAnEnvironment,
    UnknownName,
    UsageError,
    setting,
)
from reglue.gymnasium.env import GlueEnv
from reglue.gymnasium.registration import env_id, env_spec
from reglue.gymnasium.stepped_session import Calls, SteppedSession
from reglue.gymnasium.vector_env import GlueVectorEnv
from reglue.net.join_string import TRANSPORTS, Transport, join_string
from reglue.spec import TaskSpec

Mode: TypeAlias = AutoresetMode | Literal["NextStep", "SameStep", "Disabled"]

_ADDRESS = re.compile(r"reglue://.*|(\[[^\]]*\]|[^:/\s]+):\d{1,5}")
_OPTIONS = frozenset(("token", "ca", "tls_name", "name", "connect_timeout_s", "transport"))
"""Options of a session."""

_LOCAL = "reglue.training"
"""The group of entry points `calls` and `spec`, which play benchmarks here."""


def make(where: object = None, benchmark: object = None, **options: Any) -> GlueEnv:
    """Make a `gymnasium.Env` of a glue's episodes, or of a benchmark's training goals.

    Args:
        where: A glue's address (`host:port` or a join string), which is connected to as an agent;
            or the name of a benchmark or an environment (`"MT10"`, `"gymnasium:CartPole-v1"`,
            `"file.py:Class"`), whose training goals are then played here, without end; or an
            environment as `reglue.evaluate` takes it: an object, a class, or a function that makes
            one. By default the address in the environment variable REGLUE_ADDRESS.
        benchmark: What the glue has to play; its observations and actions are compared. Without
            an address, as `where`.
        options: At a glue those of `connect`: token, ca, tls_name, name, connect_timeout_s,
            transport. Here `seed` (of goals and episodes), `training_seed` (of their order),
            `workers` (processes), `render_mode` ("rgb_array"), `raise_faults` (False: an
            environment's failure ends its episode, with `void` in `info`), and what
            `reglue_bench.evaluate` takes to choose the environments: split, goal_visible, one_hot,
            environment_args, …

    Raises:
        BadArgument, UnknownName: No such benchmark, or an unknown option.
        NotAnEnvironment: It cannot draw.
        MissingExtra: To play benchmarks here takes the extra `server`.
        Unreachable, Refused, SessionLost, UsageError: As `connect`.
    """
    session, mode = _session(where, benchmark, 1, options), options.get("render_mode")
    again = partial(make, where, benchmark, **options)
    env = GlueEnv(session, mode, None if _address(where, benchmark) else again)
    env.spec = _spec(where, benchmark, options)
    return env


make.metadata = {"render_modes": ["rgb_array"]}  # type: ignore[attr-defined]
"""`gymnasium.make` reads it to show a window or to collect frames."""


def make_vec(
    where: object = None,
    num_envs: int | None = None,
    *,
    benchmark: object = None,
    autoreset_mode: Mode = AutoresetMode.NEXT_STEP,
    **options: Any,
) -> GlueVectorEnv:
    """Make a `gymnasium.vector.VectorEnv` of a glue's episodes, or of a benchmark's.

    Args:
        where: As in `make`.
        num_envs: The number of slots; the glue's run has to have as many (`--slots`). By default
            the glue's, or one for each task of a benchmark that is played here.
        benchmark: As in `make`.
        autoreset_mode: When a slot begins its next episode.
        options: As in `make`.

    Raises as `make`.
    """
    number: object = num_envs
    if number is not None and not (isinstance(number, int) and number >= 1):
        raise BadArgument(got=f"num_envs {brief(num_envs)}", wanted="an integer of 1 or more")
    try:
        mode = AutoresetMode(autoreset_mode)
    except ValueError:
        known = ", ".join(repr(each.value) for each in AutoresetMode)
        raise BadArgument(got=f"autoreset_mode {autoreset_mode!r}", wanted=known) from None
    session = _session(where, benchmark, num_envs, options)
    again = partial(
        make_vec, where, num_envs, benchmark=benchmark, autoreset_mode=autoreset_mode, **options
    )
    copies = None if _address(where, benchmark) else again
    env = GlueVectorEnv(session, mode, options.get("render_mode"), copies)
    env.spec = _spec(where, benchmark, options)
    return env


def _session(
    where: object, benchmark: object, slots: int | None, options: dict[str, Any]
) -> SteppedSession:
    address, benchmark = _address_and_benchmark(where, benchmark)
    if address is None:
        if isinstance(benchmark, str):
            _check_name(benchmark)
        local = _entry("calls")(benchmark, slots, **options)
        return SteppedSession(local.calls, local)
    if options.pop("render_mode", None) is not None:
        raise NotAnEnvironment("a session at a glue cannot draw: make it with render_mode=None")
    for name in options.keys() - _OPTIONS:
        raise UnknownName("option of a session", name, _OPTIONS)
    session = SteppedSession(_connect(address, slots or 0, **options))
    try:
        if slots is not None and session.spec.slots != slots:
            raise UsageError(
                got=f"a session of {session.spec.slots} slots",
                wanted=(
                    f"{slots}: begin the run with {setting('slots', slots)}, or "
                    f"make_vec(num_envs={session.spec.slots})"
                ),
            )
        if benchmark is not None:
            _check_plays(session.spec, benchmark)
    except BaseException:
        session.leave()
        raise
    return session


def _check_name(benchmark: str) -> None:
    """Raise BadArgument for an id of Gymnasium's, also in the form with a colon."""
    spec = gymnasium.registry.get(env_id(benchmark.removeprefix("reglue/")))
    if spec is not None and benchmark.startswith("reglue/"):
        name = spec.kwargs.get("benchmark", "an address")
        raise BadArgument(got=repr(benchmark), wanted=f"{name!r}; or gymnasium.make({spec.id!r})")


def _address(where: object, benchmark: object) -> str | None:
    """The glue's, whose session cannot be copied; None if the episodes are played here."""
    return _address_and_benchmark(where, benchmark)[0]


def _address_and_benchmark(where: object, benchmark: object) -> tuple[str | None, object]:
    """The address, if there is one, and the benchmark. Raises UsageError."""
    if isinstance(where, str) and (benchmark is not None or _ADDRESS.fullmatch(where)):
        return where, benchmark
    if where is not None and benchmark is not None:
        raise BadArgument(got=brief(where), wanted="an address, as there is a benchmark, too")
    if where is not None:
        return None, where
    address = os.environ.get("REGLUE_ADDRESS")
    if address is None and benchmark is None:
        raise UsageError(
            got="no address and no benchmark",
            wanted=(
                "one: make('127.0.0.1:4096'), make('MT10'), or the environment variable "
                "REGLUE_ADDRESS"
            ),
        )
    return address, benchmark


class _Program(Agent):
    """The declaration of a stepped session to the glue."""

    partial_turns = False
    adapts = True  # evaluate() may get an agent that does

    def __init__(self, slots: int) -> None:
        self.max_slots = slots


def _connect(  # noqa: PLR0913 - as `connect`
    address: str,
    slots: int,
    *,
    token: str | None = None,
    ca: str | Path | bytes | None = None,
    tls_name: str | None = None,
    name: str = "Gymnasium view",
    connect_timeout_s: float = 60.0,
    transport: Transport = "auto",
) -> Calls:
    where = join_string(address, token, ca=ca, tls_name=tls_name)
    if transport not in TRANSPORTS:
        raise BadArgument(got=f"transport {transport!r}", wanted=", ".join(TRANSPORTS))
    from reglue.net.peer import AgentPeer
    from reglue.net.session import Session

    agent = AgentPeer(_Program(slots), name)
    return Session(where, agent, connect_timeout_s=connect_timeout_s, transport=transport).calls()


def _entry(name: str) -> Any:
    for entry in entry_points(group=_LOCAL, name=name):
        try:
            return entry.load()
        except ModuleNotFoundError as error:
            raise MissingExtra("a benchmark played here", "server", str(error.name)) from error
    raise MissingExtra("a benchmark played here", "server", "reglue_bench")


def _check_plays(spec: TaskSpec, benchmark: object) -> None:
    """Raise UsageError if a session's tensors are not the benchmark's."""
    wanted: TaskSpec = _entry("spec")(benchmark)
    for what in ("observations", "actions"):
        if getattr(spec, what) != getattr(wanted, what):
            raise UsageError(
                got=f"a session whose {what} are {_tensor_list(getattr(spec, what))}",
                wanted=f"those of {_named(benchmark)}: {_tensor_list(getattr(wanted, what))}",
            )


def _tensor_list(tensors: Any) -> str:
    return ", ".join(f"{each.name} {each.dtype}{list(each.shape)}" for each in tensors)


def _spec(where: object, benchmark: object, options: dict[str, Any]) -> EnvSpec:
    """The EnvSpec by which Gymnasium makes it again, without the address: it may hold a token."""
    address, benchmark = _address_and_benchmark(where, benchmark)
    if address is not None:
        return env_spec("Session")
    return env_spec(_named(benchmark), benchmark=benchmark, **options)


def _named(benchmark: object) -> str:
    """Its name, or that of its class."""
    if isinstance(benchmark, str):
        return benchmark
    return str(getattr(benchmark, "__name__", type(benchmark).__name__))
