"""Teams and tokens, and their rights."""

from __future__ import annotations

import hashlib
import re
import secrets
import unicodedata
from collections.abc import Mapping
from datetime import datetime

import sqlalchemy as sa

from reglue.error_message import brief, hidden_in, printable
from reglue.errors import BadArgument, TokenRefused, UnknownName, UsageError
from reglue_competition.store import schema
from reglue_competition.store.database import Transaction
from reglue_competition.store.events import Events
from reglue_competition.store.phases import phase_in
from reglue_competition.store.records import UNFINISHED, Bearer, Organiser, Team, Token

MOST_NAME = 64  # bytes of a team's name in UTF-8: a certificate holds no more
_LOOKS_LIKE = str.maketrans(
    "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹοϲϳіјѕԁԛԝһАВЕЅІЈКМНОРСТХУаеорсхуӏ",
    "ABEZHIKMNOPTYXCocjijsdqwhABESIJKMHOPCTXYaeopcxyl",
)
"""Those confusable characters of Unicode's UTS 39 that few fonts tell apart."""

_FORGOTTEN = re.compile(r"team #\d+")  # see forgotten_name

MOST_TOKENS = 5  # that are valid, of a team that makes them itself
_PREFIX = "reglue_"  # by which a token that was published is found
_TOKEN_BYTES = 32

_NEW_TOKEN = re.compile(r"[A-Za-z0-9_-]{48,256}")  # 192 bits, as hexadecimal digits
_LEAST_DISTINCT = 8  # characters; 48 random digits have fewer once in 10^13 times


class Access(Events):
    """The part of the store that identifies teams and organisers."""

    def add_team(self, name: str) -> Team:
        """Add a team. Raises UsageError for a name that is taken, or none."""
        name = _normalise_name(name)
        return self._database.write(lambda transaction: _add_team(transaction, name))

    def add_team_with(self, token: str, name: str, expires_at: datetime | None = None) -> Team:
        """Add a team that has this token; both or neither are added.

        A team that has it already stays as it is. Raises UsageError for a name that is taken, or
        none, and for a token that is weak, another's, or no longer valid.
        """
        name = _normalise_name(name)
        _check_new_token(token, expires_at)

        def add(transaction: Transaction) -> Team:
            if _has_token(transaction, name, token, None):
                return team_in(transaction.connection, name)
            team = _add_team(transaction, name)
            _add_token(transaction, team, token, expires_at)
            return team

        return self._database.write(add)

    def add_teams(self, tokens: Mapping[str, str], expires_at: datetime | None = None) -> None:
        """Add teams by name, each with its token; all or none. Raises UsageError as `add_team`."""
        named = [(_normalise_name(name), token) for name, token in tokens.items()]
        for _, token in named:
            _check_new_token(token, expires_at)

        def add(transaction: Transaction) -> None:
            for name, token in named:
                _add_token(transaction, _add_team(transaction, name), token, expires_at)

        self._database.write(add)

    def teams(self) -> list[Team]:
        """All teams, retired ones too, in the order in which they were added."""
        rows = self._rows(sa.select(schema.teams).order_by(schema.teams.c.id))
        return [Team(**row) for row in rows]

    def team(self, name: str) -> Team:
        """The team of that name. Raises UnknownName."""
        return self._database.read(lambda connection: team_in(connection, name))

    def retire_team(self, name: str) -> None:
        """Refuse a team's tokens from now on, and ask that its submissions are cancelled.

        What it played stays. Raises UnknownName.
        """

        def retire(transaction: Transaction) -> None:
            team = team_in(transaction.connection, name)
            if not retire_in(transaction, team):
                return
            theirs = schema.submissions.c.team_id == team.id
            going_on = schema.submissions.c.status.in_(UNFINISHED)
            cancel = sa.update(schema.submissions).where(theirs, going_on)
            transaction.connection.execute(cancel.values(cancel_asked=True))

        self._database.write(retire)

    def new_token(
        self,
        team: Team | None,
        expires_at: datetime | None = None,
        *,
        phase: str | None = None,
        token: str | None = None,
    ) -> str:
        """Make a token for a team, or with None for the organiser.

        It is returned once: the store keeps its hash. Others of the team stay valid. With the
        name of a `phase` it enters no other. With `token` it is that one, drawn elsewhere; nothing
        changes if it is the team's already. Raises UsageError if that is weak, another's, of
        another phase, or no longer valid, and UnknownName for an unknown phase.
        """
        made = new_token() if token is None else token
        _check_new_token(made, expires_at)

        def add(transaction: Transaction) -> None:
            if not _has_token(transaction, None if team is None else team.name, made, phase):
                _add_token(transaction, team, made, expires_at, phase)

        self._database.write(add)
        return made

    def tokens(self) -> list[Token]:
        """All tokens, without their secrets, in the order in which they were made."""
        rows = self._rows(_TOKENS.order_by(schema.tokens.c.created_at, schema.tokens.c.id))
        return [Token(**row) for row in rows]

    def revoke(self, token_id: str) -> None:
        """Refuse a token from now on. Raises UnknownName."""

        def change(transaction: Transaction) -> None:
            of_id = schema.tokens.c.id == token_id
            row = transaction.connection.execute(_TOKENS.where(of_id)).mappings().first()
            if row is None:
                known = transaction.connection.scalars(sa.select(schema.tokens.c.id))
                raise UnknownName("token with the id", token_id, known)
            revoke_in(transaction, Token(**row))

        self._database.write(change)

    def another_token(self, token: str, phase: str | None = None) -> str:
        """Make one more token for the team of this one, valid as long as that, for one `phase` or
        for any. If this one enters one phase alone, so does the new one.

        It is returned once. Raises TokenRefused, and UsageError for a team that has `MOST_TOKENS`
        valid ones, for the organiser's token, and for another phase than this token's.
        """
        made = new_token()

        def add(transaction: Transaction) -> None:
            known = _valid_token(transaction.connection, token, transaction.at)
            theirs = _valid_tokens(transaction, known)
            if known.phase is not None and phase != known.phase:
                raise BadArgument(
                    "phase",
                    got=phase or "none",
                    wanted=f"{known.phase}, as of the token that asks",
                )
            if token_id(made) in {each.id for each in theirs}:
                return  # the commit had arrived
            if len(theirs) >= MOST_TOKENS:
                raise UsageError(
                    f"the team has {len(theirs)} tokens that are valid, wanted fewer than "
                    f"{MOST_TOKENS}: revoke those that nobody uses"
                )
            team = team_in(transaction.connection, known.team or "")
            _add_token(transaction, team, made, known.expires_at, phase)

        self._database.write(add)
        return made

    def revoke_others(self, token: str) -> None:
        """Refuse all tokens of a team but this one. Raises TokenRefused, and UsageError for the
        organiser's.
        """

        def change(transaction: Transaction) -> None:
            known = _valid_token(transaction.connection, token, transaction.at)
            for each in _valid_tokens(transaction, known):
                if each.id != known.id:
                    revoke_in(transaction, each)

        self._database.write(change)

    def bearer(self, token: str) -> Bearer:
        """The holder of the token. Raises TokenRefused, with words for the team."""

        def found(connection: sa.Connection) -> Bearer:
            known = _valid_token(connection, token, self._database.now())
            return Organiser(known.id) if known.team is None else team_in(connection, known.team)

        return self._database.read(found)

    def phase_of(self, token: str) -> str | None:
        """The name of the phase that a token enters alone; None: it enters the one that is open.

        Raises TokenRefused.
        """
        now = self._database.now()
        return self._database.read(lambda to: _valid_token(to, token, now).phase)


