"""The glue: joins an agent and environments, in one process or many."""

from glue_server.episodes import Order, Outcome
from glue_server.loop import NextOrder
from glue_server.pool import LocalPool, Pool
from glue_server.port import AgentPort, LocalPort
from glue_server.slot_glue import SlotGlue, Spent, Timeouts
from glue_server.workers import WorkerPool

__all__ = [
    "AgentPort",
    "LocalPool",
    "LocalPort",
    "NextOrder",
    "Order",
    "Outcome",
    "Pool",
    "SlotGlue",
    "Spent",
    "Timeouts",
    "WorkerPool",
]
