"""The competition file: phases, benchmarks, rules of entry, and the page."""

from __future__ import annotations

from reglue_competition.definition.changes import changes
from reglue_competition.definition.definition_file import FILE, entry_settings, read_definition
from reglue_competition.definition.models import (
    AgentsFrom,
    AgentsSee,
    Bars,
    BenchmarkEntry,
    Choose,
    Definition,
    ImageLimits,
    PageDefinition,
    PhaseDefinition,
    PhaseKind,
    PhaseState,
    PlayLimits,
    Quotas,
    Ranking,
    Total,
    Track,
    may_overlap,
)

__all__ = [
    "FILE",
    "AgentsFrom",
    "AgentsSee",
    "Bars",
    "BenchmarkEntry",
    "Choose",
    "Definition",
    "ImageLimits",
    "PageDefinition",
    "PhaseDefinition",
    "PhaseKind",
    "PhaseState",
    "PlayLimits",
    "Quotas",
    "Ranking",
    "Total",
    "Track",
    "changes",
    "entry_settings",
    "may_overlap",
    "read_definition",
]
