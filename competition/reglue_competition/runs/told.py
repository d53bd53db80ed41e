"""What a submission's process is told, where it writes that, and how it says that it ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Benchmark:
    """One of a submission's, as a process is told."""

    settings: Mapping[str, Any]  # of Settings, with the phase's secret
    plan: str  # JSON, as of Plan.to_json


@dataclass(frozen=True, slots=True)
class Told:
    """What a submission's process is to play."""

    competition: str
    phase: str
    team: str
    submission: str  # its id
    draw: int  # which goals and cells it plays, see Submission
    folder: str  # of its runs
    transcripts: str  # the folder of all submissions'
    public_key: str  # of who signs them, hexadecimal
    benchmarks: tuple[Benchmark, ...]
    reconnect_window_s: float
    connect_timeout_s: float
    token: str = ""  # between the gateway and this process
    lost: str = ""  # why its agent does not come back: nothing more is played
    waits: bool = False  # its agent is away since a server was: what is left waits for it
    forgives: bool = False  # the organiser has the rest played after an agent's fault
    logs_json: bool = False

    def to_json(self) -> dict[str, Any]:
        """As a frame's head."""
        return asdict(self)

    @staticmethod
    def from_json(head: Mapping[str, Any]) -> Told:
        """What `to_json` made."""
        benchmarks = tuple(Benchmark(**each) for each in head["benchmarks"])
        return Told(**{**head, "benchmarks": benchmarks})


@dataclass(frozen=True, slots=True)
class Ended:
    """How a submission ended: `finished`, `failed`, `cancelled` or `broken`; `waiting`: not yet."""

    status: str
    detail: str = ""
    again: bool = False  # what broke it may not do so next time


def run_folder(folder: Path, index: int) -> Path:
    """The folder of a submission's run of the phase's benchmark `index`."""
    return folder / str(index)


def transcript_file(folder: Path, submission: str, index: int) -> Path:
    """The transcript of a submission's run of the phase's benchmark `index`."""
    return folder / f"{submission}-{index}.reglue"
