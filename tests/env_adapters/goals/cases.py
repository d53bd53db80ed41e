"""The results of multiworld's own code, by its arguments."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

CASES: dict[str, Any] = json.loads(
    (Path(__file__).parent / "multiworld_cases.json").read_text(encoding="utf-8")
)
