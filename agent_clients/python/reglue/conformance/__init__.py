"""The programs that `reglue conformance` plays with; `proto/CONFORMANCE.md` says what they do.

`reglue join reglue.conformance:ConformanceAgent` and `…:ConformanceEnvironment` run them.
"""

from reglue.conformance.agent_under_test import ConformanceAgent
from reglue.conformance.environment_under_test import ConformanceEnvironment

__all__ = ["ConformanceAgent", "ConformanceEnvironment"]
