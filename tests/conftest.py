"""What all tests share: a Hypothesis that draws the same every time, and a cache of their own."""

from __future__ import annotations

import os
import tempfile

import hypothesis
import pytest


def pytest_configure(config: pytest.Config) -> None:
    """No deadline: machines are shared. `--hypothesis-profile=default` searches anew."""
    hypothesis.settings.register_profile("reglue", deadline=None, derandomize=True, database=None)
    hypothesis.settings.load_profile("reglue")
    if "PYTEST_XDIST_WORKER" not in os.environ:  # those share their parent's
        folder = tempfile.TemporaryDirectory(prefix="reglue-cache-")
        config.add_cleanup(folder.cleanup)
        os.environ["REGLUE_CACHE_DIR"] = folder.name  # for processes that tests start, too
