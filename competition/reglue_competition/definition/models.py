"""The tables and keys of a competition file."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Annotated, Literal, Self, TypeAlias

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    ValidationInfo,
    model_validator,
)

from glue_server.host_settings import Amount, Count, Seconds
from reglue.errors import UnknownName

PhaseKind: TypeAlias = Literal["practice", "public", "private"]
Audience: TypeAlias = Literal["public", "after_close", "organiser"]
AgentsFrom: TypeAlias = Literal["remote", "submitted", "both"]
PhaseState: TypeAlias = Literal["planned", "open", "closed"]
Choose: TypeAlias = Literal["best", "last", "team"]
Total: TypeAlias = Literal["score", "mean rank"]

_ORDER: tuple[PhaseKind, ...] = ("practice", "public", "private")


def may_overlap(one: PhaseKind, other: PhaseKind) -> bool:
    """Whether phases of these kinds may be open at once: one of practice, and one of another."""
    return (one == "practice") != (other == "practice")


MOST_TEXT = 10_000  # characters of a text of the page
MOST_TEAMS = 10_000  # of a competition


def _exact(time: object, info: ValidationInfo) -> object:
    """Refuse what TOML has besides: dates that are not the same moment everywhere."""
    if info.mode == "python" and not (isinstance(time, datetime) and time.tzinfo):
        got = repr(time) if isinstance(time, str) else time
        raise ValueError(f"got {got}, wanted a time with an offset, such as 2026-12-31T18:00:00Z")
    return time


def _utc(time: datetime) -> datetime:
    return time.astimezone(UTC)


Time = Annotated[datetime, Field(strict=False), BeforeValidator(_exact), AfterValidator(_utc)]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$")]
Round = Annotated[float, Field(ge=1, le=366 * 86_400)]  # seconds
Finite = Annotated[float, Field(allow_inf_nan=False)]
Scale = Annotated[tuple[Finite, Finite], Field(strict=False)]
Size = Annotated[float, Field(gt=0, le=1e6)]
Text = Annotated[str, Field(max_length=MOST_TEXT)]
ImageName = Annotated[str, Field(pattern=r"^[a-z0-9][A-Za-z0-9._/:@-]{0,254}$")]
Gpus = Annotated[str, Field(pattern=r"^(all|[1-9][0-9]*|device=[A-Za-z0-9,-]{1,200})$")]


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Bars(_Table):
    """The bars of `reglue competition admit` for a benchmark, in units of its score."""

    reference: str | None = None  # an agent that solves it: file.py:Class, from the folder
    reference_at_least: Finite | None = None
    random_below: Finite | None = None  # a random agent


class BenchmarkEntry(_Table):
    """A benchmark of a phase."""

    benchmark: str  # as `reglue bench` takes it; files are relative to the competition's folder
    weight: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0  # in the mean over benchmarks
    scale: Scale | None = None  # [worst, best] score: 0 and 1 in the total; see below
    options: dict[str, JsonValue] = {}  # what is played: num_episodes, slots, …
    admit: Bars = Bars()  # before it is opened

    @model_validator(mode="after")
    def _worst_first(self) -> Self:
        if self.scale is not None and self.scale[0] >= self.scale[1]:
            raise ValueError(
                f"got scale = [{self.scale[0]:g}, {self.scale[1]:g}], wanted the worst score, then "
                "a higher one"
            )
        return self


class Quotas(_Table):
    """Submissions that a team may enter in a phase; those that it withdrew do not count."""

    a_day: Count | None = None  # from 00:00 to 24:00 UTC; without it there is no limit
    at_once: Count | None = 1  # waiting or playing
    in_all: Count | None = None  # without it: 1 in a private phase, else no limit


class Track(_Table):
    """One more leaderboard of a phase, over some of its benchmarks."""

    name: Name  # each once in a phase
    benchmarks: Annotated[
        tuple[Count, ...],
        Field(strict=False, min_length=1, description="their places in the phase's list, from 1"),
    ]

    def holds(self, place: int) -> bool:
        """Whether it is over the benchmark at that index."""
        return place + 1 in self.benchmarks


class PhaseDefinition(_Table):
    """One phase: its dates, its benchmarks and its rules."""

    name: Name  # each once
    kind: PhaseKind  # in this order; `private` allows one submission unless it says more
    opens: Time  # with an offset from UTC
    closes: Time  # what was entered before is played to its end
    benchmarks: Annotated[
        tuple[BenchmarkEntry, ...],
        Field(strict=False, min_length=1, description="what is played, one after another"),
    ]
    quotas: Quotas | None = None  # instead of the competition's
    needs_admission: bool | None = None  # whether `admit` must pass first; see below
    cells: Literal["shared", "own"] = "shared"  # whether all play the same goals and episodes
    board: Audience | None = None  # who sees scores; see below
    freeze_at: Time | None = None  # scores after it are shown once the phase is played
    names: Literal["public", "after_close"] = "public"  # when others read teams' names; see below
    tracks: Annotated[tuple[Track, ...], Field(strict=False)] = ()  # more leaderboards
    agents: AgentsFrom = "remote"  # run by their teams, or by the organiser from images
    images_from: Name | None = None  # a phase before it, whose chosen images are entered into it

    @model_validator(mode="after")
    def _opens_first(self) -> Self:
        if self.closes <= self.opens:
            raise ValueError(
                f"got closes = {self.closes.isoformat()}, wanted a date after opens = "
                f"{self.opens.isoformat()}"
            )
        if self.freeze_at is not None and not self.opens < self.freeze_at < self.closes:
            raise ValueError(
                f"got freeze_at = {self.freeze_at.isoformat()}, wanted a date between opens and "
                "closes"
            )
        return self

    @model_validator(mode="after")
    def _tracks_are_of_its_benchmarks(self) -> Self:
        names = [track.name for track in self.tracks]
        if len(set(names)) < len(names):
            raise ValueError(f"got tracks {', '.join(names)}, wanted each name once")
        for track in self.tracks:
            places = track.benchmarks
            if len(set(places)) < len(places) or max(places) > len(self.benchmarks):
                raise ValueError(
                    f"got track {track.name} of benchmarks {', '.join(map(str, places))}, wanted "
                    f"places from 1 to {len(self.benchmarks)}, each once"
                )
        return self

    def track(self, name: str) -> Track:
        """The track of that name. Raises UnknownName."""
        tracks = {track.name: track for track in self.tracks}
        if name not in tracks:
            raise UnknownName("track", name, tracks)
        return tracks[name]


class PlayLimits(_Table):
    """The rules of play: the places for submissions, and the agents' time limits."""

    places: Count = 1  # submissions that play at once
    round_every_s: Round | None = None  # rounds begin at multiples of it from `opens`
    step_s: Seconds = 10.0  # for a turn
    first_step_s: Seconds = 120.0  # for init, adapt and the first turn
    bank_s: Amount = 60.0  # that slow turns may use beyond step_s, in each run
    run_s: Seconds | None = None  # that an agent may take in each run, in all; see below
    reconnect_window_s: Amount = 120.0  # for an agent whose connection broke to come back
    connect_timeout_s: Seconds = 120.0  # for an agent whose turn it is to begin
    late: Literal["default action", "fault"] = "default action"  # what a step too late costs
    turn_grid_s: Seconds | None = None  # turns are answered at multiples of it: hides timing


