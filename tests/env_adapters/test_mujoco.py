"""The libraries that MuJoCo loads."""

from __future__ import annotations

import pytest

from tests.programs import run_python

PROGRAM = """
import subprocess, sys

started, begin = [], subprocess.Popen.__init__
def note(self, *arguments, **options):
    started.append(arguments)
    begin(self, *arguments, **options)
subprocess.Popen.__init__ = note

{load}
assert "mujoco" in sys.modules
assert "glfw.library" not in sys.modules, "nothing has been drawn"
assert not started, started

import glfw
assert glfw.VISIBLE == 0x00020004
assert "glfw.library" in sys.modules
"""


@pytest.mark.parametrize(
    "load",
    [
        "from env_adapters.metaworld.library import metaworld; metaworld('env_dict')",
        "from env_adapters import gymnasium_library; gymnasium_library.make('Hopper-v5', {})",
    ],
)
def test_glfw_is_loaded_and_starts_a_process_only_when_it_is_used(load: str) -> None:
    """A worker that steps MuJoCo draws nothing."""
    run_python(PROGRAM.format(load=load))
