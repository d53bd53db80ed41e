"""Where the units of a plan are carried out: in this process, or in processes of their own."""

from reglue_bench.engines.engine import Engine
from reglue_bench.engines.here import HereEngine
from reglue_bench.engines.local import LocalEngine
from reglue_bench.engines.shard import ShardTold

__all__ = ["Engine", "HereEngine", "LocalEngine", "ShardTold"]
