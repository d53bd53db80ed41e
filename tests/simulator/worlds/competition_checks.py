"""The properties of a competition that is over."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

from reglue_bench.benchmark.benchmark import make_plan
from reglue_bench.plans.plan import Plan
from reglue_bench.results.scoring import read_run
from reglue_bench.settings import Settings
from reglue_competition.runs.hosted import Hosted
from reglue_competition.runs.steady_clock import JUMP
from reglue_competition.runs.submission import run_folder
from reglue_competition.store import SCORED, Run, Submission
from tests.simulator.scheduler import Violation
from tests.simulator.worlds.competition_model import Event, Rules, ranked
from tests.simulator.worlds.drain_checks import Drain, check_drain
from tests.simulator.worlds.drawn_calendar import DrawnCalendar
from tests.simulator.worlds.guessing import Manner, undisturbed

_MOST_TRIES = 3  # of processes that die, before a submission is broken


@dataclass(frozen=True)
class Refusal:
    """An agent that might not enter."""

    team: str
    why: str
    phases: Sequence[str]  # that were to be open from its joining to its refusal
    days: Sequence[date]  # at its beginning, and its end
    after: int  # the last event before it joined
    before: int  # the last event when it was refused


@dataclass(frozen=True)
class Team:
    """A team, and how its entries play."""

    name: str
    skill: int
    manners: Sequence[Manner]


@dataclass
class Outcome:
    """A competition that is over, as its processes and its database tell of it."""

    hosted: Hosted
    calendar: DrawnCalendar
    teams: Mapping[str, Team]
    events: list[Event] = field(default_factory=list)
    submissions: Sequence[Submission] = ()  # in the order of entry
    runs: Mapping[str, Run] = field(default_factory=dict)  # by submission
    boards: Mapping[str, Sequence[str]] = field(default_factory=dict)  # teams by rank
    refusals: list[Refusal] = field(default_factory=list)
    drains: list[Drain] = field(default_factory=list)
    hit: set[str] = field(default_factory=set)  # entries whose agents were killed or stopped
    had_pause: bool = False  # a server was stopped for the most of an agent's window
    replayed: dict[str, str] = field(default_factory=dict)  # submissions, and how they had ended
    cancelled: set[str] = field(default_factory=set)
    met: dict[str, Counter[float]] = field(default_factory=lambda: defaultdict(Counter))
    """The episodes that an entry's agent was shown, and how often, by its name; those of a replay
    by NAME'."""
    is_calm: bool = False  # nothing was killed, stopped, ended or cut

    def manner(self, submission: Submission) -> Manner:
        """How its agent plays."""
        manners = self.teams[submission.team].manners
        return manners[int(submission.name.removeprefix(submission.team))]


def check(outcome: Outcome) -> None:
    """Raise Violation if scores, rules, blame or ranks are not what they should be."""
    rules = _check_rules(outcome)
    for drain in outcome.drains:
        check_drain(drain, outcome.events)
    for each in outcome.submissions:
        _check_end(outcome, each)
        if each.status == "finished" and _is_whole(outcome, each):
            _check_score(outcome, each)
        if outcome.manner(each) == "errs" and each.id not in outcome.replayed:
            _check_wrong(outcome, each)
    _check_names(outcome)
    _check_cells(outcome, rules)
    _check_ranks(outcome)


def _check_rules(outcome: Outcome) -> Rules:
    """By the rules all entries and refusals are right, and each entry has the right cells."""
    calendar, entered = outcome.calendar, {each.id: each for each in outcome.submissions}
    rules = Rules(calendar.limits, calendar.dates, calendar.round_every_s, calendar.places)
    justified: set[int] = set()  # refusals
    for event in outcome.events:
        _tell(outcome, rules, event, entered)
        justified |= {
            index
            for index, each in enumerate(outcome.refusals)
            if each.after <= event.id <= each.before
            if any(
                not any(rules.may_enter(each.team, phase, day) for phase in each.phases)
                for day in each.days
            )
        }
    for index, each in enumerate(outcome.refusals):
        if index not in justified:
            raise Violation(f"{each.team} was refused against the rules: {each.why}")
    draws = {key: each.draw for key, each in entered.items()}
    wanted = {key: each.draw for key, each in rules.entries.items()}
    if draws != wanted:
        raise Violation(f"got draws {draws}, wanted {wanted}")
    return rules


def _tell(outcome: Outcome, rules: Rules, event: Event, entered: Mapping[str, Submission]) -> None:
    """Let the model know of an event. Raises Violation if the rules do not allow it."""
    key, detail = event.submission or "", json.loads(event.detail)
    match event.kind.split():
        case ["phase", "opened"]:
            rules.open.add(detail["phase"])
        case ["phase", "closed"]:
            rules.open.discard(detail["phase"])
            rules.closed.add(detail["phase"])
        case ["submission", "entered"]:
            of = entered[key]
            if not rules.may_enter(of.team, of.phase, of.queued_at.date()):
                raise Violation(f"{of.name} was entered against the rules")
            if abs(of.queued_at - outcome.calendar.begins) > JUMP:
                raise Violation(f"{of.name} was entered at {of.queued_at}, by a clock that jumped")
            rules.enter(key, of.team, of.phase, of.queued_at)
        case ["submission", "playing"]:
            if not rules.may_play(key, event.at):
                raise Violation(f"{entered[key].name} began to play against the rules")
            rules.change(key, "playing")
        case ["submission", status] if status != "interrupted":
            rules.change(key, status)
        case ["replay", "asked"]:
            rules.play_again(key, all_of_it=detail["draw"] > rules.entries[key].draw)


