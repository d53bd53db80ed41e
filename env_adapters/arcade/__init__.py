"""Arcade: small games of one engine, each a config of the same sections.

Importing this registers the Gymnasium ids `Reglue/Arcade-v0` and `Reglue/ArcadeInterpolate-v0`,
also as `MetaArcade-v0` and `MetaArcadeInterpolate-v0`, as Meta Arcade calls its own; and
`Reglue/MetaArcade-v0`, for the original Meta Arcade where it is installed. Raises
reglue.errors.MissingExtra where gymnasium or pydantic is not installed.
"""

from reglue.errors import MissingExtra

try:
    import gymnasium

    from env_adapters.arcade.arcade_env import Arcade
    from env_adapters.arcade.config import GAMES, make_config
    from env_adapters.arcade.meta_arcade import MetaArcade
    from env_adapters.arcade.window import NoWindow
except ModuleNotFoundError as error:
    raise MissingExtra("the arcade", "gymnasium", f"the package {error.name}") from error

__all__ = ["GAMES", "Arcade", "MetaArcade", "NoWindow", "make_config"]

for _prefix in ("Reglue/", "Meta"):  # ours, and as Meta Arcade calls its own
    gymnasium.register(f"{_prefix}Arcade-v0", entry_point="env_adapters.arcade:Arcade")
    gymnasium.register(
        f"{_prefix}ArcadeInterpolate-v0",
        entry_point="env_adapters.curricula.curriculum:interpolation",
    )
gymnasium.register("Reglue/MetaArcade-v0", entry_point="env_adapters.arcade:MetaArcade")
