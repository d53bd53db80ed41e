"""What multiworld's own code gave, by what was asked of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

CASES: dict[str, Any] = json.loads(
    (Path(__file__).parent / "multiworld_cases.json").read_text(encoding="utf-8")
)
