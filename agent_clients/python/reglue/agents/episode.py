"""An agent that is written for one episode: slots are handled here."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from reglue.agents.agent import Agent, Chosen
from reglue.messages.agent_messages import EndKind, Ends, Starts, Steps
from reglue.spec import Arrays


class AgentEpisode(ABC):
    """An agent's part in one episode, from its start to its end.

    An observation is an array of the tensor's shape, or a dict of such arrays if the task has
    several; so is an action. What the episode remembers are its attributes.
    """

    @abstractmethod
    def start(self, observation: Any) -> Any:
        """Choose the first action."""

    @abstractmethod
    def step(self, reward: float, observation: Any) -> Any:
        """Choose the next action. `reward` is of the one before; NaN if it is withheld."""

    def end(  # noqa: B027 - most do nothing then
        self, reward: float, observation: Any, kind: EndKind
    ) -> None:
        """Receive the last reward and observation, and how the episode ended.

        Not called for an episode that was abandoned.
        """


class EpisodeAgent(Agent, ABC):
    """Derive from it and write `new_episode`.

    Attributes of the agent are what all episodes share, such as what it learned.

    Examples:
        >>> import reglue
        >>> from glue_server import Glue
        >>> class Pump(reglue.AgentEpisode):
        ...     def start(self, observation):  # (position, velocity)
        ...         return 0 if observation[1] < 0 else 2
        ...     def step(self, reward, observation):
        ...         return self.start(observation)
        >>> class Pumps(reglue.EpisodeAgent):
        ...     def new_episode(self, seed):
        ...         return Pump()
        >>> with Glue(environment="mountain-car", agent=Pumps()) as rl:
        ...     spec = rl.init()
        ...     ended = rl.episode()
        ...     print(ended, rl.return_())
        True -121.0
    """

    @abstractmethod
    def new_episode(self, seed: int) -> AgentEpisode:
        """Make what plays the episode that begins; `seed` is of its own random numbers."""

    def agent_start(self, observations: Arrays, starts: Starts) -> Chosen:
        """Begin each episode."""
        slots = starts.slots.tolist()
        for slot, seed in zip(slots, starts.seeds.tolist(), strict=True):
            self._episodes[slot] = self.new_episode(seed)
        rows = zip(slots, _rows(observations, len(slots)), strict=True)
        return _together([self._episodes[slot].start(row) for slot, row in rows])

    def agent_step(
        self, rewards: npt.NDArray[np.float64], observations: Arrays, steps: Steps
    ) -> Chosen:
        """Go on with each episode."""
        slots = steps.slots.tolist()
        rows = zip(slots, rewards.tolist(), _rows(observations, len(slots)), strict=True)
        return _together([self._episodes[slot].step(reward, row) for slot, reward, row in rows])

    def agent_end(self, rewards: npt.NDArray[np.float64], observations: Arrays, ends: Ends) -> None:
        """End each episode, and forget it."""
        slots, kinds = ends.slots.tolist(), map(EndKind, ends.kinds.tolist())
        rows = zip(slots, kinds, rewards.tolist(), _rows(observations, len(slots)), strict=True)
        for slot, kind, reward, row in rows:
            self._episodes.pop(slot).end(reward, row, kind)

    @cached_property
    def _episodes(self) -> dict[int, AgentEpisode]:
        """The episodes by slot."""
        return {}


def _rows(observations: Arrays, count: int) -> Iterator[Any]:
    """The observation of each episode."""
    if len(observations) == 1:
        return iter(next(iter(observations.values())))
    return ({name: rows[i] for name, rows in observations.items()} for i in range(count))


def _together(actions: list[Any]) -> Chosen:
    """Rows of the episodes' actions."""
    if isinstance(actions[0], dict):
        return {name: np.stack([each[name] for each in actions]) for name in actions[0]}
    return actions
