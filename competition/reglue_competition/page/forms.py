"""Changes by teams and the organiser through the page's forms."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from reglue.errors import TokenRefused, UsageError
from reglue_competition.page.readers import Readers
from reglue_competition.page.security import LoginLimit
from reglue_competition.page.site import Site
from reglue_competition.store import Standing, Submission, Team

_FORM_S = 10.0  # within which a form must have come

_STANDINGS: tuple[Standing, ...] = ("off the board", "unranked", "ranked")
"""The standings of a score that the organiser's buttons set."""


class Forms:
    """Takes the forms, and says where to go then."""

    def __init__(self, site: Site, readers: Readers) -> None:
        self._site, self._readers = site, readers
        self._writing = LoginLimit()  # of teams: one that is refused costs a transaction, too

    def routes(self) -> list[Route]:
        """Their addresses."""
        return [
            Route("/organiser/phases/{phase}", self._change_phase, methods=["POST"]),
            Route("/organiser/submissions/{submission}", self._change, methods=["POST"]),
            Route("/organiser/appeals/{appeal:int}", self._answer, methods=["POST"]),
            Route("/organiser/submissions/{submission}/ruling", self._rule, methods=["POST"]),
            Route("/team/tokens", self._revoke_others, methods=["POST"]),
            Route("/submissions/{submission}/appeals", self._appeal, methods=["POST"]),
            Route("/submissions/{submission}/withdrawal", self._withdraw, methods=["POST"]),
            Route("/submissions/{submission}/choice", self._choose, methods=["POST"]),
        ]

    async def read(self, request: Request) -> Mapping[str, str]:
        """The fields of one of this page's forms. Raises HTTPException."""
        try:
            async with asyncio.timeout(_FORM_S), request.form(max_files=0, max_fields=8) as form:
                fields = {name: each for name, each in form.items() if isinstance(each, str)}
        except MultiPartException as error:
            raise HTTPException(400, "this form is not from this page") from error
        except TimeoutError as error:
            raise HTTPException(408, "the form did not come in time") from error
        if not self._readers.is_ours(request, fields):
            raise HTTPException(403, "the form is too old: load its page again, and try again")
        return fields

    async def of_team(self, request: Request) -> tuple[Mapping[str, str], Team]:
        """The form of a team's request; its requests are limited. Raises HTTPException."""
        form = await self.read(request)
        team = (await run_in_threadpool(self._readers.who, request)).bearer
        if not isinstance(team, Team):
            raise HTTPException(403, "only a team may do that: log in")
        if not self._writing.allows(team.name):
            raise HTTPException(429, "got too many forms of your team: wait a minute")
        return form, team

    async def _revoke_others(self, request: Request) -> Response:
        """Revoke all tokens of a team but the one that its browser has shown."""
        await self.of_team(request)
        token = self._readers.token(request)
        return await self._carry_out(lambda: self._site.store.revoke_others(token), "/team")

    async def _change_phase(self, request: Request) -> Response:
        """Close a phase or undo that, or ask the server, which has its secret, to open it."""
        form = await self._of_organiser(request)
        action, name, store = form.get("action"), request.path_params["phase"], self._site.store
        if action == "close":
            return await self._carry_out(lambda: store.close_phase(name))
        if action == "reopen":
            return await self._carry_out(lambda: store.reopen_phase(name))
        if action == "open":
            return await self._carry_out(lambda: store.ask_open(name))
        raise HTTPException(400, "wanted the action open, close or reopen")

    async def _change(self, request: Request) -> Response:
        """Cancel a submission, or have it played again."""
        form = await self._of_organiser(request)
        action, store = form.get("action"), self._site.store
        id_ = request.path_params["submission"]
        if action == "cancel":
            return await self._carry_out(lambda: store.ask_cancel(id_))
        if action == "play again":
            return await self._carry_out(lambda: store.ask_replay(id_))
        raise HTTPException(400, "wanted the action cancel or play again")

    async def _rule(self, request: Request) -> Response:
        """Take a score off the board, leave it unranked, or undo that."""
        form = await self._of_organiser(request)
        id_, store, why = request.path_params["submission"], self._site.store, form.get("text", "")
        standing = next((each for each in _STANDINGS if each == form.get("action")), None)
        if standing is None:
            raise HTTPException(400, f"wanted the action {', '.join(_STANDINGS)}")
        there = f"/submissions/{id_}"
        return await self._carry_out(lambda: store.rule(id_, standing, why), there)

    async def _withdraw(self, request: Request) -> Response:
        """Take a team's own score off the board."""
        text, team, submission = await self._of_submissions_team(request)
        return await self._carry_out(
            lambda: self._site.store.rule(submission.id, "withdrawn", text, team=team),
            f"/submissions/{submission.id}",
        )

    async def _choose(self, request: Request) -> Response:
        """Let a team's own score count for it."""
        _, team, submission = await self._of_submissions_team(request)
        return await self._carry_out(
            lambda: self._site.store.choose(submission.id, team), f"/submissions/{submission.id}"
        )

    async def _answer(self, request: Request) -> Response:
        """Answer an appeal, which closes it."""
        form = await self._of_organiser(request)
        text, appeal = form.get("text", ""), request.path_params["appeal"]
        return await self._carry_out(lambda: self._site.store.answer_appeal(appeal, text))

    async def _appeal(self, request: Request) -> Response:
        """File a team's appeal against what came of its submission."""
        text, team, submission = await self._of_submissions_team(request)
        return await self._carry_out(
            lambda: self._site.store.file_appeal(team, submission.id, text),
            f"/submissions/{submission.id}",
        )

    async def _of_submissions_team(self, request: Request) -> tuple[str, Team, Submission]:
        """The text that a team writes about its own submission, the team and the submission."""
        form, team = await self.of_team(request)
        submission = known(self._site, request)
        if team.name != submission.team:
            raise HTTPException(403, "only the submission's team may do that")
        return form.get("text", ""), team, submission

    async def _of_organiser(self, request: Request) -> Mapping[str, str]:
        """The form of an organiser's request."""
        form = await self.read(request)
        who = await run_in_threadpool(self._readers.who, request)
        if not who.is_organiser:
            raise HTTPException(403, "only the organiser may do that")
        return form

    async def _carry_out(self, change: Callable[[], None], then: str = "/organiser") -> Response:
        try:
            await run_in_threadpool(change)
        except (UsageError, TokenRefused) as error:  # the latter: revoked just now
            raise HTTPException(409, str(error)) from error
        await run_in_threadpool(self._site.look)
        return RedirectResponse(then, 303)


def known(site: Site, request: Request) -> Submission:
    """The submission that an address names. Raises HTTPException."""
    submission = site.snapshot.submissions.get(request.path_params["submission"])
    if submission is None:
        raise HTTPException(404, "there is no such submission")
    return submission
