"""Goal environments, as plain Gymnasium environments and wrappers.

    env = FlatGoalEnv(ImageEnv(Point2D()), obs_key="state_observation",
                      goal_key="image_desired_goal")

Gymnasium knows `Reglue/Point2D-v0` once this is imported, and with multiworld's walls
`Reglue/Point2D-Box-Wall-v1`, `-Big-UWall-v1`, `-Easy-UWall-v1` and `-FlatWall-v2`. Raises
reglue.errors.MissingExtra where gymnasium is not installed.
"""

from reglue.errors import MissingExtra

try:
    import gymnasium

    from env_adapters.goals.diagnostics import get_generic_path_information
    from env_adapters.goals.goal_environment import GoalEnvironment, GoalMethods
    from env_adapters.goals.image_env import ImageEnv
    from env_adapters.goals.point2d import Point2D
    from env_adapters.goals.robotics import goal_environment
    from env_adapters.goals.walls import HorizontalWall, VerticalWall
    from env_adapters.goals.wrappers import FlatGoalEnv, GoalWrapper
except ModuleNotFoundError as error:
    if error.name != "gymnasium":
        raise
    raise MissingExtra("a goal environment", "gymnasium", "the package gymnasium") from error

__all__ = [
    "FlatGoalEnv",
    "GoalEnvironment",
    "GoalWrapper",
    "HorizontalWall",
    "ImageEnv",
    "Point2D",
    "VerticalWall",
    "get_generic_path_information",
    "goal_environment",
]

_WALLED: dict[str, dict[str, object]] = {
    "Box-Wall-v1": {"walls": "box", "wall_thickness": 2.0},
    "Big-UWall-v1": {"walls": "big-u", "wall_thickness": 0.5, "action_scale": 0.25},
    "Easy-UWall-v1": {"walls": "easy-u", "wall_thickness": 0.5, "action_scale": 0.25},
    "FlatWall-v2": {"walls": "---", "wall_thickness": 0.5, "action_scale": 0.25},
}

for _name, _steps, _options in (
    ("v0", 50, {}),
    *((name, 100, options) for name, options in _WALLED.items()),
):
    gymnasium.register(
        f"Reglue/Point2D-{_name}",
        "env_adapters.goals.point2d:Point2D",
        max_episode_steps=_steps,
        kwargs=_options,
        additional_wrappers=(GoalMethods.wrapper_spec(),),
    )
