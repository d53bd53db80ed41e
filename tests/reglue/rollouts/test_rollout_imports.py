"""What collecting rollouts takes: NumPy, and Gymnasium when an environment is given."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from reglue.errors import MissingExtra
from reglue.rollouts import collect_steps
from tests.error_facts import raises


def test_importing_rollouts_loads_numpy_alone() -> None:
    code = "import sys, reglue.rollouts; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert not {"gymnasium", "grpc", "torch", "jax"} & set(run.stdout.split())


def test_a_missing_gymnasium_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    with raises(MissingExtra, "reglue.rollouts", "reglue[gymnasium]", name="gymnasium"):
        collect_steps(object(), lambda seen: np.zeros(1), 2)
