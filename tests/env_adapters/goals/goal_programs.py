"""Programs in processes of their own."""

from __future__ import annotations

import json
from typing import Any

from tests.programs import run_python


def answer(program: str, **variables: str) -> Any:
    """The JSON that it prints last; MUJOCO_GL, DISPLAY and so on are as `variables` say."""
    unset = ("MUJOCO_GL", "PYOPENGL_PLATFORM", "DISPLAY", "WAYLAND_DISPLAY")
    done = run_python(program, unset=unset, PYTHONWARNINGS="error", **variables)
    return json.loads(done.stdout.splitlines()[-1])
