"""Large turns do not ask the kernel for their memory again and again."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

FAULTS = """
import resource, sys
import numpy as np
from reglue import TaskSpec, TensorSpec
from reglue.malloc import keep_blocks_for

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

spec = TaskSpec((TensorSpec("camera", "uint8", (480, 480, 3)),), (TensorSpec("a", "int8", ()),))
if sys.argv[1] == "kept":
    keep_blocks_for(spec)
image = np.ones(480 * 480 * 3, np.uint8)
image.tobytes()
before = faults()
for _ in range(50):
    image.tobytes() + b"frame"
print(faults() - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="no other C library is told anything")
def test_blocks_of_a_large_turn_are_kept() -> None:
    """Pages of fresh memory, as the kernel counts them."""
    assert faults("kept") < 50 * 100 < faults("fresh")


def faults(how: str) -> int:
    done = subprocess.run(
        [sys.executable, "-c", FAULTS, how], capture_output=True, text=True, check=True
    )
    return int(done.stdout)
