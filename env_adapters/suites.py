"""Makes suites from environments' names: families of environments, ours and others'.

A name is `PREFIX:REST` or `PREFIX` of a family, the file of a schedule, or a factory as
`module:factory` or `file.py:factory`.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from env_adapters.argument_checks import check_integer
from env_adapters.metaworld import ALL_TASKS, catalogue, task_set
from env_adapters.named_objects import Registry
from env_adapters.suite_names import Family, FamilyRequest, SuiteName
from reglue.errors import CannotLoad, MissingExtra, UnknownName
from reglue.tools.loading import find, without_class

_GYMNASIUM = "env_adapters.gymnasium:Gymnasium"
_GYMNAX = "env_adapters.jax.gymnax_library:gymnax"
_DM_ENV_RPC = "reglue.bridges.dm_env_rpc.rpc_environment:DmEnvRpc"
_RL_GLUE = "reglue.bridges.rl_glue.legacy_environment:LegacySuite"
_OPENENV = "reglue.bridges.openenv.openenv_environment:OpenEnv"
SCHEDULE = "env_adapters.curricula.suite:Schedule"
META_WORLD = "env_adapters.metaworld:MetaWorld"

EXAMPLES: Mapping[str, SuiteName] = {
    "gridworld": SuiteName("env_adapters.classic.gridworld:GridWorld", {}),
    "mountain-car": SuiteName("env_adapters.classic.mountain_car:MountainCar", {}),
    "access-control": SuiteName("env_adapters.classic.access_control:AccessControl", {}),
    "cart-pole": SuiteName(_GYMNASIUM, {"id": "CartPole-v1"}),
    "acrobot": SuiteName(_GYMNASIUM, {"id": "Acrobot-v1"}),
}
"""Environments to learn from and to test on."""


def suite_name(
    name: str,
    arguments: Mapping[str, Any] | None = None,
    key: bytes | None = None,
    *,
    folder: Path = Path(),
    on_goals_drawn: Callable[[int, int], None] | None = None,
) -> SuiteName:
    """The suite that a command line or a file names.

    Args:
        name: An environment's, as the module says.
        arguments: Keywords of the suite's factory.
        key: 32 bytes from which goals and a schedule's pools are drawn, so that trying seeds does
            not reveal them.
        folder: A schedule's relative path, and those in its file, are relative to it.
        on_goals_drawn: Called with the number of tasks that have their goals, and of all tasks.

    Raises UsageError.
    """
    if is_schedule(name):
        return _schedule(folder, name, arguments or {}, key)
    if (family := _family(name)) is not None:
        return family.resolve(
            name, arguments or {}, key, folder=folder, on_goals_drawn=on_goals_drawn
        )
    if re.search(r":\w+$", name):
        return SuiteName(name, dict(arguments or {}))
    if name.removesuffix(":").endswith(".py"):
        raise CannotLoad(without_class(name))
    forms = [family.form(prefix) for prefix, family in FAMILIES.loaded().items()]
    raise UnknownName("environment", name, environments_like(name) or [*forms, "file.py:Class"])


def environments_like(name: str) -> list[str]:
    """Names of environments like `name`, an unknown name of a task or id; the nearest first.

    `name` may have a prefix that does not exist. Other kinds of names give an empty list.
    """
    module, _, identifier = name.rpartition(":")
    task = re.sub(r"-v\d+$", "-v3", identifier)
    if task in ALL_TASKS:
        return [f"MT1:{task}"]
    ids = _ids(module, identifier) if re.search(r"-v\d+$", identifier) else []
    return [f"gymnasium:{each}" for each in ids]


def known_suite(name: str, arguments: Mapping[str, Any] | None = None) -> SuiteName | None:
    """The suite of a family's or a schedule's name; None for any other. Raises UsageError."""
    return suite_name(name, arguments) if is_schedule(name) or _family(name) else None


def is_known(name: str) -> bool:
    """Whether `name` is a family's or a schedule's; nothing is loaded or read."""
    return is_schedule(name) or name.partition(":")[0] in FAMILIES


def calls_server(name: str) -> bool:
    """Whether to make the environment of that name waits for another program's server."""
    family = _family(name)
    return family is not None and family.calls_server


def is_schedule(name: str) -> bool:
    """Whether `name` is the path of a schedule's file."""
    return name.endswith((".toml", ".json"))


def _ids(module: str, name: str) -> list[str]:
    """Ids of Gymnasium's environments with this name, or names like it."""
    with suppress(ImportError, ValueError):
        if find_spec(module) is not None:
            return [f"{module}:{name}"]
    try:
        ids: list[str] = find("env_adapters.gymnasium_library:ids_like")(name)
    except MissingExtra:
        return [name]
    return ids


