"""A stranger's text in the output of a command that fails."""

from __future__ import annotations

import pytest

from glue_server.commands.command import Command
from reglue.errors import UsageError

STRANGE = "\x1b]0;owned\x07\x1b[31mred\x9b1m\u202e\r"


def test_an_error_commands_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> None:
        """Fail."""
        raise UsageError(f"got {STRANGE}")

    with pytest.raises(SystemExit):
        Command(fail)([])
    assert "\x1b" not in capsys.readouterr().err
