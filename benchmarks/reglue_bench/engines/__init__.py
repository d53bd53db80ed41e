"""Engines play the units of a plan: in this process, or in several."""

from reglue_bench.engines.agent_pool import LocalEngine
from reglue_bench.engines.dealing import DealingEngine
from reglue_bench.engines.engine import Engine
from reglue_bench.engines.process_players import LocalPlayers, Players
from reglue_bench.engines.ray.ray_players import RayPlayers
from reglue_bench.engines.shard import FromShard, ShardSettings

__all__ = [
    "DealingEngine",
    "Engine",
    "FromShard",
    "LocalEngine",
    "LocalPlayers",
    "Players",
    "RayPlayers",
    "ShardSettings",
]
