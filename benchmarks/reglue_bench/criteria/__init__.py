"""What runs are judged by: success, returns, or performance while the agent learns."""

from reglue_bench.criteria.criterion import Criterion
from reglue_bench.criteria.performance import PERFORMANCE
from reglue_bench.criteria.returns import RETURN
from reglue_bench.criteria.success import SUCCESS

__all__ = ["PERFORMANCE", "RETURN", "SUCCESS", "Criterion"]
