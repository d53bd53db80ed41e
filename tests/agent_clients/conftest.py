"""The mark of these tests, and the library of Julia's client."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.agent_clients.client_programs import built


def pytest_itemcollected(item: pytest.Item) -> None:
    item.add_marker("clients")


@pytest.fixture(scope="session")
def libreglue() -> Mapping[str, str]:
    """The environment in which Julia finds libreglue."""
    return {"REGLUE_LIBRARY": str(built("c", "reglue_c", "libreglue.so"))}


@pytest.fixture
def julia_finds_libreglue(libreglue: Mapping[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs that the test starts inherit where the library is."""
    for name, value in libreglue.items():
        monkeypatch.setenv(name, value)
