"""What runs are judged by: success, returns, or performance while the agent learns."""

from reglue_bench.kinds.kind import Kind
from reglue_bench.kinds.performance import PERFORMANCE
from reglue_bench.kinds.returns import RETURN
from reglue_bench.kinds.success import SUCCESS

__all__ = ["PERFORMANCE", "RETURN", "SUCCESS", "Kind"]
