"""The glue: joins an agent and environments, in one process or many.

Read in this order: `agent` and `environment` (the two sides, local or remote), `episodes` (the loop
that plays a benchmark's episodes in all slots), `routines` (those of RL-Glue), `rpc` (both over
gRPC and Unix sockets), `peers` (a hub that matches who joins), `commands`. `processes` has what
starts, isolates and ends processes. Each imports only those before it.
"""

from glue_server.agent.port import AgentPort, LocalPort
from glue_server.environment.calls import EnvironmentCalls
from glue_server.environment.port import EnvironmentPort, LocalEnvironmentPort
from glue_server.environment.workers import WorkersPort
from glue_server.episodes.loop import NextOrder, Spent
from glue_server.episodes.recording import CRASHED, Order, Outcome
from glue_server.episodes.runner import EpisodeRunner
from glue_server.glue import Glue
from glue_server.routines.state_machine import StateMachine
from glue_server.timeouts import Timeouts

__all__ = [
    "CRASHED",
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
