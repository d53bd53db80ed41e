"""What all tests share: Hypothesis that is slow without failing and draws the same every time."""

from __future__ import annotations

import hypothesis


def pytest_configure() -> None:
    """No deadline: machines are shared. `--hypothesis-profile=default` searches anew."""
    hypothesis.settings.register_profile("reglue", deadline=None, derandomize=True, database=None)
    hypothesis.settings.load_profile("reglue")
