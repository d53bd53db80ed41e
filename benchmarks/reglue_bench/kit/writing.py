"""Writes a project: an agent, its build, a container, and the client's sources."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path
from shutil import copyfile, copytree

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from reglue.errors import StorageFailed, UsageError
from reglue_bench.kit.language import LANGUAGES, Language, LanguageName
from reglue_bench.kit.sources import copy_sources, source

_PROJECTS = Path(__file__).parent / "projects"

REHEARSE = "reglue try online:mountain-car"
"""How a project is rehearsed where nothing else is known of what it will play."""


def write_project(name: LanguageName, out: Path, rehearse: str = REHEARSE) -> None:
    """Fill the folder `out` with a project in that language.

    `rehearse` is the command to which its README adds `--agent-cmd`. `out` may be there, if it is
    empty. Raises UsageError if it is not, or if this installation lacks the client's sources, and
    StorageFailed.
    """
    language = LANGUAGES[name]
    example = source(language.example)
    try:
        if out.exists() and (not out.is_dir() or any(out.iterdir())):
            raise UsageError(f"got {out}, which is not empty; wanted a folder that is new or empty")
        copytree(_PROJECTS / name, out, dirs_exist_ok=True)
        copyfile(example, out / language.agent)
        copy_sources(language.sources, out / "vendor/reglue")
        (out / "README.md").write_text(_readme(name, language, rehearse), encoding="utf-8")
    except OSError as error:
        raise StorageFailed(f"{out} cannot be written: {error.strerror}") from error


def missing_programs(name: LanguageName) -> list[str]:
    """What a project in that language is built with, and this machine has not in its PATH."""
    return [each for each in LANGUAGES[name].programs if shutil.which(each) is None]


def _readme(name: LanguageName, language: Language, rehearse: str) -> str:
    templates = Environment(
        loader=FileSystemLoader(_PROJECTS),
        undefined=StrictUndefined,
        autoescape=False,  # Markdown
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    return templates.get_template("README.md.jinja").render(
        name=name,
        language=language,
        rehearse=f"{rehearse} --agent-cmd {shlex.quote(language.start)}",
    )
