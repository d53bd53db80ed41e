"""Point2D: a point in a square moves to a goal."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces

from env_adapters.argument_checks import check_flag, check_integer, check_number, check_positive
from env_adapters.goals.goal_environment import GOAL_KEYS, GoalEnvironment, Observation
from env_adapters.goals.walls import Wall, free_share, walls_of
from reglue.errors import BadArgument, UnknownName, UsageError
from reglue.spec import Array, Arrays

_REWARDS = ("dense", "sparse", "vectorized_dense")
_PAPER, _BALL, _GOAL, _WALL = (255, 255, 255), (0, 0, 255), (0, 170, 0), (0, 0, 0)
_LEAST_FREE = 0.001  # of the square: goals and positions are drawn again if they are in a wall


class Point2D(GoalEnvironment):
    """An action moves the point by up to `action_scale` along x and y; no step terminates.

    Positions lie within ±`boundary_dist`. Success is a distance below `target_radius`. The
    reward is minus the distance (`dense`), -1 beyond the radius (`sparse`), or minus the
    distance along each axis (`vectorized_dense`: two numbers, as `reward_space` says; for
    scripts only, since neither Gymnasium nor the protocol allows them).

    `walls` are obstacles: the name of a shape (`u`, `-`, `--`, `---`, `big-u`, `easy-u`,
    `big-h`, `box`), sized by `wall_thickness` and `inner_wall_max_dist`, or a list of walls
    (see `env_adapters.goals.walls`). No episode starts in a wall and no drawn goal lies in one;
    `fixed_goal` and `set_goal` may set such a goal. Without `randomize_position_on_reset`
    episodes start at `fixed_init_position`.

    `render()` draws the point blue, walls black and, unless `show_goal` is false, the goal green.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 10}  # noqa: RUF012 - Gymnasium's
    diagnosed = ("distance_to_target",)

    def __init__(  # noqa: PLR0913 - the original's
        self,
        *,
        fixed_goal: Any = None,
        reward_type: str = "dense",
        action_scale: float = 1.0,
        target_radius: float = 0.6,
        boundary_dist: float = 4.0,
        ball_radius: float = 0.5,
        walls: Any = None,
        wall_thickness: float = 1.0,
        inner_wall_max_dist: float = 1.0,
        fixed_init_position: Any = (0.0, 0.0),
        randomize_position_on_reset: bool = True,
        show_goal: bool = True,
        render_size: int = 84,
        render_mode: str | None = None,
    ) -> None:
        """Raises UsageError, also for a goal outside the square, or a start in a wall."""
        if reward_type not in _REWARDS:
            raise UnknownName("reward_type", str(reward_type), _REWARDS)
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            raise BadArgument(got=f"render_mode {render_mode!r}", wanted="rgb_array or none")
        check_number("action_scale", action_scale)
        check_positive("target_radius", target_radius)
        check_positive("boundary_dist", boundary_dist)
        check_positive("ball_radius", ball_radius)
        check_positive("inner_wall_max_dist", inner_wall_max_dist)
        check_integer("render_size", render_size, 1)
        check_flag("randomize_position_on_reset", randomize_position_on_reset)
        check_flag("show_goal", show_goal)
        square = spaces.Box(-boundary_dist, boundary_dist, (2,), np.float64)
        both = [prefix + name for prefix in ("", "state_") for name in GOAL_KEYS]
        self.observation_space = spaces.Dict(dict.fromkeys(both, square))
        self.action_space = spaces.Box(-1.0, 1.0, (2,), np.float64)
        numbers = (2,) if reward_type == "vectorized_dense" else ()
        self.reward_space = spaces.Box(-np.inf, 0.0, numbers, np.float64)
        self._boundary, self._ball_radius = boundary_dist, ball_radius
        self._walls = walls_of(walls, ball_radius, wall_thickness, inner_wall_max_dist)
        if self._walls and free_share(self._walls, boundary_dist) < _LEAST_FREE:
            raise BadArgument(got=f"walls {walls!r}, which fill the square", wanted="room to move")
        self._first = self.check_goal(fixed_init_position)
        if not randomize_position_on_reset and self._is_in_wall(self._first):
            start = self._first.tolist()
            raise BadArgument(
                got=f"fixed_init_position {start}, which is in a wall", wanted="another"
            )
        self.fixed_goal = fixed_goal
        self._reward_type, self._scale, self._radius = reward_type, action_scale, target_radius
        self._starts_anywhere, self._shows_goal = randomize_position_on_reset, show_goal
        self.render_mode, self._render_size = render_mode, render_size
        self._goal: Array | None = None
        self._position = np.zeros(2)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Draw the goal, then the position."""
        super().reset(seed=seed)
        self._goal = self._goals(1)[0]
        self._position = self._free_places(1)[0] if self._starts_anywhere else self._first.copy()
        return self._observation(), {}

    def step(self, action: Any) -> tuple[Observation, Any, bool, bool, dict[str, Any]]:
        """Move. Raises UsageError for an illegal action."""
        goal = self._require_goal()
        velocity = np.clip(_two_numbers(action), -1, 1) * self._scale
        position = self._after_collisions(self._position + velocity)
        self._position = np.clip(position, -self._boundary, self._boundary)
        distance = _length(self._position - goal)
        info = {
            "radius": self._radius,
            "target_position": goal.copy(),
            "distance_to_target": distance,
            "velocity": velocity,
            "speed": _length(velocity),
            "is_success": bool(distance < self._radius),
        }
        return self._observation(), self.rewards(self._position, goal, info), False, False, info

    def get_goal(self) -> Observation:
        """The goal, under both of its names."""
        return _named(self._require_goal())

    def set_goal(self, goal: Any) -> None:
        """Set the goal until the next reset."""
        self._goal = self.check_goal(goal)

    def sample_goals(self, n: int) -> Observation:
        """Goals in the square, outside walls; (n, 2)."""
        check_integer("n", n, 0)
        return _named(self._goals(n))

    def rewards(self, achieved: Any, desired: Any, info: Any) -> Any:
        """Rewards of positions (…, 2); float64."""
        try:
            apart = np.subtract(achieved, desired, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise BadArgument(got="goals that do not compare", wanted=f"(…, 2): {error}") from error
        if apart.shape[-1:] != (2,):
            raise BadArgument(got=f"goals of shape {apart.shape}", wanted="(…, 2)")
        match self._reward_type:
            case "dense":
                return -_length(apart)
            case "sparse":
                return -(_length(apart) > self._radius).astype(np.float64)
            case _:
                return -np.abs(apart)

    def render(self) -> Any:
        """(render_size, render_size, 3) uint8 if `render_mode` is rgb_array, else None."""
        if self.render_mode is None:
            return None
        goal = self._goal if self._shows_goal else None
        return self._draw(self._render_size, self._position, goal)

    def check_images(self, size: int) -> None:
        pass  # every size can be drawn

    def get_image(self, size: int, goal: Any = None) -> Array:
        """The point at its position, or at `goal`."""
        place = self._position if goal is None else self.check_goal(goal)
        return self._draw(size, place, None)

    def get_inside(self) -> dict[str, Array]:
        """Position and goal, (2,) each."""
        return {"position": self._position.copy(), "goal": self._require_goal().copy()}

    def set_inside(self, arrays: Arrays) -> None:
        """Continue from the arrays of `get_inside`. Raises UsageError, with nothing changed, for
        others.
        """
        if set(arrays) != {"position", "goal"}:
            raise BadArgument(got=sorted(arrays), wanted="position and goal")
        position, goal = (self.check_goal(arrays[name]) for name in ("position", "goal"))
        self._position, self._goal = position, goal

    def _require_goal(self) -> Array:
        if self._goal is None:
            raise UsageError("there is no goal yet; call reset first")
        return self._goal

    def _goals(self, n: int) -> Array:
        if self.fixed_goal is None:
            return self._free_places(n)
        return np.repeat(self.fixed_goal[None], n, axis=0)

    def _free_places(self, n: int) -> Array:
        places = (2 * self.np_random.random((n, 2)) - 1) * self._boundary
        for place in places:
            while self._is_in_wall(place):
                place[:] = (2 * self.np_random.random(2) - 1) * self._boundary
        return places

    def _is_in_wall(self, place: Array) -> bool:
        return any(wall.contains_point(place) for wall in self._walls)

    def _after_collisions(self, wanted: Array) -> Array:
        """The position after collisions with walls.

        If walls stop both axes, the collisions are computed again in reverse order.
        """
        reached = _collide_in_order(self._walls, self._position, wanted)
        if (reached != wanted).all():
            reached = _collide_in_order(self._walls[::-1], self._position, wanted)
        return reached

    def _observation(self) -> Observation:
        place = {key: self._position.copy() for key in ("observation", "achieved_goal")}
        state = {f"state_{key}": self._position.copy() for key in place}
        return {**place, **state, **self.get_goal()}

    def _draw(self, size: int, place: Array, goal: Array | None) -> Array:
        """The picture: rows downwards, y upwards, with room for a whole point at the boundary."""
        half = self._boundary + self._ball_radius
        across = ((np.arange(size) + 0.5) / size * 2 - 1) * half
        x, y = across[None], -across[:, None]
        image = np.full((size, size, 3), _PAPER, np.uint8)

        def paint(inside: Array, middle: Any, colour: tuple[int, int, int]) -> None:
            """Paint pixels whose centre is inside, and the pixel of the middle in any case."""
            column, row = (np.array((middle[0], -middle[1])) / half + 1) / 2 * size
            inside[min(int(row), size - 1), min(int(column), size - 1)] = True
            image[inside] = colour

        for wall in self._walls:
            centre = (wall.min_x + wall.max_x) / 2, (wall.min_y + wall.max_y) / 2
            width, height = (wall.max_x - wall.min_x) / 2, (wall.max_y - wall.min_y) / 2
            apart = np.abs(x - centre[0]), np.abs(y - centre[1])
            inside = (apart[0] <= width - wall.min_dist) & (apart[1] <= height - wall.min_dist)
            paint(inside, np.clip(centre, -half, half), _WALL)
        discs = ((goal, self._radius, _GOAL), (place, self._ball_radius, _BALL))
        for at, radius, colour in discs:
            if at is not None:
                apart_squared = np.square(x - at[0]) + np.square(y - at[1])
                paint(apart_squared <= radius * radius, at, colour)
        return image


def _collide_in_order(walls: Sequence[Wall], start: Array, end: Array) -> Array:
    for wall in walls:
        end = wall.handle_collision(start, end)
    return end


def _two_numbers(action: Any) -> Array:
    with contextlib.suppress(TypeError, ValueError):
        numbers = np.asarray(action, np.float64)
        if numbers.shape == (2,) and np.isfinite(numbers).all():
            return numbers
    raise BadArgument(got=f"action {action!r}", wanted="two numbers")


def _named(goal: Array) -> Observation:
    return {"desired_goal": goal.copy(), "state_desired_goal": goal.copy()}


def _length(vectors: Array) -> Any:
    # Squares, a sum and a root have the same bits on every platform; np.linalg.norm has not.
    return np.sqrt(np.square(vectors).sum(axis=-1))
