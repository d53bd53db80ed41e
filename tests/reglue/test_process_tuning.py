"""Garbage is collected seldom while programs start; large turns reuse memory."""

from __future__ import annotations

import gc
import platform
import subprocess
import sys
import weakref
from collections.abc import Iterator

import pytest

from reglue.process_tuning import collecting_seldom

FAULTS = """
import resource, sys
import numpy as np
from reglue import TaskSpec, TensorSpec
from reglue.process_tuning import keep_blocks_for

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


class Cycle:
    """Only the collector sees that nobody needs it."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture(autouse=True)
def thawed() -> Iterator[None]:
    yield
    gc.unfreeze()


def collections() -> int:
    return sum(generation["collections"] for generation in gc.get_stats())


def test_loading_a_module_is_not_held_up() -> None:
    kept: list[list[int]] = []
    before = collections()
    with collecting_seldom():
        kept += [[number] for number in range(50_000)]
    assert collections() == before
    kept += [[number] for number in range(50_000)]
    assert collections() > before


def test_what_is_left_in_large_amounts_is_still_collected() -> None:
    with collecting_seldom():
        first = weakref.ref(Cycle())
        for _ in range(300_000):
            Cycle()
        assert first() is None


def test_the_collector_is_left_as_it_was_found() -> None:
    before = gc.get_threshold(), gc.isenabled()
    with pytest.raises(ImportError), collecting_seldom():
        raise ImportError
    assert (gc.get_threshold(), gc.isenabled()) == before


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="no other C library is told anything")
def test_blocks_of_a_large_turn_are_kept() -> None:
    """Pages of fresh memory, as the kernel counts them."""
    assert faults("kept") < 50 * 100 < faults("fresh")


def faults(how: str) -> int:
    done = subprocess.run(
        [sys.executable, "-c", FAULTS, how], capture_output=True, text=True, check=True
    )
    return int(done.stdout)


def test_a_process_that_exits_without_collecting_leaves_its_garbage_alone() -> None:
    """To look for it would take longer than all else that is left to do."""
    code = (
        "import gc, sys\n"
        "from reglue.process_tuning import exit_without_collecting\n"
        "class Cycle:\n"
        "    def __init__(self): self.itself = self\n"
        "    def __del__(self): print('collected')\n"
        "gc.disable()\n"
        "Cycle()\n"
        "if sys.argv[1] == 'without': exit_without_collecting()\n"
    )
    said = {
        how: subprocess.run(
            [sys.executable, "-c", code, how], capture_output=True, text=True, check=True
        ).stdout
        for how in ("without", "with")
    }
    assert said == {"without": "", "with": "collected\n"}
