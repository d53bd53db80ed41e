"""What runs are judged by: success, returns, or performance while the agent learns."""

from reglue_bench.criteria.criterion import Criterion
from reglue_bench.criteria.performance import PERFORMANCE
from reglue_bench.criteria.returns import RETURN
from reglue_bench.criteria.seeded_returns import SEEDED_RETURN
from reglue_bench.criteria.success import SUCCESS

__all__ = ["PERFORMANCE", "RETURN", "SEEDED_RETURN", "SUCCESS", "Criterion"]
