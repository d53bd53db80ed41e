"""Parts of pages that come from the sources: commands, keys of files, tables, messages.

A line `<!-- generated: WHAT ARGUMENT -->` of a page is replaced by what the function of that name
below returns.
"""

from __future__ import annotations

import ast
import inspect
import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from pkgutil import resolve_name
from tempfile import TemporaryDirectory
from typing import Any, Literal, get_args, get_origin, get_type_hints

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from docs._hooks.doxygen import Headers
from glue_server.commands.command import Command, Commands
from glue_server.host_settings import Flag
from reglue_bench.kit.language import LANGUAGES
from reglue_bench.kit.writing import write_project
from reglue_bench.runs.ledger.storage import make_tables

ROOT = Path(__file__).parents[2]

_MARK = re.compile(r"^<!-- generated: (\w+)(?: (\S+))? -->$", re.MULTILINE)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Fill in what is generated."""

    def filled(found: re.Match[str]) -> str:
        what, argument = found.groups()
        return GENERATORS[what](*([argument] if argument else []))

    return _MARK.sub(filled, markdown)


def commands() -> str:
    """Every `reglue` command, with its flags by panel."""
    points = sorted(entry_points(group="reglue.commands"), key=lambda point: point.name)
    return "\n\n".join(f"## reglue {point.name}\n\n{_command(point)}" for point in points)


def fields(name: str) -> str:
    """A table of a pydantic model's fields: `module:Class`."""
    model: type[BaseModel] = resolve_name(name)
    said, hints = _comments(model), get_type_hints(model)
    rows = (
        (
            f"`{field.alias or key}`",
            _type(hints[key]),
            _default(field),
            _about(field, said.get(key, "")),
        )
        for key, field in model.model_fields.items()
    )
    return _table(("key", "type", "default", "meaning"), rows)


def tables(name: str) -> str:
    """The tables of a SQLAlchemy MetaData: `module:NAME`."""
    return "\n\n".join(
        _columns(table.name, ((c.name, c.type, c.primary_key) for c in table.columns))
        for table in resolve_name(name).sorted_tables
    )


def sqlite_tables(name: str) -> str:
    """The tables of a mapping from names to the SQL of columns: `module:NAME`."""
    declared = resolve_name(name)
    with closing(sqlite3.connect(":memory:")) as connection:
        make_tables(connection, declared)
        return "\n\n".join(
            _columns(table, ((row[1], row[2], row[5]) for row in _info(connection, table)))
            for table in sorted(declared)
        )


def _info(connection: sqlite3.Connection, table: str) -> list[tuple[Any, ...]]:
    return connection.execute(f"PRAGMA table_info({table})").fetchall()


def _columns(table: str, columns: Iterable[tuple[str, object, object]]) -> str:
    """Each with its type, and whether it is part of the key."""
    rows = ((f"`{name}`", f"`{kind}`", "yes" if is_key else "") for name, kind, is_key in columns)
    return f"### `{table}`\n\n" + _table(("column", "type", "key"), rows)


def source(path: str) -> str:
    """A file of the repository, as it is."""
    text = (ROOT / path).read_text(encoding="utf-8").rstrip()
    language = {".cc": "cpp", ".proto": "protobuf"}.get(Path(path).suffix, Path(path).suffix[1:])
    return f"```{language}\n{text}\n```"


def output(command: str) -> str:
    """The output of `reglue COMMAND`."""
    shown = subprocess.run(
        [sys.executable, "-m", "reglue", command],
        env={**os.environ, "COLUMNS": "100", "NO_COLOR": "1"},
        capture_output=True,
        check=True,
        text=True,
    )
    return f"```text\n{shown.stdout.rstrip()}\n```"


def transcripts() -> str:
    """The commands from an empty folder to a container, of a project in each language."""
    parts = []
    for name, language in LANGUAGES.items():
        with TemporaryDirectory() as folder:
            write_project(name, Path(folder))
            readme = (Path(folder) / "README.md").read_text(encoding="utf-8")
        commands = "\n".join(re.findall(r"^```sh\n(.+)\n```$", readme, re.MULTILINE))
        begin = f"reglue kit {name} my-agent && cd my-agent"
        parts.append(f"### {language.title}\n\n```sh\n{begin}\n{commands}\n```")
    return "\n\n".join(parts)


def c(group: str) -> str:
    """A group of the C client's headers, or a header's own text."""
    return _if_built("c/index.xml", lambda index: Headers(index, "c", "").section(group))


def cpp(header: str) -> str:
    """A header of the C++ client."""
    return _if_built(
        "cpp/index.xml", lambda index: Headers(index, "cpp", "reglue::").section(header)
    )


def built(page: str) -> str:
    """A page that another language's tools have made of its doc comments."""
    return _if_built(page, lambda path: path.read_text(encoding="utf-8").strip())


def packages(folder: str) -> str:
    """A table of the packages in a folder: what each holds, and its modules."""
    rows = (
        (f"`{found.parent.relative_to(ROOT)}/`", _first_line(found), _modules(found.parent))
        for found in sorted((ROOT / folder).rglob("__init__.py"))
        if found.read_text(encoding="utf-8")
    )
    return _table(("package", "holds", "modules"), rows)


