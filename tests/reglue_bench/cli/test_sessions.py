"""The output of commands that succeed, in sessions as in a terminal.

`sessions.txt` has the commands and all of what they print, for people to read: `# …` begins a
session in a folder of its own, and tells which files are there if any are; `$ reglue …` is a
command, and a line that begins with two spaces is output. `python -m tests.wrong_files` writes the
outputs anew: to add a command, write its line there first, and read the difference.
"""

from __future__ import annotations

import re
import socket
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
import tomli_w

from reglue_competition.definition import FILE
from reglue_competition.phases import Secrets
from reglue_competition.store import Store
from tests.reglue_bench.cli.commands import command
from tests.reglue_competition.page.competition_builder import begin, end, enter, in_practice, play

pytestmark = pytest.mark.slow

PAGE = Path(__file__).with_name("sessions.txt")

VARIES = {
    r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d+)?\+00:00)?": "TIME",
    r"\breglue_[\w-]{43}": "TOKEN",
    r"(?<=\?ca=)[\w-]+": "CERTIFICATE",
    r"(?<!\.)\b([0-9a-f]{64}|[0-9a-f]{16}|[0-9a-f]{12})\b": "ID",
    r"(?<=\.\d{9})\d+": "",
    r"\b[\d.]+(?= (kB|ms|days left)\b)": "N",
    r'(?<=_bytes": )\d+|(?<=_s": )[\d.]+': "N",
    rf"(?<=localhost, ){re.escape(socket.gethostname())}(?=,)": "HOST",
}
"""The parts of an output that depend on the time, the machine or chance, and their names."""

PROGRESS = re.compile(r"steps/s")


def masked(line: str) -> str:
    """A line with names for the parts that vary; a table's columns stay as wide."""
    is_of_table = "│" in line
    for pattern, name in VARIES.items():
        width = max((len(each[0]) for each in re.finditer(pattern, line)), default=0)
        line = re.sub(pattern, name.ljust(width) if is_of_table else name, line)
    return line


def lines_of(output: str) -> list[str]:
    """The lines of an output, without those of progress."""
    return [masked(line) for line in output.splitlines() if not PROGRESS.search(line)]


def sessions() -> dict[str, str]:
    """The page: each session's text by its title."""
    texts = PAGE.read_text("utf-8").removeprefix("# ").split("\n\n# ")
    return {title: rest.strip() for title, _, rest in (each.partition("\n") for each in texts)}


def submissions_of_four_teams(folder: Path) -> None:
    """Two that are finished, one that broke, and one that waits; the next phase did not open."""
    folder /= "my-comp"
    folder.mkdir()
    definition = in_practice()
    text = tomli_w.dumps(definition.model_dump(exclude_none=True))
    (folder / FILE).write_text(text, encoding="utf-8")
    Secrets.create(folder / "secrets")
    made = begin(folder, definition)
    with Store(made.url) as store:
        for team, rate in (("=Ada", 0.9), ("Ben", 0.2)):
            end(store, enter(store, made, team, "trained"), play(rate), play(rate / 2))
        broken, _ = (enter(store, made, team, "random") for team in ("Cem", "Dora"))
        store.set_status(broken.id, "playing")
        store.set_status(broken.id, "broken", "the disk was full")
        store.note("phase not opened", phase="private", why="it was not admitted")


FILES: dict[str, Callable[[Path], None]] = {
    "a competition with submissions of four teams": submissions_of_four_teams
}
"""Makes the files that are there when a session begins, by its title."""


def played(title: str, commands: Iterable[str], folder: Path) -> str:
    """The text of a session."""
    if title in FILES:
        FILES[title](folder)
    lines = []
    for words in commands:
        said = command(words, folder)
        assert said.code == 0, said.stderr
        output = lines_of(said.stdout + said.stderr)
        lines += [f"$ {words}", *(f"  {line}".rstrip() for line in output)]
    return "\n".join(lines)


def commands(session: str) -> list[str]:
    return re.findall(r"^\$ (.+)$", session, re.MULTILINE)


@pytest.mark.parametrize("title", sessions())
def test_a_session_prints_what_the_page_says(tmp_path: Path, title: str) -> None:
    wanted = sessions()[title]
    assert played(title, commands(wanted), tmp_path) == wanted


def rewrite() -> None:
    """Write the page with what the commands print now."""
    texts = []
    for title, session in sessions().items():
        with tempfile.TemporaryDirectory() as folder:
            text = played(title, commands(session), Path(folder))
            texts.append(f"# {title}\n{text}")
    PAGE.write_text("\n\n".join(texts) + "\n", "utf-8")
