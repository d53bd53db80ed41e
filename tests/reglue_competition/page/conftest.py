"""Pages of made-up competitions, as a browser without JavaScript asks for them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import httpx2
import pytest
from starlette.testclient import TestClient

from reglue_competition.page.app import Page
from reglue_competition.page.site import Site
from reglue_competition.store import Store
from tests.docs.browser import browser
from tests.reglue_competition.page.competition_builder import Made, whole

__all__ = ["browser"]

Open = Callable[[Made], TestClient]

PUBLIC = ("/", "/rules", "/team", "/organiser", "/phases/warm-up", "/phases/private")


@pytest.fixture(scope="package")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A competition that no test changes."""
    return whole(tmp_path_factory.mktemp("competition"))


@pytest.fixture
def opened() -> Iterator[Open]:
    """Opens the page of a competition, with its leaderboards made; tests say when it looks."""
    with ExitStack() as stack:

        def client(of: Made) -> TestClient:
            store = stack.enter_context(Store(of.url, patience_s=0.5))
            site = Site(of.folder, store, renew_s=3600)
            site.rank()
            page = Page(site, public_key="5f" * 32)
            found = TestClient(page.app(), raise_server_exceptions=False)
            found.app_state["site"] = site
            return stack.enter_context(found)

        yield client


@pytest.fixture
def client(opened: Open, made: Made) -> TestClient:
    """Of the competition that no test changes."""
    return opened(made)


def form_token(page: httpx2.Response) -> str:
    """Of the forms on a page."""
    found = re.search(r'name="form_token" value="([^"]+)"', page.text)
    assert found, page.text
    return found[1]


def log_in(client: TestClient, token: str) -> httpx2.Response:
    """By the form of a team's page."""
    given = form_token(client.get("/team"))
    return client.post("/login", data={"form_token": given, "token": token})