_GENERATORS = (
    *(c, cpp, built, commands, fields, tables, sqlite_tables),
    *(source, output, transcripts, packages),
)
GENERATORS: dict[str, Callable[..., str]] = {each.__name__: each for each in _GENERATORS}


def _if_built(path: str, show: Callable[[Path], str]) -> str:
    """A file that `make reference` makes. Who writes other pages may not have the tools for it."""
    built = ROOT / "build/api" / path
    return (
        show(built)
        if built.is_file()
        else "*Not built here: `make docs` says which tools it needs.*"
    )


def _command(point: EntryPoint) -> str:
    """A command's page. The SDK's commands are argparse's, all others Typer's."""
    main = point.load()
    if not isinstance(main, Command):
        help_ = subprocess.run(
            [sys.executable, "-m", "reglue", point.name, "--help"],
            env={**os.environ, "COLUMNS": "90"},
            capture_output=True,
            check=True,
            text=True,
        )
        return f"```text\n{help_.stdout.rstrip()}\n```"
    if isinstance(main, Commands):
        parts = [_help_text(main.click.help or "")]
        for name, each in main.every():
            parts.append(f"### reglue {point.name} {name}\n\n{_flags(each)}")
        return "\n\n".join(parts)
    return _flags(main.click)


def _flags(command: Any) -> str:
    """A command's help, and its flags by panel."""
    panels: dict[str, list[tuple[str, ...]]] = {}
    for parameter in command.params:
        if parameter.name == "help" or getattr(parameter, "hidden", False):
            continue
        panel = getattr(parameter, "rich_help_panel", None) or "Arguments and options"
        panels.setdefault(panel, []).append(_flag(parameter))
    parts = [_help_text(command.help or "")]
    for panel, rows in panels.items():
        parts.append(f"**{panel}**\n\n{_table(('flag', 'value', 'meaning'), rows)}")
    return "\n\n".join(parts)


def _flag(parameter: Any) -> tuple[str, str, str]:
    """A row of a command's table: name, value, meaning."""
    names = [*parameter.opts, *parameter.secondary_opts]
    if not names[0].startswith("-"):
        return f"`{parameter.metavar or parameter.name}`", "", parameter.help or ""
    value = "" if parameter.is_flag else _value(parameter)
    text = parameter.help or ""
    if parameter.default not in (None, False, "") and "default" not in text:
        text += f" (default `{parameter.default}`)"
    return ", ".join(f"`{each}`" for each in names), value, text


def _value(parameter: Any) -> str:
    """The value of a flag: one of its choices, or a value of its kind."""
    kind = parameter.type_descriptor.annotation
    if get_origin(kind) is Literal:
        return ", ".join(f"`{choice}`" for choice in get_args(kind))
    names = {int: "INTEGER", float: "NUMBER", Path: "PATH"}
    return f"`{parameter.metavar or names.get(kind, 'TEXT')}`"


def _help_text(text: str) -> str:
    """A docstring; paragraphs that are commands become code."""
    text = inspect.cleandoc(text).replace("\b\n", "")
    return re.sub(
        r"(?m)(?<=\n\n)((?:[A-Z_]+=\S+ )?reglue \w+ .*)$(?=\n\n|\Z)", r"```sh\n\1\n```", text
    )


def _first_line(module: Path) -> str:
    told = ast.get_docstring(ast.parse(module.read_text(encoding="utf-8"))) or ""
    return told.partition("\n")[0].rstrip(".")


def _modules(package: Path) -> str:
    names = sorted(each.stem for each in package.glob("*.py") if not each.stem.startswith("__"))
    return ", ".join(f"`{name}`" for name in names)


def _type(kind: Any) -> str:
    text = kind.__name__ if isinstance(kind, type) and not hasattr(kind, "__args__") else str(kind)
    text = re.sub(r"\b(?:[a-z_]\w*\.)+(?=\w)", "", text)
    text = re.sub(r"^Optional\[(.*)\]$", r"\1 | None", text)
    return f"`{text}`"


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.get_default()
    if isinstance(value, BaseModel) or value in (None, PydanticUndefined, {}, [], ""):
        return ""
    return f"`{value!r}`"


def _about(field: FieldInfo, comment: str) -> str:
    """Its description, the help of its flag, or a comment in the source."""
    helps = [each.help for each in field.metadata if isinstance(each, Flag)]
    return field.description or next(iter(helps), None) or comment


def _comments(model: type[BaseModel]) -> dict[str, str]:
    """Field -> what stands behind it in the source, or below it as a docstring."""
    text = inspect.getsource(model)
    said = dict(re.findall(r"^    (\w+): .*?  # (.*)$", text, re.MULTILINE))
    below = re.findall(r'^    (\w+): [^\n]*\n    """(.*?)"""', text, re.MULTILINE | re.DOTALL)
    return said | {key: " ".join(words.split()) for key, words in below}


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    return "\n".join(_lines(head, rows))


def _lines(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    for row in (head, ("---",) * len(head), *rows):
        yield f"| {' | '.join(map(_cell, row))} |"


def _cell(text: str) -> str:
    """One line, with bars escaped but in code."""
    parts = " ".join(text.split()).split("`")
    return "`".join(part if n % 2 else part.replace("|", "\\|") for n, part in enumerate(parts))
