"""All that was measured, as `results.json` keeps it."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from speed.harness import Claim, Section, Series
from speed.machine import machine, versions


@dataclass(slots=True)
class Results:
    """Sections by name, and what they were measured on."""

    machine: dict[str, str] = field(default_factory=machine)
    versions: dict[str, str] = field(default_factory=versions)
    sections: dict[str, Section] = field(default_factory=dict)
    dates: dict[str, str] = field(default_factory=dict)  # of each section

    def add(self, name: str, section: Section) -> None:
        """Keep what was just measured."""
        self.sections[name] = section
        self.dates[name] = time.strftime("%Y-%m-%d")

    def write(self, path: Path) -> None:
        """Write it down."""
        path.write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")


def read(path: Path) -> Results:
    """What was written."""
    kept: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    sections = {name: _section(each) for name, each in kept.pop("sections").items()}
    return Results(**kept, sections=sections)


def begun(path: Path) -> Results:
    """What was written with this machine and these versions, to be added to; else nothing."""
    if path.exists():
        before, now = read(path), Results()
        if (before.machine, before.versions) == (now.machine, now.versions):
            return before
    return Results()


def _section(kept: Mapping[str, Any]) -> Section:
    return Section(
        title=kept["title"],
        about=kept["about"],
        series=tuple(
            Series(each["name"], each["unit"], tuple(each["samples"])) for each in kept["series"]
        ),
        claims=tuple(Claim(**each) for each in kept["claims"]),
        notes=tuple(kept["notes"]),
    )
