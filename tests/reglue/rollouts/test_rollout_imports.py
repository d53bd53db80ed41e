"""Imports for collecting rollouts: NumPy, and Gymnasium when an environment is given."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from reglue.errors import MissingExtra
from reglue.rollouts import collect_steps
from tests.error_facts import raises


def test_a_missing_gymnasium_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    with raises(MissingExtra, "reglue.rollouts", "reglue[gymnasium]", name="gymnasium"):
        collect_steps(object(), lambda seen: np.zeros(1), 2)
