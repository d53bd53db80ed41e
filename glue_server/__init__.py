"""The glue: joins an agent and environments, in one process or many."""

from glue_server.environment_port import EnvironmentPort, LocalEnvironmentPort
from glue_server.episodes import Order, Outcome
from glue_server.glue import Glue
from glue_server.loop import NextOrder, Spent
from glue_server.machine import Machine
from glue_server.pool import LocalPool, Pool, PortPool
from glue_server.port import AgentPort, LocalPort
from glue_server.slot_glue import SlotGlue
from glue_server.timeouts import Timeouts
from glue_server.workers import WorkerPool

__all__ = [
    "AgentPort",
    "EnvironmentPort",
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
    "SlotGlue",
    "Spent",
    "Timeouts",
    "WorkerPool",
]
