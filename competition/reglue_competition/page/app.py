"""The page's addresses, and the readers' rights."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import (
    FileResponse,
    HTMLResponse,
    JSONResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
)
from starlette.routing import Route
from starlette.types import ASGIApp

import reglue_bench
from reglue.errors import EntryRefused, StoreFailed, TokenRefused, UnknownName, UsageError
from reglue_bench.formatting import listed
from reglue_competition.page.anonymity import anonymous, hides_names
from reglue_competition.page.forms import Forms, known
from reglue_competition.page.live import Live
from reglue_competition.page.readers import NOBODY, Readers, Who
from reglue_competition.page.security import Guarded
from reglue_competition.page.site import Site, Snapshot
from reglue_competition.page.views import (
    organiser_views,
    snapshot_views,
    submission_views,
    wording,
)
from reglue_competition.page.views.agent_log import agent_log, has_log, may_read_log
from reglue_competition.page.views.details import Details
from reglue_competition.page.views.view_models import More, PhaseView
from reglue_competition.page.views.visibility import Visibility, visibility
from reglue_competition.page.views.wording import limits
from reglue_competition.phases import reveal_file
from reglue_competition.ranking import rule
from reglue_competition.store import SCORED, UNFINISHED, Run, Submission, Team

_HERE = Path(__file__).parent
_STATIC = {
    "report.css": (Path(reglue_bench.__file__).parent / "report" / "style.css", "text/css"),
    "page.css": (_HERE / "static" / "page.css", "text/css"),
    "page.js": (_HERE / "static" / "page.js", "text/javascript"),
    "icon.svg": (_HERE / "static" / "icon.svg", "image/svg+xml"),
}

_EVENTS = 50  # the newest, which the organiser sees
_NEWS = 5  # likewise, which everybody sees

_ENDINGS = {"transcripts": ".reglue", "replays": ".mp4"}
"""Files of a submission, `FOLDER/SUBMISSION-INDEX.ENDING` in the competition's folder."""


