"""RL-Glue 3's Python codec: an agent that does nothing, or the light environment."""

from __future__ import annotations

import sys
from typing import Any

from rlglue.agent.ClientAgent import ClientAgent
from rlglue.environment.ClientEnvironment import ClientEnvironment
from rlglue.types import Action, Observation, Reward_observation_terminal

from speed.light import Light


class Still:
    """The routines of the codec's Agent."""

    def agent_init(self, task: str) -> None:
        """Begin."""

    def agent_start(self, observation: Any) -> Any:
        """The first action."""
        return _still()

    def agent_step(self, reward: float, observation: Any) -> Any:
        """The next action."""
        return _still()

    def agent_cleanup(self) -> None:
        """The very end."""


class Served:
    """The routines of the codec's Environment."""

    def __init__(self) -> None:
        self._light = Light()

    def env_init(self) -> str:
        """The task."""
        return "light"

    def env_start(self) -> Any:
        """The first observation."""
        return _seen(self._light.reset())

    def env_step(self, action: Any) -> Any:
        """Take a step."""
        reward, seen = self._light.step(int(action.intArray[0]))
        return Reward_observation_terminal(reward, _seen(seen), False)

    def env_cleanup(self) -> None:
        """The very end."""


def main(role: str, port: int) -> None:
    """Play `role` at the hub, until it ends."""
    if role == "agent":
        agent = ClientAgent(Still())
        agent.connect("127.0.0.1", port, 2)
        agent.runAgentEventLoop()
    else:
        environment = ClientEnvironment(Served())
        environment.connect("127.0.0.1", port, 2)
        environment.runEnvironmentEventLoop()


def _still() -> Any:
    action = Action()
    action.intArray = [0]
    return action


def _seen(numbers: Any) -> Any:
    observation = Observation()
    observation.doubleArray = numbers.tolist()
    return observation


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
