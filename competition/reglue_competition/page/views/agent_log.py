"""The output of an agent that the organiser ran."""

from __future__ import annotations

import os
from pathlib import Path

from reglue.error_message import printable
from reglue_bench.run_folder import AGENT_LOG
from reglue_competition.definition import PhaseDefinition
from reglue_competition.page.views.visibility import Reader

MOST_BYTES = 262_144
"""The most bytes of a log's end."""


def may_read_log(phase: PhaseDefinition, reader: Reader, *, is_revealed: bool) -> bool:
    """Whether a reader may see what an agent printed: the organiser, and its team.

    In a private phase its team may once the plan is published: it may print what it observed.
    """
    return reader == "organiser" or (reader == "team" and (phase.kind != "private" or is_revealed))


def has_log(folder: Path) -> bool:
    """Whether an agent has printed something, by the folder of its submission's runs."""
    file = folder / AGENT_LOG
    return file.is_file() and file.stat().st_size > 0


def agent_log(folder: Path) -> str:
    """The end of what it printed, as a terminal may show it. Raises OSError."""
    with (folder / AGENT_LOG).open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - MOST_BYTES))
        text = file.read(MOST_BYTES).decode(errors="replace")
    cut = f"… {size - MOST_BYTES:,} bytes before this are left out\n" * (size > MOST_BYTES)
    return cut + printable(text.replace("\r\n", "\n"))