def new_token() -> str:
    """A random token, with a prefix by which scanners recognise a leaked one."""
    return _PREFIX + secrets.token_urlsafe(_TOKEN_BYTES)


def forgotten_name(team: Team) -> str:
    """The name of a team once it is forgotten: no other can have it."""
    return f"team #{team.id}"


def token_id(token: str) -> str:
    """The public id of a token."""
    return _sha256(token)[:12]


_TOKENS = sa.select(
    *(each for each in schema.tokens.columns if each.name not in ("sha256", "team_id")),
    schema.teams.c.name.label("team"),
).outerjoin_from(schema.tokens, schema.teams)


def _add_team(transaction: Transaction, name: str) -> Team:
    to = transaction.connection
    for known in to.scalars(sa.select(schema.teams.c.name)):
        if _looks(known) == _looks(name):
            like = "" if known.casefold() == name.casefold() else f", which looks like {name!r}"
            raise UsageError(f"there is a team {known!r} already{like}; choose another name")
    row = {"name": name, "created_at": transaction.at}
    key = to.execute(sa.insert(schema.teams).values(row)).inserted_primary_key
    assert key is not None
    transaction.note("team added", team=name)
    return Team(key[0], name, transaction.at, None)


def _add_token(
    transaction: Transaction,
    team: Team | None,
    token: str,
    expires_at: datetime | None,
    phase: str | None = None,
) -> None:
    """Raises UnknownName for an unknown phase."""
    if phase is not None:
        phase_in(transaction.connection, phase)
    row = {
        "id": token_id(token),
        "team_id": None if team is None else team.id,
        "phase": phase,
        "sha256": _sha256(token),
        "created_at": transaction.at,
        "expires_at": expires_at,
    }
    transaction.connection.execute(sa.insert(schema.tokens).values(row))
    whose = None if team is None else team.name
    transaction.note("token made", team=whose, token=token_id(token), phase=phase)


