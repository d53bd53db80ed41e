"""What is printed of names and texts that are a stranger's."""

from __future__ import annotations

import pytest
from rich.table import Table

from glue_server.console import console, say

STRANGE = "\x1b]0;owned\x07\x1b[31mred\x9b1m\u202e\r"


def test_nothing_that_is_printed_commands_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    table = Table(STRANGE, title=STRANGE)
    table.add_row(STRANGE)
    say(STRANGE)
    for each in (console(), console(stderr=True)):
        each.print(table)
    said = "".join(capsys.readouterr())
    assert said.count("red") == 7
    assert not set(said) & set(STRANGE) - set("]0;owned[31mred1m")


def test_styles_of_our_own_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    shown = console()
    with shown.capture() as capture:
        shown.print("[red]!", end="")
    assert capture.get() == "\x1b[31m!\x1b[0m"
