"""The secret of a run, under which seeds and goals are drawn."""

from __future__ import annotations

from reglue.errors import BadArgument, setting

_MIN_SECRET = 16  # characters: shorter ones can be found by trying


def check_secret(secret: str | None) -> None:
    """Raise BadArgument for one that can be found by trying; the message does not repeat it."""
    if secret is not None and len(secret) < _MIN_SECRET:
        raise BadArgument(
            f"{setting('secret')} (REGLUE_SECRET)",
            got=f"a length of {len(secret)}",
            wanted=(
                f"{_MIN_SECRET} characters or more that nobody can guess, such as "
                "`openssl rand -hex 16` prints"
            ),
        )
