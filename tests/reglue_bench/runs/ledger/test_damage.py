"""A damaged ledger: what is read is what was written, or a typed error says what is wrong."""

from __future__ import annotations

import random
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from reglue import Agent
from reglue.errors import ReglueError, RunDamaged
from reglue_bench.evaluation import carry_out
from reglue_bench.plans.plan import Plan
from reglue_bench.results.scoring import read_run
from reglue_bench.run_folder import LEDGER
from reglue_bench.runs.ledger import Ledger, LedgerReader
from reglue_bench.runs.observer import NullObserver
from reglue_bench.runs.run import Request, check_same
from reglue_bench.settings import Settings
from tests.error_facts import raises
from tests.reglue_bench.agents import Learner, Seeded
from tests.reglue_bench.toys import corridor_plan, online_plan, play

FLIPS = 40  # of single bits, over each run's file


@pytest.fixture(scope="module", params=["multi-task", "online"])
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "online":
        plan = online_plan(runs=4, steps=60)
        agent: Agent = Learner()
    else:
        plan, agent = corridor_plan(num_episodes=30), Seeded()
    play(folder, plan, agent, label="mine")  # as whoever learns needs one to resume
    return Run(folder, plan, agent)


class Run:
    """A finished one, and what is read of it."""

    def __init__(self, folder: Path, plan: Plan, agent: Agent) -> None:
        self.folder = folder
        self.request = Request(
            Settings(benchmark="corridor", workers=0, label="mine"), plan, agent=agent
        )
        self.looks = (read_run, played, self.resumed)
        self.seen = [look(self.copy(folder / str(i))) for i, look in enumerate(self.looks)]

    def copy(self, to: Path) -> Path:
        to.mkdir()
        shutil.copyfile(self.folder / LEDGER, to / LEDGER)
        return to

    def resumed(self, folder: Path) -> object:
        with Ledger(folder) as ledger:
            check_same(ledger, self.request)
            return carry_out(folder, ledger, self.request, NullObserver()).model_dump(
                exclude={"seconds"}
            )


def played(folder: Path) -> object:
    """Every action that can be played again."""
    with LedgerReader(folder) as ledger:
        return [ledger.actions(row.unit, row.attempt, row.k) for row in ledger.rows()]


def flipped(file: Path, seed: int) -> None:
    """One bit of it, half of the time among its first pages, where facts are."""
    content = bytearray(file.read_bytes())
    rng = random.Random(seed)
    most = len(content) if seed % 2 else min(len(content), 4 * 4096)
    content[rng.randrange(most)] ^= 1 << rng.randrange(8)
    file.write_bytes(content)


def test_a_flipped_bit_is_found_or_changes_nothing(tmp_path: Path, run: Run) -> None:
    """By who reads the score, by who plays episodes again, and by who goes on with the run."""
    words: list[str] = []
    for seed in range(FLIPS):
        for place, look in enumerate(run.looks):
            folder = run.copy(tmp_path / f"{seed} {place}")
            flipped(folder / LEDGER, seed)
            try:
                seen = look(folder)
            except ReglueError as error:
                words.append(str(error))
            else:
                assert seen == run.seen[place], seed
            shutil.rmtree(folder)
    assert len(words) > FLIPS // 4  # the rest lie where nothing is kept
    assert max(map(len, words)) < 1000


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ("UPDATE outcome SET success = 1 - success WHERE unit = 1", ["rows of unit 1"]),
        ('UPDATE outcome SET "return" = 99 WHERE unit = 1', ["rows of unit 1"]),
        ("UPDATE outcome SET detail = 'x' WHERE unit = 1", ["rows of unit 1"]),
        ("DELETE FROM outcome WHERE unit = 1", ["unit 2", "those of unit 1"]),
        ("DELETE FROM outcome WHERE unit = (SELECT max(unit) FROM outcome)", ["missing"]),
        ("DELETE FROM try WHERE unit = 1", ["rows of unit 1", "unit 2"]),
        ("UPDATE session SET executed = executed + 1", ["totals", "session 1"]),
        ("DELETE FROM session", ["totals", 0, 1]),
        ("UPDATE about SET value = replace(value, '1', '3') WHERE name = 'plan'", ["plan"]),
        ("UPDATE about SET value = value || '.' WHERE name = 'version numpy'", ["settings"]),
        ("DELETE FROM about WHERE name = 'secret'", ["settings"]),
        ("DROP TABLE session", ["no such table: session"]),
    ],
)
def test_damage_is_said_with_its_place_and_a_way_out(
    tmp_path: Path, run: Run, change: str, named: list[object]
) -> None:
    folder = run.copy(tmp_path / "run")
    changed(folder, change)
    with raises(RunDamaged, folder / LEDGER, *named, settings={"out"}):
        read_run(folder)


@pytest.mark.parametrize("change", ["UPDATE actions SET zlib = x'00'", "DELETE FROM actions"])
def test_damaged_actions_are_not_played(tmp_path: Path, run: Run, change: str) -> None:
    folder = run.copy(tmp_path / "run")
    changed(folder, change)
    assert read_run(folder) == run.seen[0]  # which they are no part of
    with LedgerReader(folder) as ledger:
        row = next(ledger.rows())
        with raises(RunDamaged, "actions", f"episode {row.k}", f"unit {row.unit}"):
            ledger.actions(row.unit, row.attempt, row.k)


@pytest.mark.parametrize("change", ["UPDATE rewards SET k = k + 100", "DELETE FROM rewards"])
def test_damaged_rewards_are_not_scored(tmp_path: Path, change: str) -> None:
    play(tmp_path, online_plan(runs=2, steps=20), Learner())
    changed(tmp_path, change)
    with raises(RunDamaged, "rewards", "episode 0", "unit 0"):
        read_run(tmp_path)


def changed(folder: Path, statement: str) -> None:
    with closing(sqlite3.connect(folder / LEDGER)) as connection, connection:
        connection.execute(statement)
