"""A curriculum over the arcade: one schedule as an environment, and its first frames as a picture.

    python docs/examples/arcade_curriculum.py --out frames.png

needs `reglue[server,gymnasium]`. The k-th episode is a function of the schedule, the seed and k, so
any agent that trains on it meets the same games.
"""

from __future__ import annotations

import argparse
from typing import Any

from env_adapters.arcade import make_config
from env_adapters.curricula import get_first_frames, make_curriculum


def schedule() -> list[Any]:
    """The games to play, each with its number of episodes."""
    grey, blue = make_config("pong"), make_config("pong")
    grey["display_settings"]["background_color"] = [128, 128, 128]
    blue["display_settings"]["background_color"] = {
        "distribution": "normal",
        "mean": [100, 100, 255],
        "std": [20, 20, 0],
    }
    return [
        ["breakout", 4],  # a game, for four episodes
        [{"pool": ["duel", "invasion", "maze"]}, 4],  # one of these, drawn anew for each episode
        [{"interpolate": [make_config("pong"), grey]}, 4],  # episode k is k/4 of the way to grey
        [{"repeat": [[blue, 1], ["freeway", 1]]}, 2],  # a schedule, twice; blue is drawn anew
    ]


def main(arguments: list[str] | None = None) -> None:
    """Draw the first frame of each episode, and play a random agent through all of them."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", default="frames.png", help="the picture")
    parser.add_argument("--seed", type=int, default=3, help="of what is drawn")
    parser.add_argument("--steps", type=int, default=200, help="the most of an episode")
    chosen = parser.parse_args(arguments)
    env, episodes = make_curriculum(schedule(), episodic=True, seed=chosen.seed)
    get_first_frames(env, episodes, rows=2, path=chosen.out)
    env, _ = make_curriculum(schedule(), episodic=True, seed=chosen.seed)
    env.action_space.seed(chosen.seed)
    for episode in range(episodes):
        env.reset()
        earned, over, steps = 0.0, False, 0
        while not over and steps < chosen.steps:
            _, reward, terminated, truncated, _ = env.step(env.action_space.sample())
            earned, over, steps = earned + float(reward), terminated or truncated, steps + 1
        print(f"episode {episode}: return {earned:g} in {steps} steps")
    env.close()


if __name__ == "__main__":
    main()
