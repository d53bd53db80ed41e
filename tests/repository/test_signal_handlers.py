"""Handlers of signals are set in one file of the SDK, and in one above it."""

from __future__ import annotations

import re

from tests.repository.pages import ROOT
from tests.repository.tracked_files import tracked

PACKAGES = (
    "agent_clients/python",
    "glue_server",
    "env_adapters",
    "benchmarks/reglue_bench",
    "competition",
)
SETS_ONE = re.compile(r"\bsignal\.(signal|set_wakeup_fd|sigaction)\b|\badd_signal_handler\(")


def test_handlers_are_set_in_two_files() -> None:
    setting = {
        path
        for path in tracked(*PACKAGES)
        if path.endswith(".py") and SETS_ONE.search((ROOT / path).read_text(encoding="utf-8"))
    }
    assert setting == {
        "agent_clients/python/reglue_signals.py",
        "glue_server/processes/interrupts.py",
    }
