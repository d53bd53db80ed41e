"""The ids that `gymnasium.make` knows: `reglue/NAME`, of each environment that has a name here."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable
from importlib.metadata import entry_points

import gymnasium
from gymnasium.envs.registration import EnvSpec


def env_id(name: str) -> str:
    """The id of the environment of a name; without a colon, as Gymnasium reads `module:id`."""
    return "reglue/" + re.sub(r"[^\w.-]", "-", name)


def env_spec(name: str, **kwargs: object) -> EnvSpec:
    """The EnvSpec by which Gymnasium makes the environment called `name`."""
    return EnvSpec(
        env_id(name),
        entry_point="reglue.gymnasium:make",
        vector_entry_point="reglue.gymnasium:make_vec",
        nondeterministic=True,  # the glue draws goals and seeds, not reset(seed=…)
        kwargs=kwargs,
    )


def register_all() -> None:
    """Register the names that the installed packages can play here, and `reglue/Session`.

    A session's address comes from REGLUE_ADDRESS, or as `where`.
    """
    known = {spec.id for spec in gymnasium.registry.values()}
    specs = [env_spec("Session")]
    specs += [env_spec(name, benchmark=name) for name in _names()]
    for spec in specs:
        if spec.id not in known:
            gymnasium.registry[spec.id] = spec


def _names() -> Iterable[str]:
    """The names of benchmarks; none without the extra `server`."""
    for entry in entry_points(group="reglue.training", name="names"):
        with contextlib.suppress(ImportError):
            names: Iterable[str] = entry.load()()
            return names
    return ()
