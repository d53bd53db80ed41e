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

Names are loaded at their first use. Some need an extra: `reglue.evaluate`, `reglue.Evaluator`,
`reglue.Result` and `reglue.Glue` (`server`); `reglue.make` and `reglue.make_vec` (`gymnasium`).
"""

from importlib import import_module
from typing import TYPE_CHECKING

from reglue.errors import EnvironmentLost, IllegalAction, ReglueError

if TYPE_CHECKING:
    from glue_server import Glue as Glue
    from reglue.agents.agent import Agent, Policy
    from reglue.agents.episode import AgentEpisode, EpisodeAgent
    from reglue.agents.model_agent import ModelAgent
    from reglue.agents.torch_policy import TorchPolicy
    from reglue.client import connect
    from reglue.environments.environment import Earned, Environment
    from reglue.environments.slot_worlds import Worlds
    from reglue.environments.world import Step, Suite, World
    from reglue.experiments.experiment import Experiment
    from reglue.gymnasium.make import make as make
    from reglue.gymnasium.make import make_vec as make_vec
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
    from reglue.messages.environment_messages import Cell
    from reglue.rng import Rng
    from reglue.spec import (
        Box,
        Discrete,
        MultiBinary,
        MultiDiscrete,
        TaskSpec,
        TensorSpec,
    )
    from reglue.texts import Text
    from reglue_bench import Evaluator as Evaluator
    from reglue_bench import Result as Result
    from reglue_bench import evaluate as evaluate

    __version__: str
else:
    # Not for type checkers: they would take any name for an attribute.
    _WHERE = {
        "ActionFlag": "reglue.messages.agent_messages",
        "Actions": "reglue.messages.agent_messages",
        "Agent": "reglue.agents.agent",
        "AgentEpisode": "reglue.agents.episode",
        "Box": "reglue.spec",
        "Cell": "reglue.messages.environment_messages",
        "Discrete": "reglue.spec",
        "Earned": "reglue.environments.environment",
        "EndKind": "reglue.messages.agent_messages",
        "Ends": "reglue.messages.agent_messages",
        "Environment": "reglue.environments.environment",
        "EpisodeAgent": "reglue.agents.episode",
        "Experiment": "reglue.experiments.experiment",
        "ModelAgent": "reglue.agents.model_agent",
        "MultiBinary": "reglue.spec",
        "MultiDiscrete": "reglue.spec",
        "Phase": "reglue.messages.agent_messages",
        "Policy": "reglue.agents.agent",
        "Rng": "reglue.rng",
        "Starts": "reglue.messages.agent_messages",
        "Step": "reglue.environments.world",
        "Steps": "reglue.messages.agent_messages",
        "Suite": "reglue.environments.world",
        "TaskSpec": "reglue.spec",
        "TensorSpec": "reglue.spec",
        "Text": "reglue.texts",
        "TorchPolicy": "reglue.agents.torch_policy",
        "Turn": "reglue.messages.agent_messages",
        "World": "reglue.environments.world",
        "Worlds": "reglue.environments.slot_worlds",
        "connect": "reglue.client",
    }

    def __getattr__(name):
        """Imported when it is first used: a command's help needs no NumPy.

        Raises AttributeError, and MissingExtra for what an extra brings.
        """
        if name in _WHERE:
            value = getattr(import_module(_WHERE[name]), name)
        elif name == "__version__":
            from reglue.version import version_of

            value = version_of("reglue")
        else:
            from reglue.tools.extras import load_name

            value = load_name(name)
        globals()[name] = value
        return value

    def __dir__():
        """All names, also those that are not loaded yet."""
        from reglue.tools.extras import EXTRAS

        return sorted({*globals(), *_WHERE, *EXTRAS})


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
    "EnvironmentLost",
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
    "Text",
    "TorchPolicy",
    "Turn",
    "World",
    "Worlds",
    "connect",
]