class Ranking(_Table):
    """The rules of the leaderboard."""

    choose: Choose = "best"  # which of a team's scored submissions counts; see below
    total: Total = "score"  # over a phase's benchmarks: the mean of scores, or of ranks; see below
    ties: Literal["shared", "score"] = "shared"  # whether teams that cannot be told apart share one
    teams: Annotated[int, Field(ge=2, le=MOST_TEAMS)] = 100  # that ranks allow for; see below

    @model_validator(mode="after")
    def _mean_ranks_are_ordered(self) -> Self:
        if self.total == "score":
            return self
        if self.choose == "best":
            raise ValueError(
                'got total = "mean rank" with choose = "best", wanted "last" or "team": a team\'s '
                "best rank depends on what the others choose"
            )
        if self.ties == "shared":
            raise ValueError(
                'got total = "mean rank" with ties = "shared", wanted "score": nothing says by how '
                "much mean ranks differ by chance"
            )
        return self


class AgentsSee(_Table):
    """The facts that agents receive during an evaluation."""

    rewards: bool = False
    success_ends: bool = False  # that an episode ended by success, not that it merely ended
    tasks: bool = False  # which task they play


class ImageLimits(_Table):
    """Limits of an agent's image and of its container."""

    memory_gib: Size = 4.0  # with what it writes to /tmp
    tmp_gib: Size = 1.0  # of /tmp
    processors: Size = 1.0
    processes: Count = 256  # threads count
    gpus: Gpus | None = None  # of each: "all", a number, or "device=0,2"; without it none
    python: ImageName | None = None  # what plays projects of Python; without it none is taken
    image_gib: Size = 8.0  # of an image or a project, unpacked
    images_gib: Size = 100.0  # of all that are kept


