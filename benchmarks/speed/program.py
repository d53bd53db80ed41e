"""Programs that are measured whole, from their start to their end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from speed.contender import ContenderFailed


@dataclass(frozen=True, slots=True)
class Ran:
    """What a program took and said."""

    seconds: float  # of the whole process
    said: str

    @property
    def found(self) -> dict[str, Any]:
        """What it wrote as JSON."""
        read: dict[str, Any] = json.loads(self.said)
        return read


def run(module: str, *arguments: str, environment: Mapping[str, str] | None = None) -> Ran:
    """`python -m module arguments`. Raises ContenderFailed."""
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    seconds = time.perf_counter() - began
    if done.returncode:
        words = (done.stdout + done.stderr).strip().splitlines()
        raise ContenderFailed("\n".join(words[-20:]))
    return Ran(seconds, done.stdout)
