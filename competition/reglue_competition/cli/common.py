"""Arguments and output that several commands share."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from rich.table import Column, Table
from rich.text import Text
from typer import Argument, Option

from glue_server.console import console, say
from reglue.error_message import printable
from reglue.errors import BadArgument, StorageFailed, UsageError
from reglue.net.join_string import JoinString, split_address
from reglue.tools.loading_modules import loading
from reglue.tools.outputs import product
from reglue_bench.cli.shared_flags import print_document

if TYPE_CHECKING:
    from reglue_competition.competition_folder import CompetitionFolder

Folder: TypeAlias = Annotated[Path, Argument(metavar="FOLDER", help="the competition's folder")]
Advertise: TypeAlias = Annotated[
    str | None,
    Option(
        metavar="HOST:PORT",
        help="where the team connects (default: `address` of the competition file)",
    ),
]
Expires: TypeAlias = Annotated[
    str | None,
    Option(
        "--expires",
        metavar="DATE",
        help="when the token expires, such as 2026-12-31T18:00Z (default: never)",
    ),
]
TokenEnv: TypeAlias = Annotated[
    str | None,
    Option(
        metavar="VARIABLE",
        help="take the token from this environment variable, and print none (default: draw one)",
    ),
]


CertificateFile: TypeAlias = Annotated[
    Path | None,
    Option(
        "--certificate",
        metavar="FILE",
        help="where the certificate of the team's agents goes, with its key, if the competition "
        "file asks for one (default: certificates/TOKEN-ID.pem in the folder)",
    ),
]


def warn_of_engine(folder: CompetitionFolder) -> None:
    """Say so if phases take images or projects, and those cannot be played here."""
    from glue_server.processes.sandboxes.container import lacks_engine
    from reglue_competition.images import image_digest

    phases = [each.name for each in folder.definition.phases if each.agents != "remote"]
    python = folder.definition.images.python
    if phases and (lack := lacks_engine()) is not None:
        say(f"warning: images of {', '.join(phases)} cannot be played on this machine: {lack}")
    elif phases and python is not None and image_digest(python) is None:
        say(f"warning: projects cannot be played: the engine has no image {python} (images.python)")


def read_folder(path: Path) -> CompetitionFolder:
    """The competition in that folder. Raises UsageError."""
    with loading():
        from reglue_competition.competition_folder import CompetitionFolder

    return CompetitionFolder.read(path)


def write_certificate(
    folder: CompetitionFolder, team: str, token: str, file: Path | None
) -> Path | None:
    """Make the certificate that a team's agents show; None if none is wanted.

    Raises UsageError and StorageFailed.
    """
    from reglue_competition.phases.certificates import client_certificate, write_closed
    from reglue_competition.store.access import token_id

    if not folder.definition.client_certificates:
        return None
    path = file or certificate_file(folder, token_id(token))
    content = client_certificate(folder.secrets_path, team)
    try:
        path.parent.mkdir(mode=0o700, exist_ok=True)
        write_closed(path, content)
    except OSError as error:
        raise StorageFailed(f"{path} cannot be written: {error.strerror}") from error
    return path


def certificate_file(folder: CompetitionFolder, token: str) -> Path:
    """The file of the certificate that is made with the token of that id."""
    return folder.path / "certificates" / f"{token}.pem"


def join_string_of(
    folder: CompetitionFolder, token: str, advertise: str | None, team: str | None
) -> str:
    """The join string of a team: address, authority and token.

    Raises UsageError, also if the `team` could have no certificate where it needs one.
    """
    from reglue_competition.phases.certificates import client_certificate

    address = advertise or folder.definition.address
    if split_address(address)[1] == 0:
        raise BadArgument("--advertise", got=address, wanted="the port that teams dial")
    if folder.definition.client_certificates and team is not None:
        client_certificate(folder.secrets_path, team)
    tls = folder.secrets().tls
    return str(JoinString(address, token, tls.authority, tls.name))


def token_in(variable: str | None) -> str | None:
    """The token in that environment variable; None without one. Raises UsageError."""
    if variable is None:
        return None
    if not (token := os.environ.get(variable, "")):
        raise UsageError(
            f"--token-env: ${variable} holds no token; `openssl rand -hex 24` draws one"
        )
    return token


def read_date(text: str | None) -> datetime | None:
    """A date with its offset. Raises BadArgument."""
    if text is None:
        return None
    try:
        date = datetime.fromisoformat(text)
    except ValueError:
        date = datetime.min
    if date.tzinfo is None:
        raise BadArgument(
            "--expires", got=repr(text), wanted="a time with an offset, such as 2026-12-31T18:00Z"
        )
    return date.astimezone(UTC)


def format_date(date: datetime | None) -> str:
    """A date as people read it, in UTC."""
    return "" if date is None else f"{date:%Y-%m-%d %H:%M}"


def print_token(
    whose: str,
    token: str,
    join_string: str,
    *,
    json: bool,
    certificate: Path | None = None,
    variable: str | None = None,
) -> None:
    """Print a new token in a join string, and the file of its certificate.

    The token of an environment variable is known already: `join_string` lacks it.
    """
    from reglue_competition.store.access import token_id

    if json:
        more = {} if certificate is None else {"certificate": str(certificate)}
        print_json({"of": whose, "token_id": token_id(token), "join": join_string} | more)
        return
    if certificate is not None:
        say(f"{certificate} is its certificate and key: the team sets REGLUE_CERT to that file")
    once = "shown this once" if variable is None else f"with the token of ${variable}"
    say(f"For {whose}, {once} (token {token_id(token)}):")
    if join_string:
        with product():
            print(join_string)


def print_json(document: Any) -> None:
    """Print a JSON document on stdout."""
    print_document(json.dumps(document, indent=1))


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table for people; cells may hold strangers' text."""
    first, *others = columns  # what people copy from there stays on one line
    table = Table(Column(first, no_wrap=True), *others, title=title, title_justify="left")
    for row in rows:
        table.add_row(*(Text(printable(str(cell))) for cell in row))
    console().print(table)


def to_json(record: Any) -> dict[str, Any]:
    """A record as JSON."""
    return {name: json_value(value) for name, value in asdict(record).items()}


def json_value(value: Any) -> Any:
    """A value as JSON has it: a date in ISO 8601."""
    return value.isoformat() if isinstance(value, datetime) else value
