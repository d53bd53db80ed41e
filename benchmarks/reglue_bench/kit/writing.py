"""Writes a project: an agent, its build, a container, and the client's sources."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import copyfile, copytree, ignore_patterns

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from reglue.errors import StorageFailed, UsageError
from reglue_bench.kit.language import LANGUAGES, Language, LanguageName
from reglue_bench.kit.sources import copy_sources, source

_PROJECTS = Path(__file__).parent / "projects"

REHEARSE = "reglue try online:mountain-car"
"""The command that rehearses a project, if nothing else is known about its benchmark."""


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
            what = "is not empty" if out.is_dir() else "is a file"
            raise UsageError(got=f"{out}, which {what}", wanted="a folder that is new or empty")
        with nothing_of_it_if_it_fails(out):
            copytree(_PROJECTS / name, out, dirs_exist_ok=True, ignore=ignore_patterns("*.jinja"))
            for path, text in _rendered(name, language, rehearse).items():
                (out / path).write_text(text, encoding="utf-8")
            copyfile(example, out / language.agent)
            copy_sources(language.sources, out / "vendor/reglue")
    except shutil.Error as error:  # copytree's, of all files that it could not copy
        _, _, why = error.args[0][0]
        raise StorageFailed(f"{out} cannot be written: {why}") from error
    except OSError as error:
        raise StorageFailed(f"{out} cannot be written: {error.strerror}") from error


@contextmanager
def nothing_of_it_if_it_fails(out: Path) -> Iterator[None]:
    """Remove what was written into the folder `out`, which is new or empty, if the block fails."""
    is_new = not out.exists()
    try:
        yield
    except BaseException:
        with suppress(OSError):  # the block's own error says more
            for each in out.iterdir():
                shutil.rmtree(each) if each.is_dir() else each.unlink()
            if is_new:
                out.rmdir()
        raise


def missing_programs(name: LanguageName) -> list[str]:
    """The programs that build a project in that language, and that this machine lacks."""
    return [each for each in LANGUAGES[name].programs if shutil.which(each) is None]


def _rendered(name: LanguageName, language: Language, rehearse: str) -> dict[str, str]:
    """The project's files that are made of templates, by name."""
    templates = Environment(
        loader=FileSystemLoader(_PROJECTS),
        undefined=StrictUndefined,
        autoescape=False,  # Markdown, and words of a Dockerfile
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    paths = [
        "README.md.jinja",
        *(f"{name}/{each.name}" for each in (_PROJECTS / name).glob("*.jinja")),
    ]
    return {
        Path(path).stem: templates.get_template(path).render(
            name=name,
            language=language,
            rehearse=f"{rehearse} --agent-cmd {shlex.quote(language.start)}",
            is_mountain_car=rehearse == REHEARSE,
        )
        for path in paths
    }
