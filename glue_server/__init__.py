"""The glue: joins an agent and environments, in one process or many."""

from glue_server.agent.port import AgentPort, LocalPort
from glue_server.environment.pool import LocalPool, Pool, PortPool
from glue_server.environment.port import EnvironmentPort, LocalEnvironmentPort
from glue_server.environment.workers import WorkerPool
from glue_server.episodes.loop import NextOrder, Spent
from glue_server.episodes.order import Order, Outcome
from glue_server.episodes.runner import EpisodeRunner
from glue_server.routines.glue import Glue
from glue_server.routines.machine import Machine
from glue_server.timeouts import Timeouts

__all__ = [
    "AgentPort",
    "EnvironmentPort",
    "EpisodeRunner",
    "Glue",
    "LocalEnvironmentPort",
    "LocalPool",
    "LocalPort",
    "Machine",
    "NextOrder",
    "Order",
    "Outcome",
    "Pool",
    "PortPool",
    "Spent",
    "Timeouts",
    "WorkerPool",
]
