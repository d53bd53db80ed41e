"""Checks a transcript: its chain of records, signature, episodes and score."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import groupby, islice
from pathlib import Path
from random import SystemRandom
from typing import Any

from reglue.error_message import brief, printable
from reglue.errors import CannotLoad, NotSupported, NotTrusted, NotVerified, UsageError
from reglue_bench.benchmark.declared import declared_repeatable
from reglue_bench.plans.plan import Plan
from reglue_bench.procedures import Procedure, procedure_of
from reglue_bench.results.result import Result
from reglue_bench.results.scores import PerformanceScore
from reglue_bench.results.scoring import ScoreInputs, result_of
from reglue_bench.runs.ledger import Row, Totals
from reglue_bench.runs.run import MOST_TRIES
from reglue_bench.runs.trust import check_benchmark_trusted, check_trusted
from reglue_competition.phases import PhaseReveal, plan_for
from reglue_competition.transcript.contents import Header
from reglue_competition.transcript.replayer import (
    Checked,
    Replayer,
    check_cell,
    check_return,
    check_size,
    not_verified,
    planned_cells,
    read_plan,
    replayed_by,
    title_of,
)
from reglue_competition.transcript.transcript_reader import Transcript

Watch = Callable[[int, int], None]
"""Called with the number of checked episodes and the number of all to check."""

_MOST_DIFFERENCES = 3  # that a problem lists


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of checking a transcript."""

    problem: str = ""  # the first that was found; empty: the score stands
    key_known: bool = False  # whether the caller knew the key; else it is the file's own claim
    header: Header | None = None  # None: it could not be read
    result: Result | None = None  # as the organiser states it; None: it could not be read
    is_signed: bool = False  # by the header's public key
    episodes: int = 0  # in the transcript
    selected: int = 0  # episodes to replay: all, or a random sample
    replayed: int = 0  # of these, equal to the bit
    not_replayable: int = (
        0  # without steps or, in training, without actions: there is nothing to play
    )
    changes: Sequence[str] = ()  # of versions since it was recorded
    not_replayed: UsageError | None = None
    """Why its episodes were not played again: the environments' code is not here, or not trusted,
    or they are not repeatable.
    """

    @property
    def stands(self) -> bool:
        """Whether the score was confirmed."""
        return not (self.problem or self.not_replayed)


def verify(
    path: Path,
    *,
    public_key: bytes | None = None,
    folder: Path | None = None,
    workers: int = 0,
    episodes: int | None = None,
    trust_code: bool = False,
    watcher: Watch | None = None,
) -> Verdict:
    """Check a transcript, and play its episodes again without the agent.

    Args:
        path: the transcript, which may be a stranger's.
        public_key: 32 bytes, the key that must have signed it; by default the one it names.
        folder: what files of its plan are relative to; by default the current one.
        workers: processes that play; 0: this one.
        episodes: how many to play, drawn at random; by default all.
        trust_code: run environments that are not Reglue's.
        watcher: receives the progress.

    Returns:
        The verdict, also on a file that is damaged, or whose environments' code is not here, not
        trusted or not repeatable: then all is checked but what they do.

    Raises:
        UsageError: it cannot be checked here.
        EnvironmentFault: a process that played died.
    """
    verdict = Verdict(key_known=public_key is not None)
    try:
        with Transcript(path) as transcript:
            numbers = _choose(len(transcript), episodes)
            verdict = replace(
                verdict,
                header=transcript.header,
                result=transcript.score.result,
                episodes=len(transcript),
                selected=len(numbers),
            )
            transcript.check_signature(public_key)
            verdict = replace(verdict, is_signed=True)
            plan = read_plan(transcript.header)
            check_size(plan, len(transcript))
            about = {"plan": transcript.header.plan, "settings": ""}
            try:
                _check_repeatable(plan)
                check_trusted(path, about, trust_code=trust_code)
                with not_verified("follow its plan"):
                    replayer = Replayer(transcript.header, plan, (folder or Path()).absolute())
            except (CannotLoad, NotTrusted, NotSupported) as error:
                verdict = replace(verdict, not_replayed=error)
                _check_recorded(transcript, plan)
            else:
                verdict = replace(verdict, changes=replayer.changes)
                with closing(_replay(path, transcript, replayer, numbers, workers)) as checks:
                    for checked in checks:
                        verdict = _with(verdict, checked)
                        if watcher is not None:
                            watcher(verdict.replayed + verdict.not_replayable, len(numbers))
            check_score(transcript, plan)
    except NotVerified as error:
        return replace(verdict, problem=str(error))
    return verdict


def check_plan(
    verdict: Verdict, revealed: PhaseReveal, *, folder: Path | None = None, trust_code: bool = False
) -> Verdict:
    """The verdict, if it stands and its plan and keys are what the phase revealed.

    A plan that one submission alone played is drawn again, as `verify` plays: of the files in
    `folder`, and by code that is not Reglue's with `trust_code` alone. Raises UsageError.
    """
    header = verdict.header
    if header is None or verdict.problem:
        return verdict
    try:
        _check_revealed(header, revealed, (folder or Path()).absolute(), trust_code=trust_code)
    except NotVerified as error:
        return replace(verdict, problem=str(error))
    return verdict


def check_score(transcript: Transcript, plan: Plan) -> None:
    """Raise NotVerified, naming what differs, unless the score is that of the episodes."""
    with not_verified("compute its score"):
        _check_score(transcript, plan)