def _check_end(outcome: Outcome, submission: Submission) -> None:
    """Each end has its cause: the agent, its environment, a disturbance, or the organiser."""
    manner, was_hit = outcome.manner(submission), submission.name in outcome.hit
    has_cause = {
        "finished": manner not in ("raises", "hangs") or submission.id in outcome.replayed,
        "failed": was_hit or manner in ("raises", "hangs", "errs", "leaves"),
        "broken": manner == "wears" or submission.interrupted >= _MOST_TRIES,
        "withdrawn": was_hit,
        "cancelled": submission.id in outcome.cancelled,
    }
    blames_agent = submission.detail.startswith("agent_")
    if not has_cause[submission.status] or (submission.status == "failed" and not blames_agent):
        what = f"{submission.name}, whose agent {manner}, is {submission.status}"
        raise Violation(f"{what}: {submission.detail}")


def _is_whole(outcome: Outcome, submission: Submission) -> bool:
    """Whether no episode was lost, by the environment's bug or before the organiser's replay."""
    manner, before = outcome.manner(submission), outcome.replayed.get(submission.id)
    return manner not in ("wears", "errs") and (
        before is None or (before != "failed" and manner == "plays")
    )


def _check_score(outcome: Outcome, submission: Submission) -> None:
    """It is that of the same agent in a run that nothing disturbs."""
    (played,) = outcome.hosted.settings_of(submission).benchmarks
    settings = Settings.model_validate(played.settings)
    plan = Plan.from_json(played.plan) if played.plan else make_plan(settings)
    wanted = undisturbed(plan, settings.secret, outcome.teams[submission.team].skill)
    result = read_run(run_folder(outcome.hosted.runs_of(submission), 0))
    got = [(each.unit, each.success, each.return_) for each in result.episodes]
    if got != wanted:
        raise Violation(f"{submission.name}: got episodes {got}, wanted {wanted}")
    score = sum(success for _, success, _ in wanted) / len(wanted)
    if outcome.runs[submission.id].score != score:
        got_score = outcome.runs[submission.id].score
        raise Violation(f"{submission.name}: got the score {got_score}, wanted {score}")


def _check_wrong(outcome: Outcome, submission: Submission) -> None:
    """All episodes of an agent whose answers are wrong are its own faults."""
    if submission.id not in outcome.runs:
        return
    result = read_run(run_folder(outcome.hosted.runs_of(submission), 0))
    statuses = {each.status for each in result.episodes}
    if not all(each.startswith("agent_") for each in statuses):
        raise Violation(f"{submission.name} answers wrongly: got episodes that are {statuses}")


def _check_names(outcome: Outcome) -> None:
    """An agent that answers, and does not end by itself, enters no other submission."""
    if outcome.had_pause:
        return
    names = [
        each.name
        for each in outcome.submissions
        if each.name not in outcome.hit and outcome.manner(each) in ("plays", "wears", "repeats")
    ]
    if len(names) > len(set(names)):
        raise Violation(f"an agent entered again, as it heard no farewell: {sorted(names)}")


def _check_cells(outcome: Outcome, rules: Rules) -> None:
    """No agent meets an episode again that its team met in a submission that broke before.

    In a run that nothing disturbs it meets each episode once, whatever it does.
    """
    for label, met in outcome.met.items():
        if outcome.is_calm and max(met.values(), default=0) > 1:
            raise Violation(f"{label} meets episodes again: {met}")
    count = Counter(each.name for each in outcome.submissions)
    names = {each.id: each.name for each in outcome.submissions if count[each.name] == 1}
    for key, name in names.items():
        for other in {*(rules.entries[key].seen or ())} & {*names} - {key}:
            if again := outcome.met[name].keys() & outcome.met[names[other]]:
                raise Violation(f"{name} meets episodes of {names[other]} again: {again}")
        if rules.entries[key].draw and (
            again := outcome.met[name].keys() & outcome.met[f"{name}'"]
        ):
            raise Violation(f"the replay of {name} meets episodes again: {again}")


def _check_ranks(outcome: Outcome) -> None:
    for phase, board in outcome.boards.items():
        scores = [
            (each.team, outcome.runs[each.id].score or 0.0)
            for each in outcome.submissions
            if each.phase == phase and each.status in SCORED and each.id in outcome.runs
        ]
        if list(board) != ranked(scores):
            raise Violation(f"{phase}: got ranks {board}, wanted {ranked(scores)} of {scores}")
