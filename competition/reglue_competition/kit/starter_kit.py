"""Writes the starter kit: how to join, what happens at each limit, a rehearsal, projects."""

from __future__ import annotations

from pathlib import Path
from shutil import copyfile

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from reglue.errors import StorageFailed, UsageError
from reglue_bench.kit.language import LANGUAGES
from reglue_bench.kit.writing import nothing_of_it_if_it_fails, write_project
from reglue_competition.definition import Definition, PhaseDefinition
from reglue_competition.kit.commands import STAND_IN, Rehearsed, rehearsed
from reglue_competition.phases import plans_of

_HERE = Path(__file__).parent
_TEMPLATES = ("README.md", "rehearse.sh")


def write_kit(definition: Definition, folder: Path, out: Path) -> None:
    """Fill the new folder `out` with what an organiser gives to teams.

    `folder` is the competition's, from which its environments are made, without any of its
    secrets: the kit is the same whatever they are. Raises UsageError if `out` is there, or if a
    benchmark cannot be played, and StorageFailed.
    """
    phases = [(phase, _rehearsed(definition, phase, folder)) for phase in definition.phases]
    if out.exists():
        raise UsageError(f"{out} exists; wanted a folder that is not there yet")
    templates = Environment(
        loader=FileSystemLoader(_HERE),
        undefined=StrictUndefined,
        autoescape=False,  # Markdown and sh; words of commands are quoted
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    try:
        with nothing_of_it_if_it_fails(out):
            for language in LANGUAGES:
                rehearse = f"sh ../rehearse.sh {definition.phases[0].name} try"
                write_project(language, out / language, rehearse)
            if any(each.is_hidden for _, played in phases for each in played):
                copyfile(_HERE / STAND_IN, out / STAND_IN)
            for name in _TEMPLATES:
                template = templates.get_template(f"{name}.jinja")
                text = template.render(
                    competition=definition, phases=phases, stand_in=STAND_IN, languages=LANGUAGES
                )
                (out / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise StorageFailed(f"{out} cannot be written: {error.strerror}") from error


def _rehearsed(definition: Definition, phase: PhaseDefinition, folder: Path) -> list[Rehearsed]:
    return [rehearsed(each) for each in plans_of(definition, phase, None, folder)]
