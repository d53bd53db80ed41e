"""Reglue for agents, environments and benchmark programs: write one and connect it to a glue.

import reglue

class Still(reglue.Agent):
    def agent_start(self, observations, starts):
        return [self.spec.actions[0].empty(1)[0]] * len(starts)

    def agent_step(self, rewards, observations, steps):
        return [self.spec.actions[0].empty(1)[0]] * len(steps)

reglue.connect(Still(), "127.0.0.1:4096", token="…")

Read in this order: `agents`, `environments` and `experiments` (what you write, and how its calls
are carried out), `messages` (the calls), `wire` (their encoding), `net` (sessions over gRPC and
Unix sockets), `gymnasium` and `rollouts` (for training loops).

Names that need an extra are loaded at their first use: `reglue.evaluate`,
`reglue.Evaluator`, `reglue.Result` and `reglue.Glue` (`server`); `reglue.make` and
`reglue.make_vec` (`gymnasium`).
"""

from typing import TYPE_CHECKING

from reglue.agents.agent import Agent, Policy
from reglue.agents.episode import AgentEpisode, EpisodeAgent
from reglue.agents.model_agent import ModelAgent
from reglue.agents.torch_policy import TorchPolicy
from reglue.client import connect
from reglue.environments.environment import Earned, Environment, Worlds
from reglue.environments.world import Cell, Step, Suite, World
from reglue.errors import IllegalAction, ReglueError
from reglue.experiments.experiment import Experiment
from reglue.messages.agent_messages import (
    ActionFlag,
    Actions,
    EndKind,
    Ends,
    Phase,
    Starts,
    Steps,
    Turn,
)
from reglue.rng import Rng
from reglue.spec import (
    Box,
    Discrete,
    MultiBinary,
    MultiDiscrete,
    TaskSpec,
    TensorSpec,
)

if TYPE_CHECKING:
    from glue_server import Glue as Glue
    from reglue.gymnasium import make as make
    from reglue.gymnasium import make_vec as make_vec
    from reglue_bench import Evaluator as Evaluator
    from reglue_bench import Result as Result
    from reglue_bench import evaluate as evaluate
else:
    # Not for type checkers: they would take any name for an attribute.
    def __getattr__(name):
        """Load what an extra brings. Raises MissingExtra, AttributeError."""
        from reglue.tools.extras import load_name

        value = globals()[name] = load_name(name)
        return value

    def __dir__():
        """All names, also those that are not loaded yet."""
        from reglue.tools.extras import EXTRAS

        return sorted({*globals(), *EXTRAS})


__all__ = [
    "ActionFlag",
    "Actions",
    "Agent",
    "AgentEpisode",
    "Box",
    "Cell",
    "Discrete",
    "Earned",
    "EndKind",
    "Ends",
    "Environment",
    "EpisodeAgent",
    "Experiment",
    "IllegalAction",
    "ModelAgent",
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
    "TorchPolicy",
    "Turn",
    "World",
    "Worlds",
    "connect",
]
