"""Agents to start from: one file each, readable in one sitting."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

EXAMPLES: Mapping[str, str] = MappingProxyType(
    {
        "random": "reglue.examples.random_agent:RandomAgent",
        "constant": "reglue.examples.constant:Constant",
        "q_learning": "reglue.examples.tabular_q:TabularQ",
        "sarsa": "reglue.examples.sarsa:Sarsa",
        "expert": "reglue.examples.expert:ExpertAgent",
        "reach_adapt": "reglue.examples.reach_adapt:ReachAdapt",
    }
)
"""Name on the command line -> module and class."""
