"""The page's security: headers, size limits, sessions, and tokens against forged requests."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address, ip_network

from starlette.datastructures import MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

COOKIE = "reglue"
MAX_BODY = 32 * 1024  # bytes of a form: a join string holds certificates

POLICY = "; ".join(
    (
        "default-src 'none'",
        "style-src 'self'",
        "script-src 'self'",
        "img-src 'self'",
        "media-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS = {
    "content-security-policy": POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


class Guarded:
    """An app whose every answer has `HEADERS`, and which reads no large request."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                headers.setdefault("cache-control", "no-store")
            await send(message)

        if (refusal := _too_large(scope)) is not None:
            await refusal(scope, receive, guarded)
            return
        await self._app(scope, receive, guarded)


def _too_large(scope: Scope) -> PlainTextResponse | None:
    headers, close = dict(scope["headers"]), {"connection": "close"}  # its rest is not read
    if b"transfer-encoding" in headers:  # it overrides the length
        return PlainTextResponse("got a request in chunks, wanted its length", 411, close)
    if scope["method"] in ("GET", "HEAD"):
        return None
    length = headers.get(b"content-length", b"")
    if not length.isdigit():
        return PlainTextResponse("wanted a form with its length", 411, close)
    if int(length) > MAX_BODY:
        return PlainTextResponse(f"got {int(length)} bytes, wanted {MAX_BODY} at most", 413, close)
    return None


def caller(client: tuple[str, int] | None) -> str:
    """The key by which connections are counted: an IPv4 address, or a /64 network of IPv6.

    Empty for loopback addresses: a proxy there speaks for everybody. A name that a proxy passes
    on instead of an address is counted as it is.
    """
    if client is None:
        return ""
    try:
        address = ip_address(client[0].partition("%")[0])
    except ValueError:
        return client[0]
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    if address in (ip_address("127.0.0.1"), ip_address("::1")):
        return ""
    return str(ip_network((address, 64 if address.version == 6 else 32), strict=False))


@dataclass(frozen=True, slots=True)
class Session:
    """A browser that has shown a token."""

    token: str  # looked up at every request, so one that is revoked ends its sessions
    ends_at: float  # of the clock


class Sessions:
    """The sessions of browsers, in memory: they end with the server.

    A cookie's value is 32 random bytes. A form's token is derived from it, so another site, which
    cannot read the cookie, cannot send the form.
    """

    LASTS_S = 12 * 3600.0
    MOST = 1000  # the oldest are forgotten

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._key = secrets.token_bytes(32)
        self._sessions: OrderedDict[str, Session] = OrderedDict()
        self._lock = threading.Lock()

    def begin(self, token: str) -> str:
        """A new session's cookie."""
        cookie = new_cookie()
        with self._lock:
            self._sessions[cookie] = Session(token, self._clock() + self.LASTS_S)
            while len(self._sessions) > self.MOST:
                self._sessions.popitem(last=False)
        return cookie

    def token(self, cookie: str) -> str | None:
        """The token that the cookie's browser has shown; None if there is no such session."""
        with self._lock:
            session = self._sessions.get(cookie)
        return session.token if session and self._clock() < session.ends_at else None

    def end(self, cookie: str) -> None:
        """Forget a session."""
        with self._lock:
            self._sessions.pop(cookie, None)

    def form_token(self, cookie: str) -> str:
        """The token that a form of the cookie's browser must hold."""
        return hmac.new(self._key, cookie.encode(), hashlib.sha256).hexdigest()

    def is_form_token(self, cookie: str, token: str) -> bool:
        """Whether a form came from one of our pages in this browser."""
        wanted = self.form_token(cookie)
        return bool(cookie) and hmac.compare_digest(wanted.encode(), token.encode())


def new_cookie() -> str:
    """A value that cannot be guessed."""
    return secrets.token_urlsafe(32)


class LoginLimit:
    """Limits how often an address may try tokens, and a team may send forms."""

    TRIES = 10
    WITHIN_S = 60.0
    ADDRESSES = 10_000  # that are remembered

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._tries: OrderedDict[str, deque[float]] = OrderedDict()
        self._lock = threading.Lock()

    def allows(self, address: str) -> bool:
        """Count a try; whether it may be made."""
        now = self._clock()
        with self._lock:
            tries = self._tries.setdefault(address, deque())
            self._tries.move_to_end(address)
            while tries and tries[0] <= now - self.WITHIN_S:
                tries.popleft()
            while len(self._tries) > self.ADDRESSES:
                self._tries.popitem(last=False)
            if len(tries) >= self.TRIES:
                return False
            tries.append(now)
            return True
