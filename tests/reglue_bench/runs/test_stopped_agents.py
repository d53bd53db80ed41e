"""An agent that was stopped (Ctrl-Z), and that Reglue ends: the words say so."""

from __future__ import annotations

from pathlib import Path

import pytest

from glue_server.rpc import connection
from tests.reglue_bench.toys import corridor_plan, joining, play


def test_an_agent_that_was_stopped_is_ended_and_said_to_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "STOPPED_S", 0.5)
    monkeypatch.setattr(connection, "_LOOK_S", 0.1)
    result = play(tmp_path, corridor_plan(), agent_cmd=joining("Stops"))
    assert result.ended_early is not None
    assert result.ended_early.status == "agent_disconnected"
    for words in ("has been stopped for 0.5 s", "Reglue ended the agent's process"):
        assert words in result.ended_early.what
    assert "SIGKILL" not in result.ended_early.what
