"""Debian's Chromium, which looks at pages as people do."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One for all tests of a file."""
    found = shutil.which("chromium")
    assert found, ".ci/chromium installs it"
    sandbox = ["--no-sandbox"] if os.getuid() == 0 else []
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=found, args=sandbox)
        yield chromium
        chromium.close()
