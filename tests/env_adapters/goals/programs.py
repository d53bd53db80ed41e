"""Programs in processes of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any


def answer(program: str, **variables: str) -> Any:
    """The JSON that it prints last; MUJOCO_GL, DISPLAY and so on are as `variables` say."""
    unset = ("MUJOCO_GL", "PYOPENGL_PLATFORM", "DISPLAY", "WAYLAND_DISPLAY")
    kept = {name: value for name, value in os.environ.items() if name not in unset}
    path = os.pathsep.join(filter(None, sys.path))
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        env={**kept, "PYTHONPATH": path, **variables},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])
