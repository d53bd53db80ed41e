"""What `docker-compose.yml` asks of who starts it."""

from __future__ import annotations

import re
from pathlib import Path

COMPOSE = Path(__file__).parents[2] / "docker-compose.yml"


def test_no_token_or_secret_has_a_default() -> None:
    """One that is not set is told, and `make env` sets it."""
    asked = re.findall(r"\$\{(\w+)(.*?)\}", COMPOSE.read_text(encoding="utf-8"))
    assert {"REGLUE_SECRET", "TOKEN_CPP"} <= {name for name, _ in asked}
    assert {how for _, how in asked} == {":?make env draws it"}
