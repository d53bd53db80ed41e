"""dm_control is tested where the extra `dm-control` installs it: not with Python 3.13."""

from __future__ import annotations

import sys

import pytest

IS_INSTALLED = sys.version_info < (3, 13)

INSTALLED = pytest.mark.skipif(not IS_INSTALLED, reason="there is no dm_control for this Python")