def _family(name: str) -> Family | None:
    """The family of a name; None for a module called like one. Raises CannotLoad."""
    prefix, colon, _ = name.partition(":")
    if prefix not in FAMILIES:
        return None
    return FAMILIES[prefix] if FAMILIES[prefix].rest or not colon else None


def _example(suite: SuiteName) -> Family:
    def make(request: FamilyRequest) -> SuiteName:
        if suite.factory == _GYMNASIUM:
            return _gymnasium(request, suite.config)
        return SuiteName(suite.factory, {**suite.config, **request.arguments})

    about = " ".join([suite.factory.rpartition(":")[2], *map(str, suite.config.values())])
    return Family(make, about, trusted=(suite.factory,))


def _gymnasium(request: FamilyRequest, config: Mapping[str, Any]) -> SuiteName:
    whole = {**config, **request.arguments}
    if request.key is not None and whole.get("goals"):
        whole["goal_seed"] = _seed(request.key, "goal_seed", whole, size=16)
    return SuiteName(_GYMNASIUM, whole)


def _schedule(
    folder: Path, file: str, arguments: Mapping[str, Any], key: bytes | None
) -> SuiteName:
    """Several environments, one after another."""
    # It finds suites by name itself.
    read = find("env_adapters.curricula.schedule_file:read_schedule")
    config = {**read(folder / file), **arguments}
    if key is not None:
        config["seed"] = _seed(key, "seed", config, size=8)  # Rng takes no more
    return SuiteName(SCHEDULE, config).relative_to(folder)


def _seed(key: bytes, name: str, config: Mapping[str, Any], *, size: int) -> int:
    """A seed of `size` bytes that replaces the config's seed called `name`."""
    label = f"reglue {name} {config.get('id')} {config.get(name, 0)}"
    digest = hmac.digest(key, label.encode(), hashlib.sha256)
    return int.from_bytes(digest[:size], "big")


def _meta_world(prefix: str) -> Callable[[FamilyRequest], SuiteName]:
    """Makes the suite of a task set or its `split`, with goals drawn from `seed` and the key."""

    def make(request: FamilyRequest) -> SuiteName:
        arguments = dict(request.arguments)
        seed, split = arguments.pop("seed", 0), arguments.pop("split", None)
        check_integer("seed", seed, 0)
        tasks = task_set(f"{prefix}:{request.rest}" if request.rest else prefix, split)
        config = tasks.config(seed, request.key, request.on_goals_drawn, **arguments)
        return SuiteName(META_WORLD, config)

    return make


def _task_sets() -> Iterator[tuple[str, Family]]:
    for form, about in catalogue().items():
        prefix, _, rest = form.partition(":")
        yield prefix, Family(_meta_world(prefix), about, rest, trusted=(META_WORLD,))


_OWN: Mapping[str, Family] = {
    **{name: _example(suite) for name, suite in EXAMPLES.items()},
    "gymnasium": Family(
        lambda request: _gymnasium(request, {"id": request.rest}),
        "Gymnasium, such as CartPole-v1",
        "<id>",
        trusted=(_GYMNASIUM,),
    ),
    "arcade": Family(
        lambda request: _gymnasium(
            request, {"id": "env_adapters.arcade:Reglue/Arcade-v0", "config": request.rest}
        ),
        "a game of the arcade, such as pong",
        "<game>",
        trusted=(_GYMNASIUM,),
    ),
    "gymnax": Family(
        lambda request: SuiteName(_GYMNAX, {"id": request.rest, **request.arguments}),
        "gymnax, in JAX, such as CartPole-v1",
        "<id>",
        trusted=(_GYMNAX,),
    ),
    "openenv": Family(
        lambda request: SuiteName(_OPENENV, {"url": request.rest, **request.arguments}),
        "the environments of an OpenEnv server",
        "<url>",
        calls_server=True,
    ),
    "dm-env-rpc": Family(
        lambda request: SuiteName(_DM_ENV_RPC, {"address": request.rest, **request.arguments}),
        "a dm_env_rpc server's worlds",
        "<host:port>",
        calls_server=True,
    ),
    "rl-glue": Family(
        lambda request: SuiteName(_RL_GLUE, request.arguments),
        "a program of RL-Glue 3, by its command",
    ),
    **dict(_task_sets()),
}

FAMILIES = Registry("environment family", "reglue.environment_families", _OWN, Family)
"""By prefix."""
