"""Plans of a competition's phases: secrets, drawn plans, and the commitment to them."""

from reglue_competition.phases.commitment import (
    PhaseReveal,
    check_reveal,
    commitment,
    plan_for,
    reveal,
    reveal_file,
)
from reglue_competition.phases.drawing import (
    PlannedBenchmark,
    calls_server,
    entry_secret,
    plan_phase,
)
from reglue_competition.phases.secrets import Secrets

__all__ = [
    "PhaseReveal",
    "PlannedBenchmark",
    "Secrets",
    "calls_server",
    "check_reveal",
    "commitment",
    "entry_secret",
    "plan_for",
    "plan_phase",
    "reveal",
    "reveal_file",
]