class PageDefinition(_Table):
    """The content of the page besides the leaderboard."""

    listen: str = "127.0.0.1:8080"  # HOST:PORT
    about: Text = ""  # paragraphs of plain text
    rules: Text = ""
    contact: Text = ""  # where teams ask questions and appeal
    replays: bool = False  # whether everybody may see recorded episodes after the phase
    transcripts: Literal["public", "team"] = "public"  # who gets those of a revealed phase


class Definition(_Table):
    """A competition."""

    name: Name  # in transcripts
    title: Annotated[str, Field(min_length=1, max_length=200)]  # on the page
    address: str = "127.0.0.1:4096"  # HOST:PORT where teams connect, as join strings say it
    client_certificates: bool = False  # whether agents show one, which `team add` makes (mTLS)
    database: str | None = None  # postgresql://…; without it a SQLite file in the folder
    phases: Annotated[
        tuple[PhaseDefinition, ...],
        Field(strict=False, min_length=1, description="in the order of their dates"),
    ]
    quotas: Quotas = Quotas()  # of each phase that has none of its own
    play: PlayLimits = PlayLimits()
    ranking: Ranking = Ranking()
    agents_see: AgentsSee = AgentsSee()
    images: ImageLimits = ImageLimits()
    page: PageDefinition = PageDefinition()

    @model_validator(mode="after")
    def _phases_apart(self) -> Self:
        names = [phase.name for phase in self.phases]
        if len(set(names)) < len(names):
            raise ValueError(f"got phases {', '.join(names)}, wanted each name once")
        for first, second in pairwise(self.phases):
            overlaps = may_overlap(first.kind, second.kind)
            what, date = ("opens", first.opens) if overlaps else ("closes", first.closes)
            if second.opens < date:
                raise ValueError(
                    f"phase {second.name} opens {second.opens.isoformat()}, before {first.name} "
                    f"{what} ({date.isoformat()}); wanted phases in their order, one open at a "
                    "time, and one of practice beside it"
                )
            if _ORDER.index(second.kind) < _ORDER.index(first.kind):
                raise ValueError(
                    f"got {second.kind} ({second.name}) after {first.kind} ({first.name}), "
                    f"wanted the order {', '.join(_ORDER)}"
                )
        return self

    @model_validator(mode="after")
    def _images_from_before(self) -> Self:
        for place, phase in enumerate(self.phases):
            if phase.images_from is None:
                continue
            if phase.agents == "remote":
                raise ValueError(
                    f'phase {phase.name} has images_from, and agents = "remote"; wanted '
                    '"submitted" or "both"'
                )
            before = [
                each.name
                for each in self.phases[:place]
                if each.agents != "remote" and each.closes <= phase.opens
            ]
            if phase.images_from not in before:
                raise ValueError(
                    f"phase {phase.name}: got images_from = {phase.images_from!r}, wanted a phase "
                    "that takes images and closes before it opens: "
                    f"{', '.join(before) or 'there is none'}"
                )
        return self

    @model_validator(mode="after")
    def _ranks_have_no_scale(self) -> Self:
        for phase in self.phases:
            if self.ranking.total == "mean rank" and any(each.scale for each in phase.benchmarks):
                raise ValueError(
                    f'phase {phase.name}: got scale, and ranking.total = "mean rank"; wanted no '
                    "scale, as only the order of scores counts there"
                )
        return self

    def phase(self, name: str) -> PhaseDefinition:
        """The phase of that name. Raises KeyError."""
        return {phase.name: phase for phase in self.phases}[name]

    def round_of(self, phase: str, entered: datetime) -> datetime | None:
        """The start of the round that plays what was entered then; None if there are no rounds.

        It is the first that begins after that. The last of a phase begins at its close.
        """
        if self.play.round_every_s is None:
            return None
        of, every = self.phase(phase), timedelta(seconds=self.play.round_every_s)
        begins = of.opens + ((entered - of.opens) // every + 1) * every
        return min(begins, of.closes)

    def board_of(self, phase: str) -> Audience:
        """The readers of a phase's scores: of a private one the organiser, until it is revealed."""
        of = self.phase(phase)
        return of.board or ("organiser" if of.kind == "private" else "public")

    def quotas_of(self, phase: PhaseDefinition) -> Quotas:
        """The number of submissions that a team may enter in a phase."""
        quotas = phase.quotas or self.quotas
        if phase.kind == "private" and quotas.in_all is None:
            return quotas.model_copy(update={"in_all": 1})
        return quotas
