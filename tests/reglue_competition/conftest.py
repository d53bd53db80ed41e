"""Databases for the tests of competitions: SQLite, and a PostgreSQL that they start."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from reglue_competition.store import Store, migrate
from reglue_competition.store.database import sqlite_url
from tests.reglue_competition.postgresql import PostgreSQL, running

DATABASES = ("sqlite", "postgresql")


@pytest.fixture(scope="session")
def postgresql() -> Iterator[PostgreSQL]:
    """A running server."""
    with running() as server:
        yield server


@pytest.fixture(params=DATABASES)
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database without tables, of each kind in turn."""
    if request.param == "sqlite":
        return sqlite_url(tmp_path / "competition.sqlite")
    server: PostgreSQL = request.getfixturevalue("postgresql")
    return server.new_database()


@pytest.fixture(params=DATABASES)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database with tables, in which nothing is, of each kind in turn."""
    if request.param == "sqlite":
        made = sqlite_url(tmp_path / "competition.sqlite")
        migrate(made)
        return made
    server: PostgreSQL = request.getfixturevalue("postgresql")
    return server.emptied_database()


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    """An open store."""
    with Store(url) as opened:
        yield opened
