"""Output of names and texts that are a stranger's."""

from __future__ import annotations

import contextvars
from pathlib import Path

import pytest
from rich.table import Table
from rich.text import Text

from glue_server.console import begin_here, console, say, with_short_paths

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


def test_a_narrow_table_shows_all_of_each_word(monkeypatch: pytest.MonkeyPatch) -> None:
    """window-open-v3 and window-close-v3 differ at their ends."""
    monkeypatch.setenv("COLUMNS", "20")
    table = Table("task", "procedure", "tenth")
    table.add_row("window-close-v3", Text("meta-learning"), "1")
    shown = console()
    with shown.capture() as capture:
        shown.print(table)
    said = capture.get()
    assert "…" not in said
    rows = [line.split("│") for line in said.splitlines() if "│" in line]
    assert ["".join(row[place].strip() for row in rows) for place in (1, 2)] == [
        "window-close-v3",
        "meta-learning",
    ]


def test_styles_of_our_own_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    shown = console()
    with shown.capture() as capture:
        shown.print("[red]!", end="")
    assert capture.get() == "\x1b[31m!\x1b[0m"


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("wrote {here}/run/page.html", "wrote run/page.html"),
        ("it is in {here}", "it is in ."),
        ("--out={here}/run {here}s/run /x{here}/run", "--out={here}/run {here}s/run /x{here}/run"),
    ],
)
def test_paths_in_the_working_directory_are_short(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: str, shown: str
) -> None:
    monkeypatch.chdir(tmp_path)

    def told() -> str:
        begin_here()
        return with_short_paths(words.format(here=tmp_path))

    assert contextvars.copy_context().run(told) == shown.format(here=tmp_path)


def test_in_the_root_nothing_is_shortened(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container: addresses have slashes, too."""
    monkeypatch.chdir("/")
    words = "join reglue://127.0.0.1:4096, see http://127.0.0.1/ and /tmp/run, 3 / 4"

    def told() -> str:
        begin_here()
        return with_short_paths(words)

    assert contextvars.copy_context().run(told) == words
