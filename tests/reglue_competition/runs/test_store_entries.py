"""Agents that enter while a submission ends."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from glue_server.rpc.handlers import Caller
from tests.reglue_competition.runs.hosting import hosting
from tests.waiting import PATIENCE_S, until

CALLER = Caller("127.0.0.1:1")


def test_an_agent_that_enters_while_its_submission_ends_enters_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The end is stored once its agent is expected, and it is not while the agent enters."""
    with hosting(tmp_path) as server, ThreadPoolExecutor() as threads:
        token = server.team("ours").token
        submission = server.entries.enter(token, "mine", CALLER)
        enter, may_go_on = server.store.enter, threading.Event()

        def enter_slowly(*args: Any, **how: Any) -> Any:
            assert may_go_on.wait(PATIENCE_S)
            return enter(*args, **how)

        monkeypatch.setattr(server.store, "enter", enter_slowly)
        entered = threads.submit(server.entries.enter, token, "mine", CALLER)
        until(server.entries._entering.locked, "it enters")
        ended = server.store.submissions()
        expected = threads.submit(server.entries.expect, ended, time.monotonic() + PATIENCE_S)
        with pytest.raises(TimeoutError):
            expected.result(0.1)
        may_go_on.set()
        assert entered.result(PATIENCE_S) == submission
        expected.result(PATIENCE_S)
        server.store.set_status(submission, "cancelled")
        assert server.entries.enter(token, "mine", CALLER) == submission