def _has_token(transaction: Transaction, name: str | None, token: str, phase: str | None) -> bool:
    """Whether the team, or the organiser, has the token, for that phase. Raises UsageError if
    another has it.
    """
    of_hash = schema.tokens.c.sha256 == _sha256(token)
    row = transaction.connection.execute(_TOKENS.where(of_hash)).mappings().first()
    if row is None:
        return False
    known = Token(**row)
    is_over = known.expires_at is not None and known.expires_at <= transaction.at
    if (known.team, known.phase) != (name, phase) or known.revoked_at is not None or is_over:
        raise UsageError(
            f"the token {known.id} is another's, of another phase, or no longer valid (`reglue "
            "competition token list` says which): draw another"
        )
    return True


def _check_new_token(token: str, expires_at: datetime | None) -> None:
    if not _NEW_TOKEN.fullmatch(token) or len(set(token)) < _LEAST_DISTINCT:
        raise BadArgument(
            got=f"a token of {len(token)} characters",
            wanted=(
                "48 or more random ones, such as `openssl rand -hex 24` draws: letters, "
                "digits, - and _"
            ),
        )
    if expires_at is not None and expires_at.tzinfo is None:
        raise BadArgument("expires_at", got=expires_at, wanted="a date with an offset")


def _valid_token(connection: sa.Connection, token: str, now: datetime) -> Token:
    """The token, if its holder may use it now. Raises TokenRefused."""
    # Found by its hash: how long that takes says nothing about the token.
    of_hash = schema.tokens.c.sha256 == _sha256(token)
    row = connection.execute(_TOKENS.where(of_hash)).mappings().first()
    if row is None:
        raise TokenRefused(
            f"the token is wrong: copy the whole join string that you got{hidden_in(token)}"
        )
    known = Token(**row)
    _check_valid(known, now)
    if known.team is not None and team_in(connection, known.team).retired_at is not None:
        raise TokenRefused("the team was retired: ask the organiser")
    return known


def _valid_tokens(transaction: Transaction, of: Token) -> list[Token]:
    """All that the team of a token has. Raises UsageError for the organiser's."""
    if of.team is None:
        raise UsageError("this is the organiser's token: `reglue competition token` makes those")
    now = transaction.at
    return [
        each
        for each in tokens_in(transaction.connection, of.team)
        if each.revoked_at is None and (each.expires_at is None or each.expires_at > now)
    ]


def retire_in(transaction: Transaction, team: Team) -> bool:
    """Refuse a team's tokens from now on; returns whether it was not retired before."""
    if team.retired_at is not None:
        return False
    change = sa.update(schema.teams).where(schema.teams.c.id == team.id)
    transaction.connection.execute(change.values(retired_at=transaction.at))
    transaction.note("team retired", team=team.name)
    return True


def tokens_in(connection: sa.Connection, team: str) -> list[Token]:
    """All that a team ever had."""
    rows = connection.execute(_TOKENS.where(schema.teams.c.name == team))
    return [Token(**row) for row in rows.mappings()]


def revoke_in(transaction: Transaction, token: Token) -> None:
    """Refuse a token from now on."""
    if token.revoked_at is None:
        change = sa.update(schema.tokens).where(schema.tokens.c.id == token.id)
        transaction.connection.execute(change.values(revoked_at=transaction.at))
        transaction.note("token revoked", team=token.team, token=token.id)


def _check_valid(token: Token, now: datetime) -> None:
    if token.revoked_at is not None:
        raise TokenRefused("the token was revoked: ask the organiser for a new one")
    if token.expires_at is not None and token.expires_at <= now:
        raise TokenRefused(
            f"the token expired at {token.expires_at:%Y-%m-%d %H:%M} UTC: ask the organiser for a "
            "new one"
        )


def team_in(connection: sa.Connection, name: str) -> Team:
    """The team of that name. Raises UnknownName."""
    row = connection.execute(sa.select(schema.teams).where(schema.teams.c.name == name))
    if (team := row.mappings().first()) is None:
        raise UnknownName("team", name, connection.scalars(sa.select(schema.teams.c.name)))
    return Team(**team)


def _normalise_name(name: str) -> str:
    normalised = unicodedata.normalize("NFC", name).strip()
    if (
        not normalised
        or normalised != printable(normalised)
        or len(normalised.splitlines()) > 1
        or "\t" in normalised
    ):
        raise BadArgument(got=f"the team's name {brief(name)}", wanted="printable characters")
    if _FORGOTTEN.fullmatch(_looks(normalised)):
        raise BadArgument(
            got=f"the team's name {normalised!r}", wanted="another: forgotten teams are named so"
        )
    if (size := len(normalised.encode())) > MOST_NAME:
        raise BadArgument(
            got=f"a team's name of {size} bytes in UTF-8", wanted=f"{MOST_NAME} or fewer"
        )
    return normalised


def _looks(name: str) -> str:
    """Equal for names that look alike: Greek and Cyrillic letters are taken for Latin ones."""
    return unicodedata.normalize("NFKC", name).translate(_LOOKS_LIKE).casefold()


def _sha256(token: str) -> str:
    # Enough for 256 random bits: nobody can try them.
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
