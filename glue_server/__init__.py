"""The glue: joins an agent and environments, in one process or many.

Read in this order: `agent` and `environment` (the two sides, local or remote), `episodes` (the loop
that plays a benchmark's episodes in all slots), `routines` (those of RL-Glue), `rpc` (both over
gRPC and Unix sockets), `peers` (a hub that matches who joins), `commands`. `processes` has what
starts, isolates and ends processes. Each imports only those before it.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from glue_server.agent.agent_port import AgentPort, LocalPort
    from glue_server.environment.environment_calls import EnvironmentCalls
    from glue_server.environment.environment_port import EnvironmentPort, LocalEnvironmentPort
    from glue_server.environment.workers import WorkersPort
    from glue_server.episodes.loop import NextOrder, Spent
    from glue_server.episodes.recording import CRASHED, LOST, Order, Outcome
    from glue_server.episodes.runner import EpisodeRunner
    from glue_server.glue import Glue
    from glue_server.routines.state_machine import StateMachine
    from glue_server.timeouts import Timeouts
else:
    _WHERE = {
        "AgentPort": "glue_server.agent.agent_port",
        "CRASHED": "glue_server.episodes.recording",
        "LOST": "glue_server.episodes.recording",
        "EnvironmentCalls": "glue_server.environment.environment_calls",
        "EnvironmentPort": "glue_server.environment.environment_port",
        "EpisodeRunner": "glue_server.episodes.runner",
        "Glue": "glue_server.glue",
        "LocalEnvironmentPort": "glue_server.environment.environment_port",
        "LocalPort": "glue_server.agent.agent_port",
        "NextOrder": "glue_server.episodes.loop",
        "Order": "glue_server.episodes.recording",
        "Outcome": "glue_server.episodes.recording",
        "Spent": "glue_server.episodes.loop",
        "StateMachine": "glue_server.routines.state_machine",
        "Timeouts": "glue_server.timeouts",
        "WorkersPort": "glue_server.environment.workers",
    }

    def __getattr__(name):
        """Imported when it is first used: a worker needs neither gRPC nor a hub."""
        if name not in _WHERE:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = globals()[name] = getattr(import_module(_WHERE[name]), name)
        return found


__all__ = [
    "CRASHED",
    "LOST",
    "AgentPort",
    "EnvironmentCalls",
    "EnvironmentPort",
    "EpisodeRunner",
    "Glue",
    "LocalEnvironmentPort",
    "LocalPort",
    "NextOrder",
    "Order",
    "Outcome",
    "Spent",
    "StateMachine",
    "Timeouts",
    "WorkersPort",
]
