"""The page's reader: a logged-in team or organiser, or anonymous."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

from starlette.requests import Request
from starlette.responses import Response

from reglue.errors import TokenRefused
from reglue.net.join_string import SCHEME
from reglue_competition.page.security import COOKIE, LoginLimit, Sessions, new_cookie
from reglue_competition.page.views.visibility import Reader
from reglue_competition.store import Bearer, Organiser, Store, Submission, Team


@dataclass(frozen=True, slots=True)
class Who:
    """The reader that sent a request."""

    bearer: Bearer | None  # None: no token was shown
    cookie: str = ""  # empty: the browser has none
    form_token: str = ""  # what its forms must hold

    @property
    def is_organiser(self) -> bool:
        """Whether it is the organiser."""
        return isinstance(self.bearer, Organiser)

    @property
    def team(self) -> str:
        """The team's name; empty for others."""
        return self.bearer.name if isinstance(self.bearer, Team) else ""

    def reads(self, submission: Submission) -> Reader:
        """The role in which this reader sees a submission."""
        if self.is_organiser:
            return "organiser"
        return "team" if self.team and self.team == submission.team else "public"


NOBODY = Who(None)


class Readers:
    """Identifies readers by their cookies."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._sessions = Sessions()
        self._logins = LoginLimit()

    def who(self, request: Request) -> Who:
        """The reader that sent the request; the token is looked up each time."""
        cookie = request.cookies.get(COOKIE, "")
        form_token = self._sessions.form_token(cookie) if cookie else ""
        if (token := self._sessions.token(cookie)) is None:
            return Who(None, cookie, form_token)
        try:
            return Who(self._store.bearer(token), cookie, form_token)
        except TokenRefused:  # revoked or expired since
            self._sessions.end(cookie)
            return Who(None, cookie, form_token)

    def token(self, request: Request) -> str:
        """The token that this browser has shown; empty: none."""
        return self._sessions.token(request.cookies.get(COOKIE, "")) or ""

    def anonymous(self, who: Who) -> Who:
        """The same reader, logged out, with a cookie for the login form."""
        cookie = who.cookie or new_cookie()
        return Who(None, cookie, self._sessions.form_token(cookie))

    def is_ours(self, request: Request, form: Mapping[str, str]) -> bool:
        """Whether a form came from this site's page in the same browser."""
        cookie = request.cookies.get(COOKIE, "")
        return self._sessions.is_form_token(cookie, form.get("form_token", ""))

    def log_in(self, request: Request, form: Mapping[str, str]) -> Who:
        """Begin a session with the form's token or join string. Raises TokenRefused."""
        address = request.client.host if request.client else ""
        if not self._logins.allows(address):
            raise TokenRefused("too many tokens were tried from your address: wait a minute")
        token = _token(form.get("token", "").strip())
        bearer = self._store.bearer(token)
        self._sessions.end(request.cookies.get(COOKIE, ""))
        cookie = self._sessions.begin(token)  # a new one, which no attacker can have set
        return Who(bearer, cookie, self._sessions.form_token(cookie))

    def log_out(self, request: Request) -> None:
        """End the session."""
        self._sessions.end(request.cookies.get(COOKIE, ""))

    def set_cookie(self, request: Request, answer: Response, cookie: str) -> None:
        """Set the cookie; the browser sends it to this site alone."""
        is_secure = request.url.scheme == "https"
        answer.set_cookie(
            COOKIE, cookie, httponly=True, samesite="strict", secure=is_secure, path="/"
        )


def _token(text: str) -> str:
    """The token itself, or the token in a join string, which is what teams receive."""
    if not text.startswith(f"{SCHEME}://"):
        return text
    try:
        return parse_qs(urlsplit(text).query).get("token", [""])[0]
    except ValueError:  # such as half an address of IPv6
        return ""
