"""Server-sent events: what changed, to pages that are open."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections import Counter
from collections.abc import AsyncIterator, Mapping

from starlette.responses import PlainTextResponse, StreamingResponse
from starlette.types import Receive, Scope, Send

from reglue_competition.page.security import caller
from reglue_competition.page.site import Site
from reglue_competition.page.views.snapshot_views import playing
from reglue_competition.store import UNFINISHED

LISTENERS = 200  # at once; more are refused, and their pages are not updated live
OF_ADDRESS = 20  # of these, from one address
HEARTBEAT_S = 15.0
_LOOK_S = 1.0
_LATER_S = 60
_RETRY_MS = 10_000  # until a browser whose stream broke asks again

Progress = Mapping[str, Mapping[str, object]]


class Live:
    """The open streams. `close` ends them, so that the server can end."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._listeners: Counter[str] = Counter()  # by who asked
        self._closed = asyncio.Event()

    def close(self) -> None:
        """End all streams."""
        self._closed.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer with a stream, unless there are too many."""
        whose = caller(scope["client"])
        is_full = self._listeners.total() >= LISTENERS
        has_many = whose and self._listeners[whose] >= OF_ADDRESS
        if is_full or has_many or self._closed.is_set():
            later = {"retry-after": str(_LATER_S)}
            await PlainTextResponse("too many listeners", 503, later)(scope, receive, send)
            return
        self._listeners[whose] += 1
        try:
            stream = StreamingResponse(self._stream(), media_type="text/event-stream")
            await stream(scope, receive, send)
        finally:
            self._listeners -= Counter([whose])  # and forget who has none

    async def _stream(self) -> AsyncIterator[str]:
        seen: Progress = {}
        version, silent_s = "", 0.0  # the first version is sent: the page may be older
        yield f"retry: {_RETRY_MS}\n\n"
        while not self._closed.is_set():
            now = _progress(self._site)
            if changed := {id_: each for id_, each in now.items() if seen.get(id_) != each}:
                yield f"event: progress\ndata: {json.dumps(changed)}\n\n"
                seen, silent_s = now, 0.0
            if (newest := self._site.snapshot.version) != version:
                yield f"event: changed\ndata: {newest}\n\n"
                version, silent_s = newest, 0.0
            if silent_s >= HEARTBEAT_S:
                yield ": still here\n\n"
                silent_s = 0.0
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._closed.wait(), _LOOK_S)
            silent_s += _LOOK_S


def _progress(site: Site) -> Progress:
    """The progress of submissions that wait or play, by id."""
    progress = {}
    for each in site.snapshot.submissions.values():
        if each.status in UNFINISHED:
            view = playing(each, site.snapshot)
            progress[each.id] = {
                "status": view.status,
                "progress": view.progress,
                "done": view.done,
                "planned": view.planned,
            }
    return progress
