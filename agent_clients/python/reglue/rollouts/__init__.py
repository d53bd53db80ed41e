"""Collect what a policy meets in a Gymnasium vector environment, as named NumPy arrays.

A row holds an observation, what came with it (the reward of the action of the row before, the
flags of an end) and the action that the policy then chose.
"""

from reglue.rollouts.episode_collector import collect_episodes
from reglue.rollouts.rollout import Rollout, transitions
from reglue.rollouts.step_collector import collect_steps

__all__ = ["Rollout", "collect_episodes", "collect_steps", "transitions"]
