"""Writes a new competition into a folder."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import tomli_w

from env_adapters.suites import is_known
from reglue.errors import BadArgument, UsageError
from reglue_competition.competition_folder import CompetitionFolder, new_folder
from reglue_competition.definition import FILE
from reglue_competition.phases import Secrets
from reglue_competition.store import migrate

_HERE = Path(__file__).parent

# Texts of the template, which is a valid competition itself.
_NAME, _TITLE, _ADDRESS = "my-comp", '"My competition"', '"127.0.0.1:4096"'
_DATABASE = '# database = "postgresql://reglue@db.example.org/competition"'
_DAYS = {"2030-01-01": 0, "2030-01-15": 14, "2030-03-15": 73, "2030-04-01": 90}

_PROJECT = """\
[build-system]
requires = ["setuptools>=70"]
build-backend = "setuptools.build_meta"

[project]
name = "{name}-tasks"
version = "1"

[project.entry-points."reglue.environment_families"]
{name} = "{module}:FAMILY"

[tool.setuptools]
py-modules = ["{module}"]
"""


def write_competition(
    folder: Path,
    *,
    name: str,
    title: str,
    address: str,
    database: str | None,
    token: str | None = None,
) -> str:
    """Make a competition's folder: file, hidden tasks, secrets and database.

    If it is killed, it can be called again. The database gets the competition last, so an
    existing folder can always be served.

    Returns the organiser's token: `token`, or one that is drawn.

    Raises UsageError and StorageFailed as `new_folder`, and StoreFailed.
    """
    with new_folder(folder) as made:
        name = _valid_name(name)
        _write_file(made / FILE, name=name, title=title, address=address, database=database)
        _write_tasks(made / "tasks", name)
        organiser = _begin(CompetitionFolder.read(made), address, token)
    competition = CompetitionFolder.read(folder)
    with competition.store() as store:
        store.apply(competition.definition)
    return organiser


def _valid_name(name: str) -> str:
    if not name.replace("-", "").isalnum() or not name.isascii() or not name[0].isalpha():
        raise BadArgument(got=f"the name {name!r}", wanted="letters, digits and -, such as my-comp")
    name = name.lower()
    if is_known(name):
        raise BadArgument(f"got the name {name!r}, which is an environment's: choose another")
    return name


def _begin(competition: CompetitionFolder, address: str, token: str | None) -> str:
    """Make secrets, tables and the organiser's token, which is returned."""
    Secrets.create(competition.secrets_path, address)
    competition.runs_path.mkdir()
    competition.transcripts_path.mkdir()
    migrate(competition.database_url)
    with competition.store() as store:
        if store.phases():
            raise UsageError("the database holds a competition already; give --database another")
        return store.new_token(None, token=token)


def _write_file(path: Path, *, name: str, title: str, address: str, database: str | None) -> None:
    text = (_HERE / FILE).read_text(encoding="utf-8")
    begin = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
    for day, after in _DAYS.items():
        date = (begin + timedelta(days=after)).isoformat().replace("+00:00", "Z")
        text = text.replace(f"{day}T00:00:00Z", date)
    replacements = {_TITLE: _quote(title), _ADDRESS: _quote(address), _NAME: name}
    if database is not None:
        replacements[_DATABASE] = f"database = {_quote(database)}"
    for old, new in replacements.items():
        text = text.replace(old, new)
    path.write_text(text, encoding="utf-8")


def _quote(text: str) -> str:
    return tomli_w.dumps({"": text}).partition("= ")[2].rstrip("\n")


def _write_tasks(folder: Path, name: str) -> None:
    module = f"{name.replace('-', '_')}_tasks"
    text = (_HERE / "hidden_tasks.py").read_text(encoding="utf-8")
    folder.mkdir()
    (folder / f"{module}.py").write_text(text.replace("MY-COMP", name), encoding="utf-8")
    (folder / "pyproject.toml").write_text(_PROJECT.format(name=name, module=module))
