"""Players that read an episode's insides: one for each game, none of them clever."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from env_adapters.arcade import Arcade
from env_adapters.arcade.scene import Body, blocked

NOOP, UP, DOWN, LEFT, RIGHT, FIRE = range(6)


@dataclass
class Seen:
    """The places of the bodies."""

    player: Body
    opponent: Body
    shot: Body
    return_shot: Body
    rest: list[Body]  # balls, then blocks
    walls: list[Any]


Policy: TypeAlias = Callable[[Seen], int]


def see(env: Arcade) -> Seen:
    """The bodies that `get_inside` lists."""
    inside = env.get_inside()
    bodies = [Body(*row) for row in inside["bodies"].tolist()]
    player, opponent, shot, return_shot, *rest = bodies
    return Seen(player, opponent, shot, return_shot, rest, inside["walls"].tolist())


def score(game: str, policy: Policy, episodes: int, most_steps: int = 5000) -> float:
    """The mean score."""
    env = Arcade(game)
    total = 0.0
    for seed in range(episodes):
        env.reset(seed=seed)
        for _ in range(most_steps):
            _, _, terminated, truncated, info = env.step(policy(see(env)))
            if terminated or truncated:
                break
        total += info["score"]
    return total / episodes


def wait(_: Seen) -> int:
    """Does nothing."""
    return NOOP


def follow(seen: Seen) -> int:
    """Stays below the ball."""
    return _towards(seen, _middle(seen.rest[0]))


def slant(seen: Seen) -> int:
    """Hits the ball with the end that sends it away from the opponent."""
    if seen.rest[0].vy < 0:
        return _towards(seen, 0.5)
    end = 0.08 if _middle(seen.opponent) < 0.5 else -0.08
    return _towards(seen, _middle(seen.rest[0]) - end)


def duel(seen: Seen) -> int:
    """Leaves the cover to shoot, and steps aside for a shot."""
    if _threatened(seen):
        return LEFT if seen.player.x > 0.05 else RIGHT
    near = abs(_middle(seen.player) - _middle(seen.opponent)) < 0.1
    if near and abs(_middle(seen.player) - 0.5) > 0.12 and not seen.shot.alive:
        return FIRE
    aim = _middle(seen.opponent)
    return _towards(seen, aim if abs(aim - 0.5) > 0.15 else 0.3)


def dodge(seen: Seen) -> int:
    """Keeps away from the ball, and shoots."""
    ball, x = seen.rest[0], _middle(seen.player)
    if _threatened(seen):
        return LEFT if x < _middle(seen.return_shot) else RIGHT
    if ball.y > 0.45 and abs(_middle(ball) - x) < 0.3:
        return LEFT if x > 0.9 or (x < _middle(ball) and x > 0.12) else RIGHT
    if not seen.shot.alive and abs(_middle(seen.opponent) - x) < 0.1:
        return FIRE
    return _towards(seen, _middle(seen.opponent))


def cross(seen: Seen) -> int:
    """Goes up where no block will be soon, and back where one is."""

    def safe(y: float) -> bool:
        player = seen.player
        return not any(
            block.y < y + player.h
            and y < block.y + block.h
            and block.x + 2 * step * block.vx - 0.01 < player.x + player.w
            and player.x < block.x + 2 * step * block.vx + block.w + 0.01
            for block in seen.rest
            for step in range(6)
        )

    y = seen.player.y
    return UP if safe(y - 0.016) and safe(y - 0.032) else NOOP if safe(y) else DOWN


def shoot(seen: Seen) -> int:
    """Aims at the lowest block."""
    blocks = [block for block in seen.rest if block.alive and block.y < 0.8]
    if not blocks:
        return NOOP
    target = max(blocks, key=lambda block: block.y)
    if abs(_middle(target) - _middle(seen.player)) < 0.04 and target.y + target.h > 0.05:
        return NOOP if seen.shot.alive else FIRE
    return _towards(seen, _middle(target))


class Walk:
    """Finds the way through the maze at its first step, then goes it."""

    def __init__(self) -> None:
        self._way: list[int] = []

    def __call__(self, seen: Seen) -> int:
        if not self._way:
            self._way = _way(seen)
        return self._way.pop(0)


def players() -> dict[str, Policy]:
    """One for each game."""
    return {
        "breakout": follow,
        "dodgeball_duel": dodge,
        "duel": duel,
        "freeway": cross,
        "invasion": shoot,
        "keep_ups": follow,
        "maze": Walk(),
        "pong": slant,
    }


def _middle(body: Body) -> float:
    return body.x + body.w / 2


def _towards(seen: Seen, x: float) -> int:
    ahead = x - _middle(seen.player)
    return NOOP if abs(ahead) < 0.021 else RIGHT if ahead > 0 else LEFT


def _threatened(seen: Seen) -> bool:
    shot, player = seen.return_shot, seen.player
    near = player.x - 0.02 < shot.x + shot.w and shot.x < player.x + player.w + 0.02
    return bool(shot.alive) and shot.y > 0.3 and near


def _way(seen: Seen) -> list[int]:
    """Actions that lead out above, by breadth-first search over half steps."""
    came_by: dict[tuple[int, int], tuple[tuple[int, int], int]] = {}
    ahead = deque([(0, 0)])
    while ahead:
        place = ahead.popleft()
        if seen.player.y + 0.02 * place[1] + seen.player.h < 0.07:
            return list(_traced(place, came_by))[::-1]
        for action, (right, down) in {
            UP: (0, -1),
            DOWN: (0, 1),
            LEFT: (-1, 0),
            RIGHT: (1, 0),
        }.items():
            there = place[0] + right, place[1] + down
            halves = [(place[0] + right / 2, place[1] + down / 2), there]
            if there not in came_by and there != (0, 0) and all(_free(seen, *at) for at in halves):
                came_by[there] = place, action
                ahead.append(there)
    raise AssertionError("there is no way out")


def _traced(
    place: tuple[int, int], came_by: dict[tuple[int, int], tuple[tuple[int, int], int]]
) -> Iterator[int]:
    while place != (0, 0):
        place, action = came_by[place]
        yield action


def _free(seen: Seen, right: float, down: float) -> bool:
    x, y = seen.player.x + 0.02 * right, seen.player.y + 0.02 * down
    rect = x, y, x + seen.player.w, y + seen.player.h
    return rect[0] >= 0.03 and rect[2] <= 0.97 and rect[3] <= 0.9 and not blocked(rect, seen.walls)
