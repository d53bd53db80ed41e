"""Suites by name, so that any process can build them."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from env_adapters.arguments import check_integer
from reglue.environments.world import Suite
from reglue.errors import UnknownName
from reglue.tools.loading import check_arguments, find


@dataclass(frozen=True, slots=True)
class SuiteName:
    """A suite by `module:factory` or `file.py:factory`, and JSON."""

    factory: str
    config: Mapping[str, Any]

    def build(self) -> Suite:
        """Call the factory with the config's entries as keywords. Raises UsageError.

        A factory may be a class of `gymnasium.Env`, or a function that makes one.
        """
        from env_adapters.gymnasium.env_objects import suite_made_by

        make = find(self.factory)
        check_arguments(self.factory, make, self.config)
        suite: Suite = suite_made_by(make, self.config)
        return suite


_GYMNASIUM = "env_adapters.gymnasium:Gymnasium"
_SCHEDULE = "env_adapters.curricula.suite:Schedule"
_ARCADE = "env_adapters.arcade:Reglue/Arcade-v0"

BUILT_IN: Mapping[str, SuiteName] = {
    "gridworld": SuiteName("env_adapters.classic.gridworld:GridWorld", {}),
    "mountain-car": SuiteName("env_adapters.classic.mountain_car:MountainCar", {}),
    "access-control": SuiteName("env_adapters.classic.access_control:AccessControl", {}),
    "cart-pole": SuiteName(_GYMNASIUM, {"id": "CartPole-v1"}),
    "acrobot": SuiteName(_GYMNASIUM, {"id": "Acrobot-v1"}),
}
"""Environments to learn from and to test on."""


_META_WORLD = re.compile(r"M[TL]\d*(:.*)?")


def suite_name(
    name: str, arguments: Mapping[str, Any] | None = None, key: bytes | None = None
) -> SuiteName:
    """The suite that a command line names.

    One of `known_suite`, `module:factory` or `file.py:factory`; `arguments` are more keywords
    of its factory. With a `key`, what our own suites draw once (goals, and a schedule's pools)
    is drawn with that, so that nobody finds it by trying seeds. Raises UsageError.
    """
    if _META_WORLD.fullmatch(name):
        return _meta_world(name, dict(arguments or {}), key)
    known = known_suite(name, arguments)
    if known is not None:
        return known if key is None else _keyed(known, key)
    if re.search(r":\w+$", name):
        return SuiteName(name, dict(arguments or {}))
    known_names = [*BUILT_IN, "gymnasium:ID", "arcade:GAME", "file.py:Class"]
    if re.search(r"-v\d+$", name):
        from env_adapters.metaworld import ALL_TASKS

        known_names.append(f"MT1:{name}" if name in ALL_TASKS else f"gymnasium:{name}")
    raise UnknownName("environment", name, known_names)


def known_suite(name: str, arguments: Mapping[str, Any] | None = None) -> SuiteName | None:
    """The suite that goes by a name of its own; None for any other name.

    One of BUILT_IN, `gymnasium:ID`, `arcade:GAME`, a task set of Meta-World (`MT1:reach-v3`,
    `ML10`, …; keywords `seed` for its goals, `split`), or a schedule's file (`.toml`, `.json`);
    `arguments` are more keywords of its factory. Raises UsageError.
    """
    more = dict(arguments or {})
    if name in BUILT_IN:
        known = BUILT_IN[name]
        return SuiteName(known.factory, {**known.config, **more})
    if name.endswith((".toml", ".json")):
        return _schedule(name, more)
    if _META_WORLD.fullmatch(name):
        return _meta_world(name, more)
    kind, _, rest = name.partition(":")
    match kind:
        case "gymnasium":
            return SuiteName(_GYMNASIUM, {"id": rest, **more})
        case "arcade":
            return SuiteName(_GYMNASIUM, {"id": _ARCADE, "config": rest, **more})
    return None


def _keyed(suite: SuiteName, key: bytes) -> SuiteName:
    """With another seed in place of one that draws what may be hidden."""
    config = suite.config
    if suite.factory == _GYMNASIUM and config.get("goals"):
        name, size = "goal_seed", 16
    elif suite.factory == _SCHEDULE:
        name, size = "seed", 8  # bytes: Chance takes no more
    else:
        return suite
    words = f"reglue {name} {config.get('id')} {config.get(name, 0)}"
    digest = hmac.digest(key, words.encode(), hashlib.sha256)
    return SuiteName(suite.factory, {**config, name: int.from_bytes(digest[:size], "big")})


def _schedule(name: str, arguments: dict[str, Any]) -> SuiteName:
    """The schedule in a file."""
    from env_adapters.curricula.file import read_schedule

    return SuiteName(_SCHEDULE, {**read_schedule(Path(name)), **arguments})


def _meta_world(name: str, arguments: dict[str, Any], key: bytes | None = None) -> SuiteName:
    """A task set of Meta-World, or its `split`, with the goals of `seed`, or of `key` and it."""
    from env_adapters.metaworld import draw_goals, task_set

    seed, split = arguments.pop("seed", 0), arguments.pop("split", None)
    check_integer("seed", seed, 0)
    tasks = task_set(name, split)
    goals = draw_goals(tasks, seed, key=key)
    config = {"goals": {task: [list(goal) for goal in of] for task, of in goals.items()}}
    return SuiteName(
        "env_adapters.metaworld:MetaWorld",
        {**config, "goal_visible": tasks.goal_visible, **arguments},
    )
