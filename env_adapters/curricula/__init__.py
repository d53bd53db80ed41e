"""Curricula: environments one after another, as one Gymnasium environment.

    env, total_duration = make_curriculum([["pong", 20], ["breakout", 20]], episodic=True)

Raises reglue.errors.MissingExtra where gymnasium is not installed.
"""

from reglue.errors import MissingExtra

try:
    from env_adapters.curricula.curriculum import Curriculum, make_curriculum
    from env_adapters.curricula.first_frames import get_first_frames
    from env_adapters.curricula.named_env import NamedEnv
except ModuleNotFoundError as error:
    if error.name != "gymnasium":
        raise
    raise MissingExtra("a curriculum", "gymnasium", "the package gymnasium") from error

__all__ = ["Curriculum", "NamedEnv", "get_first_frames", "make_curriculum"]
