"""Writes a run's transcript from its folder."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from reglue.errors import StorageFailed
from reglue.wire.spec_encoding import spec_to_bytes
from reglue_bench.benchmark.benchmark import suite_of
from reglue_bench.plans.plan import Plan
from reglue_bench.results.scoring import is_agents_fault, score_of
from reglue_bench.results.whole_file import whole_file
from reglue_bench.runs.environment_code import code_sha256
from reglue_bench.runs.ledger import (
    AGENT_NAME,
    ENDED_EARLY,
    ENVIRONMENTS,
    EVENT,
    MACHINE,
    PLAYED_IN,
    LedgerReader,
    Row,
)
from reglue_bench.runs.notes import ending_of
from reglue_bench.runs.run import cell_key_of
from reglue_bench.settings import Settings
from reglue_competition.transcript.contents import Episode, EpisodeJson, Header, PlannedCells, Score
from reglue_competition.transcript.framing import MAGIC, Kind, first_chain, write_record


@dataclass(frozen=True, slots=True)
class RunIdentity:
    """The competition, phase, submission and benchmark of a run."""

    competition: str
    phase: str
    submission: str
    draw: int  # of its goals and cells
    team: str
    index: int  # of the benchmark in the phase, from 0
    public_key: bytes  # 32 bytes, of who signs


def write_transcript(
    path: Path, *, header: RunIdentity, folder: Path, sign: Callable[[bytes], bytes]
) -> str:
    """Write the transcript of the run in `folder`, whole or not at all.

    `sign` gives the Ed25519 signature of 32 bytes. Returns the file's SHA-256, hexadecimal. Any
    number of units takes the same memory. Raises StorageFailed, and what LedgerReader raises.
    """
    try:
        with _ForTeams(folder) as ledger, whole_file(path, mode=0o600) as file:
            file.write(MAGIC)
            chain = first_chain()
            for number, (kind, content) in enumerate(_contents(ledger, header)):
                chain = write_record(file, kind, content, chain, number=number)
            file.write(sign(chain))
        with path.open("rb") as written:
            return hashlib.file_digest(written, "sha256").hexdigest()
    except OSError as error:
        raise StorageFailed(f"{path} cannot be written: {error.strerror}") from error


class _ForTeams(LedgerReader):
    """A run's ledger without its machines, and without messages of errors that are not its agent's.

    They may name the organiser's machines and files.
    """

    @property
    def about(self) -> dict[str, str]:
        """The run's settings, and how it ended early."""
        kinds = (MACHINE, ENVIRONMENTS, PLAYED_IN, EVENT)
        about = {name: text for name, text in super().about.items() if not name.startswith(kinds)}
        if (ending := ending_of(about)) and not is_agents_fault(ending.status):
            about[ENDED_EARLY] = ending.model_copy(update={"what": ""}).model_dump_json()
        return about

    def rows(self) -> Iterator[Row]:
        for row in super().rows():
            yield row if is_agents_fault(row.status) else replace(row, detail="")


def _contents(ledger: LedgerReader, run: RunIdentity) -> Iterator[tuple[Kind, bytes]]:
    yield Kind.HEADER, _header(ledger, run).to_json()
    episodes = 0
    for episode in _episodes(ledger):
        episodes += 1
        yield Kind.EPISODE, episode.to_bytes()
    yield Kind.SCORE, Score(episodes=episodes, result=score_of(ledger)).to_json()


def _header(ledger: LedgerReader, run: RunIdentity) -> Header:
    about = ledger.about
    plan = Plan.from_json(about["plan"])
    settings = Settings.model_validate_json(about["settings"])
    with suite_of(plan, settings).opened() as suite:
        spec = spec_to_bytes(suite.spec).hex()
    return Header(
        competition=run.competition,
        phase=run.phase,
        submission=run.submission,
        draw=run.draw,
        team=run.team,
        agent=about.get(AGENT_NAME, "nobody"),
        index=run.index,
        public_key=run.public_key.hex(),
        benchmark=settings.benchmark,
        plan=about["plan"],
        cell_key=about["cell key"],
        start_key=about["secret"],
        spec=spec,
        code=code_sha256(plan, settings),
        versions={
            name.removeprefix("version "): version
            for name, version in about.items()
            if name.startswith("version ")
        },
        limits=asdict(settings.timeouts),
    )


def _episodes(ledger: LedgerReader) -> Iterator[Episode]:
    """All episodes of the last tries, in the order of units and cells."""
    about = ledger.about
    planned = PlannedCells(
        Plan.from_json(about["plan"]), cell_key_of(about), bytes.fromhex(about["secret"])
    )
    unit, steps_before = -1, 0
    for row in ledger.rows():
        if row.unit != unit:
            unit, steps_before = row.unit, 0
        actions = ledger.actions(row.unit, row.attempt, row.k)
        rewards = ledger.rewards(row.unit, row.attempt, row.k)
        facts = EpisodeJson(
            cell=planned.planned_cell(row, steps_before),
            action_bytes=len(actions),
            reward_bytes=rewards.nbytes,
            **{name: getattr(row, name) for name in Row.__slots__},
        )
        yield Episode(facts, actions, rewards if rewards.size else None)
        steps_before += row.steps
