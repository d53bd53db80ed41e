"""Arcade: small games of one engine, each a config of the same sections.

Importing this registers the Gymnasium ids `Reglue/Arcade-v0`, `Reglue/ArcadeInterpolate-v0` and,
for the original Meta Arcade where it is installed, `Reglue/MetaArcade-v0`. Raises
reglue.errors.MissingExtra where gymnasium or pydantic is not installed.
"""

from reglue.errors import MissingExtra

try:
    import gymnasium

    from env_adapters.arcade.config import GAMES, make_config
    from env_adapters.arcade.environment import Arcade
    from env_adapters.arcade.meta_arcade import MetaArcade
except ModuleNotFoundError as error:
    raise MissingExtra("the arcade", "gymnasium", f"the package {error.name}") from error

__all__ = ["GAMES", "Arcade", "MetaArcade", "make_config"]

gymnasium.register("Reglue/Arcade-v0", entry_point="env_adapters.arcade:Arcade")
gymnasium.register(
    "Reglue/ArcadeInterpolate-v0", entry_point="env_adapters.curricula.make:interpolation"
)
gymnasium.register("Reglue/MetaArcade-v0", entry_point="env_adapters.arcade:MetaArcade")