class Page:
    """The page of one competition."""

    def __init__(self, site: Site, *, public_key: str = "") -> None:
        """`public_key`: by which transcripts are checked, hexadecimal."""
        self._public_key = public_key
        self.live = Live(site)
        self._site = site
        self._readers = Readers(site.store)
        self._forms = Forms(site, self._readers)
        self._shown: set[str] = set()  # closed phases of which a team has seen what they played
        self._details = Details(site.folder / "runs")
        self._templates = Environment(
            loader=FileSystemLoader(_HERE / "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )

    def app(self) -> ASGIApp:
        """The application that a server runs; it renews the site's snapshot meanwhile."""
        routes = [
            Route("/", self._leaderboard),
            Route("/phases/{phase}", self._leaderboard),
            Route("/phases/{phase}/tracks/{track}", self._leaderboard),
            Route("/phases/{phase}/reveal", self._reveal),
            Route("/rules", self._rules),
            Route("/submissions/{submission}", self._submission),
            Route("/submissions/{submission}/log", self._log),
            Route("/submissions/{submission}/{folder}/{index:int}", self._file),
            Route("/team", self._team),
            Route("/organiser", self._organiser),
            Route("/login", self._log_in, methods=["POST"]),
            Route("/logout", self._log_out, methods=["POST"]),
            Route("/team/token", self._new_token, methods=["POST"]),
            *self._forms.routes(),
            Route("/live", self.live, methods=["GET"]),
            Route("/healthz", self._healthz),
            Route("/static/{name}", self._static),
        ]
        handlers: Any = {HTTPException: self._refused, StoreFailed: self._away, 500: self._failed}
        return Guarded(Starlette(routes=routes, exception_handlers=handlers, lifespan=self._run))

    @asynccontextmanager
    async def _run(self, _app: Starlette) -> AsyncIterator[None]:
        self._site.start()
        try:
            yield
        finally:
            self.live.close()
            await run_in_threadpool(self._site.close)

    # What anybody may see.

    def _leaderboard(self, request: Request) -> Response:
        snapshot = self._site.snapshot
        name = request.path_params.get("phase")
        phase = snapshot.current_phase if name is None else snapshot.phase(name)
        if phase is None:
            raise HTTPException(404, "there is no such phase")
        track = None
        if (wanted := request.path_params.get("track")) is not None:
            try:
                track = snapshot.definition.phase(phase.name).track(wanted)
            except UnknownName as error:
                raise HTTPException(404, "there is no such track") from error
        withheld = snapshot.withheld(phase.name, self._revealed())
        if withheld or hides_names(snapshot, phase.name):  # else all read the same
            who = self._readers.who(request)
            snapshot = self._snapshot_for(who)
            withheld = "" if who.is_organiser else withheld
        board = snapshot_views.board(snapshot, phase, withheld, track)
        return self._html(
            request,
            "leaderboard",
            board=board,
            phases=self._phases(),
            is_final=phase.name in self._revealed(),
            news=[(wording.minute(each.at), each.text) for each in snapshot.news[:_NEWS]],
        )

    def _rules(self, request: Request) -> Response:
        definition = self._site.snapshot.definition
        return self._html(
            request,
            "rules",
            limits=limits(definition.play),
            meanings=wording.MEANINGS,
            rule=rule(definition.ranking),
            counts=wording.COUNTS[definition.ranking.choose],
            phases=self._phases(),
            agents=[(each.name, wording.AGENTS[each.agents]) for each in definition.phases],
            container=(
                wording.container_limits(definition.images)
                if any(each.agents != "remote" for each in definition.phases)
                else ()
            ),
            python=definition.images.python,
            public_key=self._public_key,
        )

    def _reveal(self, request: Request) -> Response:
        name = request.path_params["phase"]
        if name not in self._revealed():
            raise HTTPException(404, "there is no such file, or not yet")
        path = reveal_file(self._site.folder, name)
        return FileResponse(path, media_type="application/json", filename=f"{name}.json")

    def _submission(self, request: Request) -> Response:
        who, submission = self._readers.who(request), known(self._site, request)
        reader, is_scored = who.reads(submission), submission.status in SCORED
        withheld = self._withheld(submission.phase, who)
        if not withheld and reader == "public" and self._site.snapshot.is_frozen_out(submission):
            withheld = wording.FROZEN_OUT
        is_shown = not withheld and (reader != "public" or is_scored)
        runs = self._site.runs_of(submission) if is_shown else ()
        more = self._more(submission, runs, who)
        if runs and reader == "team":
            self._note_shown(submission)
        snapshot = self._snapshot_for(who)
        view = submission_views.submission_view(
            snapshot, snapshot.submissions[submission.id], runs, reader, more, withheld
        )
        appeals = [] if reader == "public" else self._site.store.appeals(submission=submission.id)
        return self._html(
            request,
            "submission",
            who,
            submission=view,
            log=self._log_of(submission, who),
            reader=reader,
            appeals=[organiser_views.appeal_view(each) for each in appeals],
            may_appeal=reader == "team"
            and submission.ended_at is not None
            and not any(each.is_open for each in appeals),
        )

    def _file(self, request: Request) -> Response:
        who, submission = self._readers.who(request), known(self._site, request)
        folder, index = request.path_params["folder"], request.path_params["index"]
        if folder not in _ENDINGS or index not in self._files(submission, folder, who):
            raise HTTPException(404, "there is no such file, or not yet")
        if not who.is_organiser:
            self._note_shown(submission)
        ending = _ENDINGS[folder]
        path = self._site.folder / folder / f"{submission.id}-{index}{ending}"
        kind = "video/mp4" if folder == "replays" else "application/octet-stream"
        name = None if folder == "replays" else f"{submission.id}-{index}{ending}"
        return FileResponse(path, media_type=kind, filename=name)

    def _log(self, request: Request) -> Response:
        who, submission = self._readers.who(request), known(self._site, request)
        if not self._log_of(submission, who):
            raise HTTPException(404, "there is no such file, or not yet")
        return PlainTextResponse(agent_log(self._site.runs_folder(submission)))

    def _log_of(self, submission: Submission, who: Who) -> str:
        """The address of a submission's log of its agent; empty if this reader may not see it."""
        phase, reader = submission.phase, who.reads(submission)
        may_read = may_read_log(
            self._site.snapshot.definition.phase(phase),
            reader,
            is_revealed=phase in self._revealed(),
        )
        if not (may_read and submission.image and has_log(self._site.runs_folder(submission))):
            return ""
        return f"/submissions/{submission.id}/log"

    def _healthz(self, _request: Request) -> Response:
        is_away = self._site.snapshot.is_away
        return JSONResponse({"store": "away" if is_away else "ok"}, 503 if is_away else 200)

    def _static(self, request: Request) -> Response:
        if (asset := _STATIC.get(request.path_params["name"])) is None:
            raise HTTPException(404, "there is no such file")
        path, kind = asset
        return FileResponse(path, media_type=kind, headers={"cache-control": "max-age=300"})

    # What a team may see, and the organiser.

    def _team(self, request: Request) -> Response:
        who = self._readers.who(request)
        if who.is_organiser:
            return RedirectResponse("/organiser", 303)
        if not who.team:
            return self._login_form(request, who)
        try:
            new_tokens = self._new_tokens(self._site.store.phase_of(self._readers.token(request)))
        except TokenRefused:  # revoked just now
            return self._login_form(request, who)
        mine = self._site.store.submissions(team=who.team)[::-1]
        snapshot, view = self._site.snapshot, submission_views.submission_view
        views = [
            view(snapshot, each, [], "team", withheld=self._withheld(each.phase, who))
            for each in mine
        ]
        appeals = map(organiser_views.appeal_view, self._site.store.appeals(team=who.team))
        return self._html(
            request,
            "team",
            who,
            submissions=views,
            phases=self._phases(),
            left=self._left(who),
            appeals=list(appeals)[::-1],
            new_tokens=new_tokens,
        )

    def _new_tokens(self, phase: str | None) -> list[tuple[str, str]]:
        """The phases that new tokens of a team may enter (empty: any), and the words of a button.

        `phase` is the only one that the token enters that the team has shown.
        """
        if phase is not None:
            return [(phase, f"Make a new token for {phase} alone")]
        practice = [
            each.name
            for each in self._site.snapshot.phases
            if each.kind == "practice" and each.state != "closed"
        ]
        alone = [(each, f"Make a token for {each} alone") for each in practice]
        return [("", "Make a new token"), *alone]

    def _left(self, who: Who) -> list[str]:
        """The submissions that a team may still enter, a line for each phase."""
        assert isinstance(who.bearer, Team)
        try:
            left = self._site.store.quotas_left(who.bearer, datetime.now(UTC))
        except EntryRefused as refused:
            return [f"Nothing can be entered: {refused}."]
        return [f"{phase}: you may {_may_enter(quotas)}." for phase, quotas in left.items()]

    def _organiser(self, request: Request) -> Response:
        who = self._readers.who(request)
        if not who.is_organiser:
            return self._login_form(request, who)
        snapshot = self._site.snapshot
        view = submission_views.submission_view
        going_on = [each for each in snapshot.submissions.values() if each.status in UNFINISHED]
        broken = [each for each in snapshot.submissions.values() if each.status == "broken"]
        return self._html(
            request,
            "organiser",
            who,
            phases=self._phases(),
            going_on=[view(snapshot, each, [], "organiser") for each in going_on],
            broken=[view(snapshot, each, [], "organiser") for each in broken],
            events=[organiser_views.event_view(each) for each in snapshot.events[:_EVENTS]],
            health=organiser_views.health(snapshot, self._site.store, self._site.folder),
            appeals=[organiser_views.appeal_view(each) for each in self._site.store.appeals()],
        )

    async def _log_in(self, request: Request) -> Response:
        form = await self._forms.read(request)
        try:
            who = await run_in_threadpool(self._readers.log_in, request, form)
        except TokenRefused as error:
            who = await run_in_threadpool(self._readers.who, request)
            return self._login_form(request, who, str(error), 403)
        answer = RedirectResponse("/organiser" if who.is_organiser else "/team", 303)
        self._readers.set_cookie(request, answer, who.cookie)
        return answer

    async def _log_out(self, request: Request) -> Response:
        await self._forms.read(request)
        self._readers.log_out(request)
        return RedirectResponse("/", 303)

    async def _new_token(self, request: Request) -> Response:
        """Make one more token for a team, and show it once."""
        form, _ = await self._forms.of_team(request)
        make, shown = self._site.store.another_token, self._readers.token(request)
        phase = form.get("action") or None
        try:
            made = await run_in_threadpool(make, shown, phase)
        except (UsageError, TokenRefused) as error:  # revoked just now
            raise HTTPException(409, str(error)) from error
        who = await run_in_threadpool(self._readers.who, request)
        return self._html(request, "token", who, token=made, phase=phase)

    # How answers are made.

    def _phases(self) -> list[PhaseView]:
        snapshot, revealed = self._site.snapshot, self._revealed()
        return [snapshot_views.phase_view(snapshot, each, revealed) for each in snapshot.phases]

    def _revealed(self) -> set[str]:
        """The phases that are over, of which the organiser has published what was played."""
        snapshot = self._site.snapshot
        over = [each.name for each in snapshot.phases if snapshot.is_over(each.name)]
        return {name for name in over if reveal_file(self._site.folder, name).is_file()}

    def _note_shown(self, submission: Submission) -> None:
        """Record that what a closed phase played is known now: it cannot be opened again.

        Where it has been opened again since the snapshot, nothing is shown.
        """
        phase = submission.phase
        if phase not in self._shown and self._site.snapshot.is_over(phase):
            try:
                self._site.store.note_shown(phase, submission.team)
            except UsageError as error:
                raise HTTPException(409, str(error)) from error
            self._shown.add(phase)

    def _snapshot_for(self, who: Who) -> Snapshot:
        """The snapshot with the names that this reader may see."""
        snapshot = self._site.snapshot
        return snapshot if who.is_organiser else anonymous(snapshot, who.team)

    def _withheld(self, phase: str, who: Who) -> str:
        """The reason why a reader sees no scores of a phase yet; empty: it sees them."""
        return "" if who.is_organiser else self._site.snapshot.withheld(phase, self._revealed())

    def _more(self, submission: Submission, runs: Sequence[Run], who: Who) -> dict[int, More]:
        """The parts of a submission's runs that a reader may see, besides their scores."""
        snapshot, reader = self._site.snapshot, who.reads(submission)
        transcripts = self._files(submission, "transcripts", who)
        videos = self._files(submission, "replays", who)
        entries, more = snapshot.definition.phase(submission.phase).benchmarks, {}
        for run in runs:
            sees = visibility(
                snapshot.definition,
                entries[run.index],
                reader,
                is_over=snapshot.is_over(submission.phase),
                is_revealed=submission.phase in self._revealed(),
            )
            more[run.index] = More(
                transcript=transcripts.get(run.index, ""),
                video=videos.get(run.index, ""),
                detail=self._details.of(submission, run, sees),
                is_hidden=sees < Visibility.TASKS,
            )
        return more

    def _files(self, submission: Submission, folder: str, who: Who) -> dict[int, str]:
        """The addresses of a submission's files that this reader may have, by their place.

        Not before the phase is over and its scores are shown: transcripts for its team, and for all
        once the phase is revealed; replays for all if the organiser publishes them.
        """
        snapshot = self._site.snapshot
        is_shown = not self._withheld(submission.phase, who)
        is_over = is_shown and snapshot.is_over(submission.phase)
        is_owners = who.is_organiser or (is_over and who.reads(submission) == "team")
        page, is_revealed = snapshot.definition.page, submission.phase in self._revealed()
        is_public = {
            "replays": is_over and page.replays,
            "transcripts": is_over and is_revealed and page.transcripts == "public",
        }
        if not (is_owners or is_public[folder]):
            return {}
        files = (self._site.folder / folder).glob(f"{submission.id}-*{_ENDINGS[folder]}")
        numbers = [path.stem.removeprefix(f"{submission.id}-") for path in files]
        places = sorted(int(place) for place in numbers if place.isdecimal())
        return {place: f"/submissions/{submission.id}/{folder}/{place}" for place in places}

    def _login_form(
        self, request: Request, who: Who, trouble: str = "", status: int = 200
    ) -> Response:
        who = self._readers.anonymous(who)
        answer = self._html(request, "login", who, status, trouble=trouble)
        self._readers.set_cookie(request, answer, who.cookie)
        return answer

    def _html(
        self, request: Request, template: str, who: Who = NOBODY, status: int = 200, **context: Any
    ) -> HTMLResponse:
        snapshot = self._site.snapshot
        html = self._templates.get_template(f"{template}.html.jinja").render(
            competition=snapshot.definition,
            away_since=wording.minute(snapshot.at) if snapshot.is_away else "",
            version=snapshot.version,
            path=request.url.path,
            who=who,
            **context,
        )
        return HTMLResponse(html, status)

    def _refused(self, request: Request, error: HTTPException) -> Response:
        return self._html(request, "error", status=error.status_code, what=error.detail)

    def _away(self, request: Request, _error: StoreFailed) -> Response:
        what = "the database does not answer: try again in a minute"
        return self._html(request, "error", status=503, what=what)

    def _failed(self, _request: Request, _error: Exception) -> Response:
        return PlainTextResponse("The page failed: it is in the server's log.", 500)


def _may_enter(quotas: Mapping[str, tuple[int, int]]) -> str:
    """The number of submissions that may be entered, by quotas: what is left, and the quota."""
    if not quotas:
        return "enter as many as you like"
    return f"still enter {listed([f'{n} of {most} {what}' for what, (n, most) in quotas.items()])}"
