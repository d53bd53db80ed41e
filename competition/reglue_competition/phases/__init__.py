"""What a competition's phases play: secrets, drawn plans, and the commitment to them."""

from reglue_competition.phases.commitment import (
    Revealed,
    check_reveal,
    commitment,
    opened_for,
    reveal,
    reveal_file,
)
from reglue_competition.phases.drawing import Drawn, entry_secret, plans_of
from reglue_competition.phases.secrets import Secrets

__all__ = [
    "Drawn",
    "Revealed",
    "Secrets",
    "check_reveal",
    "commitment",
    "entry_secret",
    "opened_for",
    "plans_of",
    "reveal",
    "reveal_file",
]
