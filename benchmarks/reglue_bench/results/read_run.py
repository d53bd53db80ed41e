"""Reads a run's result from its folder, as far as the run has come."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal, get_args

from reglue_bench.plans.plan import Plan
from reglue_bench.results.episodes import Episodes
from reglue_bench.results.result import (
    AgentIdentity,
    Event,
    Isolation,
    Recorded,
    Result,
    read_result,
)
from reglue_bench.results.scoring import result_of
from reglue_bench.results.success import ScoreInputs
from reglue_bench.run_folder import LEDGER, OBSERVED
from reglue_bench.runs.ledger import (
    AGENT_NAME,
    ENDED_EARLY,
    ENVIRONMENTS,
    EVENT,
    ISOLATION,
    MACHINE,
    REPEATS,
    LedgerReader,
    warn_of_lost_journal,
)
from reglue_bench.runs.notes import Ending, Repeat
from reglue_bench.runs.observed import counted
from reglue_bench.settings import AGENT_WAIT, Settings


def read_run(folder: Path) -> Result:
    """The result of a run, also while it goes on, or of a result.json alone.

    If there is a ledger it is scored again, and so checked; nothing is written.
    Raises UsageError if there is no run, and RunDamaged if the ledger was changed.
    """
    if not (folder / LEDGER).exists():
        return read_result(folder)
    with LedgerReader(folder) as ledger:
        warn_of_lost_journal(folder)
        return score_of(ledger)


def in_temporary_folder(play: Callable[[Path], Result]) -> Result:
    """The result of a run whose folder lasts as long as the result's episodes do."""
    folder = Path(tempfile.mkdtemp(prefix="reglue-"))
    try:
        result = play(folder)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return result.with_episodes(Episodes(folder, is_temporary=True))


def score_of(ledger: LedgerReader) -> Result:
    """Score a run as far as it has come."""
    about = ledger.about
    plan = Plan.from_json(about["plan"])
    settings = Settings.model_validate_json(about["settings"])
    played = ScoreInputs(
        plan,
        ledger.rows,
        ledger.rewards,
        agent=_identity(about, settings),
        totals=ledger.totals(),
        versions={
            name.removeprefix("version "): version
            for name, version in about.items()
            if name.startswith("version ")
        },
        fresh=_fresh(settings),
    )
    where = {"machines": _machines(about), "environments_on": _entries_of(about, ENVIRONMENTS)}
    events = [
        Event(what=what, count=int(about[EVENT + what])) for what in _entries_of(about, EVENT)
    ]
    result = result_of(played).with_episodes(Episodes(ledger.folder))
    result = result.model_copy(update={**where, "events": events})
    if repeats := about.get(REPEATS):
        parsed = tuple(map(Repeat.model_validate, json.loads(repeats)))
        result = result.model_copy(update={"repeats": parsed})
    if settings.record or (ledger.folder / OBSERVED).is_file():
        episodes, lost = counted(ledger)
        recorded = Recorded(episodes=episodes, lost=lost)
        result = result.model_copy(update={"recorded": recorded})
    if not about.get(ENDED_EARLY):
        return result
    ending = Ending.model_validate_json(about[ENDED_EARLY])
    return result.model_copy(update={"ended_early": ending})


def _machines(about: Mapping[str, str]) -> list[str]:
    """The machines on which agents played; an entry is `agent 3: NAME, PROCESSOR`."""
    return sorted({each.partition(": ")[2] for each in _entries_of(about, MACHINE)})


def _entries_of(about: Mapping[str, str], kind: str) -> list[str]:
    """What the names of entries of a kind say."""
    return sorted(name.removeprefix(kind) for name in about if name.startswith(kind))


def _identity(about: Mapping[str, str], settings: Settings) -> AgentIdentity:
    name = about.get(AGENT_NAME, "nobody")
    isolations = [each for each in get_args(Isolation) if ISOLATION + each in about]
    if AGENT_NAME not in about and isolations == ["remote"]:  # one was waited for, and did not come
        isolations = []
    return AgentIdentity(
        name=name,
        label=settings.label or name,
        checkpoint_sha256=about.get("agent checkpoint"),
        training_seed=settings.training_seed,
        isolation=next(iter(isolations), None),
    )


def _fresh(settings: Settings) -> Literal["process", "agent_init"]:
    """What made agents naive: a new process if one is started here."""
    launched = settings.agent_cmd or settings.agent not in (None, AGENT_WAIT)
    return "process" if launched else "agent_init"
