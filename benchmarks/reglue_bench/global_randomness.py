"""The random generators that a whole process shares: Python's, NumPy's and PyTorch's."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np


@contextmanager
def unchanged_randomness() -> Iterator[None]:
    """Leave these generators as they were before these lines, also if they raise.

    So a training goes on as if it had not been evaluated, whatever the agent or environments of
    this process draw. PyTorch's are those of the processor and of CUDA, if they are in use.
    """
    with ExitStack() as restoring:
        restoring.callback(random.setstate, random.getstate())
        restoring.callback(np.random.set_state, np.random.get_state())  # noqa: NPY002 - the caller's
        if (torch := sys.modules.get("torch")) is not None:
            _restore_torch(torch, restoring)
        yield


def _restore_torch(torch: Any, restoring: ExitStack) -> None:
    restoring.callback(torch.set_rng_state, torch.get_rng_state())
    if torch.cuda.is_initialized():
        restoring.callback(torch.cuda.set_rng_state_all, torch.cuda.get_rng_state_all())
