"""A session seen as a Gymnasium environment, for loops that own the stepping.

import reglue
envs = reglue.make_vec("MT10", num_envs=10)
observations, infos = envs.reset()
"""

from reglue.errors import MissingExtra

try:
    import gymnasium as _  # noqa: F401
except ModuleNotFoundError as error:
    raise MissingExtra("the Gymnasium view", "gymnasium", str(error.name)) from error

from reglue.gymnasium.env import GlueEnv
from reglue.gymnasium.make import make, make_vec
from reglue.gymnasium.registration import register_all
from reglue.gymnasium.vector_env import GlueVectorEnv

__all__ = ["GlueEnv", "GlueVectorEnv", "make", "make_vec"]

register_all()
