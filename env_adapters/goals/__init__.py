"""Goal environments, as plain Gymnasium environments and wrappers.

    env = FlatGoalEnv(ImageEnv(Point2D()), obs_key="state_observation",
                      goal_key="image_desired_goal")

Gymnasium knows `Reglue/Point2D-v0` once this is imported. Raises
reglue.errors.MissingExtra where gymnasium is not installed.
"""

from reglue.errors import MissingExtra

try:
    import gymnasium

    from env_adapters.goals.flat_goal_env import FlatGoalEnv
    from env_adapters.goals.goal_environment import GoalEnvironment
    from env_adapters.goals.goal_wrapper import GoalWrapper
    from env_adapters.goals.image_env import ImageEnv
    from env_adapters.goals.point2d import Point2D
    from env_adapters.goals.robotics import goal_environment
except ModuleNotFoundError as error:
    if error.name != "gymnasium":
        raise
    raise MissingExtra("a goal environment", "gymnasium", "the package gymnasium") from error

__all__ = [
    "FlatGoalEnv",
    "GoalEnvironment",
    "GoalWrapper",
    "ImageEnv",
    "Point2D",
    "goal_environment",
]

gymnasium.register("Reglue/Point2D-v0", "env_adapters.goals.point2d:Point2D", max_episode_steps=50)