def _check_score(transcript: Transcript, plan: Plan) -> None:
    procedure = procedure_of(plan)
    for unit, rows in groupby(transcript.rows(), key=lambda row: row.unit):
        _check_whole(procedure, unit, list(rows))
    stated, header = transcript.score.result, transcript.header
    score = stated.score
    played = ScoreInputs(
        plan,
        transcript.rows,
        transcript.rewards,
        agent=stated.agent,
        totals=Totals(
            stated.seconds.wall,
            stated.seconds.agent,
            stated.seconds.environment,
            stated.steps.executed,
        ),
        versions=header.versions,
        fresh=score.fresh_agent if isinstance(score, PerformanceScore) else "process",
    )
    # What the run's folder says beside its rows.
    beside = {name: getattr(stated, name) for name in ("ended_early", "recorded", "repeats")}
    result = result_of(played).model_copy(update=beside)
    if lines := list(islice(_differences(_json(stated), _json(result)), _MOST_DIFFERENCES)):
        raise NotVerified(f"the score is not that of its episodes: {'; '.join(lines)}")


def _check_repeatable(plan: Plan) -> None:
    """Raise NotSupported if the environment says that its cells do not decide its episodes."""
    if not declared_repeatable(plan):
        raise NotSupported("its environment says that it is not repeatable")


def _check_recorded(transcript: Transcript, plan: Plan) -> None:
    """Raise NotVerified unless all episodes are the plan's, and earned what their rewards say."""
    with not_verified("follow its plan"):
        planned = planned_cells(transcript.header, plan)
        for number in range(len(transcript)):
            episode = transcript.episode(number)
            try:
                check_cell(episode, planned)
                check_return(episode)
            except NotVerified as error:
                raise NotVerified(f"{title_of(episode)}: {error}") from error


def _check_whole(procedure: Procedure, unit: int, rows: Sequence[Row]) -> None:
    """Raise NotVerified if episodes of a unit are missing, unless a fault ended it, or if its try
    cannot be.
    """
    tries = {row.attempt for row in rows}
    if len(tries) > 1 or not 0 <= min(tries) <= max(tries) <= MOST_TRIES:
        got = f"episodes of the tries {brief(sorted(tries))}"
        raise NotVerified(f"unit {unit}", got=got, wanted=f"those of one, 0 to {MOST_TRIES}")
    if any(row.status != "ok" for row in rows):
        return
    if cells := procedure.cells(unit):
        is_whole = {cell.k for cell in cells} <= {row.k for row in rows}
    else:
        is_whole = not procedure.steps_left(len(rows), sum(row.steps for row in rows))
    if not is_whole:
        raise NotVerified(f"unit {unit}", got=f"{len(rows)} episodes", wanted="all that it has")


def _check_revealed(
    header: Header, revealed: PhaseReveal, folder: Path, *, trust_code: bool
) -> None:
    got = printable(f"benchmark {header.index} of phase {header.phase} of {header.competition}")
    theirs = (header.competition, header.phase) == (revealed.competition, revealed.phase)
    if not theirs or header.index >= len(revealed.benchmarks):
        wanted = printable(f"one of phase {revealed.phase} of {revealed.competition}")
        raise NotVerified(got=got, wanted=wanted)
    benchmark = revealed.benchmarks[header.index]
    if header.draw:
        about = Path(f"phase {revealed.phase}, as it was revealed,")
        check_benchmark_trusted(about, benchmark.settings_in(folder), trust_code=trust_code)
    of, draw = header.submission, header.draw
    with not_verified("draw its plan again"):
        plan, key = plan_for(revealed, header.index, submission=of, draw=draw, folder=folder)
    played = replace(read_plan(header), order_key="", training_key="")  # keys of this run alone
    differ = {
        "plan": json.loads(played.to_json()) != plan,
        "cell key": header.cell_key != key,
        "code of its environments": header.code != benchmark.code,
    }
    for what, differs in differ.items():
        if differs:
            raise NotVerified(f"{got}: got another {what} than was committed to")


def _choose(total: int, episodes: int | None) -> Sequence[int]:
    """Indexes of the episodes to replay; a sample is drawn from the system's randomness."""
    if episodes is None or episodes >= total:
        return range(total)
    return sorted(SystemRandom().sample(range(total), episodes))


def _replay(
    path: Path, transcript: Transcript, replayer: Replayer, numbers: Sequence[int], workers: int
) -> Generator[Checked]:
    if workers and len(numbers) > 1:
        places = map(transcript.place, numbers)
        yield from replayed_by(min(workers, len(numbers)), path, replayer.folder, places)
        return
    for number in numbers:
        yield replayer.check(transcript.episode(number))


def _with(verdict: Verdict, checked: Checked) -> Verdict:
    """The verdict after one more episode. Raises NotVerified if it differs."""
    if checked.difference:
        raise NotVerified(f"{checked.title}: {checked.difference}")
    if checked.is_played:
        return replace(verdict, replayed=verdict.replayed + 1)
    return replace(verdict, not_replayable=verdict.not_replayable + 1)


def _json(result: Result) -> Mapping[str, Any]:
    """The fields of a result and of its score, by name."""
    fields: dict[str, Any] = json.loads(result.model_dump_json(by_alias=True))
    score = fields.pop("score")
    return fields | {f"score.{name}": value for name, value in score.items()}


def _differences(stated: Mapping[str, Any], recomputed: Mapping[str, Any]) -> Iterator[str]:
    for name, value in recomputed.items():
        if stated.get(name) != value:
            yield f"{name}: got {_short(stated.get(name))}, wanted {_short(value)}"


def _short(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= 100 else f"{text[:97]}…"
