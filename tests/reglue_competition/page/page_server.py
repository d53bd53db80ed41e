"""Pages that are served over HTTP."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from reglue_competition.page.app import Page
from reglue_competition.page.http_server import listen, server
from reglue_competition.page.site import Site
from reglue_competition.store import Store
from tests.reglue_competition.page.competition_builder import Made
from tests.waiting import until

_LEAVE_S = 20.0


@contextmanager
def served(made: Made) -> Iterator[str]:
    """The address of a competition's page, `http://HOST:PORT/`; a thread of this process serves."""
    with Store(made.url) as store:
        site = Site(made.folder, store)
        site.rank()
        listener = listen("127.0.0.1:0")
        port = listener.getsockname()[1]
        found = server(Page(site, public_key="5f" * 32))
        thread = threading.Thread(target=found.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            until(lambda: found.started, "the page answers")
            yield f"http://127.0.0.1:{port}/"
        finally:
            found.should_exit = True
            thread.join(_LEAVE_S)
        assert not thread.is_alive()
