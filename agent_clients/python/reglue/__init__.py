"""Reglue for agents, environments and benchmark programs: write one and connect it to a glue.

import reglue

class Still(reglue.Agent):
    def agent_start(self, observations, starts):
        return [self.spec.actions[0].empty(1)[0]] * len(starts)

    def agent_step(self, rewards, observations, steps):
        return [self.spec.actions[0].empty(1)[0]] * len(steps)

reglue.connect(Still(), "127.0.0.1:4096", token="…")
"""

from reglue.agents.agent import Agent, Policy
from reglue.client import connect
from reglue.environments.environment import Earned, Environment, Worlds
from reglue.environments.world import Cell, Step, Suite, World
from reglue.errors import ReglueError
from reglue.experiments.experiment import Experiment
from reglue.messages.agent import ActionFlag, Actions, EndKind, Ends, Phase, Starts, Steps, Turn
from reglue.rng import Rng
from reglue.spec import (
    Box,
    Discrete,
    MultiBinary,
    MultiDiscrete,
    TaskSpec,
    TensorSpec,
)

__all__ = [
    "ActionFlag",
    "Actions",
    "Agent",
    "Box",
    "Cell",
    "Discrete",
    "Earned",
    "EndKind",
    "Ends",
    "Environment",
    "Experiment",
    "MultiBinary",
    "MultiDiscrete",
    "Phase",
    "Policy",
    "ReglueError",
    "Rng",
    "Starts",
    "Step",
    "Steps",
    "Suite",
    "TaskSpec",
    "TensorSpec",
    "Turn",
    "World",
    "Worlds",
    "connect",
]
