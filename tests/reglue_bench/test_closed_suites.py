"""A suite is closed once, wherever it was made, also after a failure."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import reglue
from env_adapters.composed import Composed
from reglue.environments.slot_worlds import Worlds
from reglue_bench.local_training import spec
from tests.reglue_bench.many_slots import Hall

NAME = "tests.reglue_bench.many_slots:Hall"


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The file of notes; afterwards each suite that was made has been closed, and once."""
    path = tmp_path / "halls"
    monkeypatch.setenv("HALLS", str(path))
    yield path
    lines = path.read_text(encoding="utf-8").splitlines()
    made = [line.removesuffix(" made") for line in lines if line.endswith(" made")]
    closed = [line.removesuffix(" closed") for line in lines if line.endswith(" closed")]
    assert made
    assert sorted(made) == sorted(closed)


def still(observations: Any) -> Any:
    return np.zeros((len(observations), 1), np.float32)


@pytest.mark.parametrize("fails", [False, True], ids=["fine", "fails"])
@pytest.mark.parametrize("workers", [0, 2])
def test_an_evaluation_closes_what_it_planned_and_played_with(
    workers: int, fails: bool, notes: Path
) -> None:
    result = reglue.evaluate(
        f"multi-task:{NAME}",
        still,
        environment_args={"fails": fails},
        num_episodes=4,
        slots=2,
        workers=workers,
        raise_faults=False,
    )
    assert bool(result.faults) == fails
    assert len(notes.read_text(encoding="utf-8").splitlines()) >= 2 * (1 + max(1, workers))


def test_an_evaluator_closes_once_after_many_evaluations(notes: Path) -> None:
    with reglue.Evaluator(f"multi-task:{NAME}", num_episodes=2, slots=2) as evaluator:
        for _ in range(3):
            evaluator(still)
    assert len(notes.read_text(encoding="utf-8").splitlines()) == 4


def test_who_asks_for_the_spec_alone_closes_it(notes: Path) -> None:
    assert spec(NAME).horizon == 5


def test_a_file_closes_all_that_it_composes(notes: Path, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    tables = "".join(f'[tasks.{name}]\nenvironment = "{NAME}"\ntask = "walk"\n' for name in "ab")
    file.write_text(f'procedure = "multi-task"\n{tables}', encoding="utf-8")
    assert reglue.evaluate(str(file), still, num_episodes=2, slots=2).complete


def test_a_world_that_cannot_be_closed_does_not_keep_the_suite_open(notes: Path) -> None:
    hall = Hall()
    worlds = Worlds(hall)
    worlds.spec = worlds.env_init(2)
    world: Any = worlds.world(0)
    world.close = lambda: 1 / 0
    with pytest.raises(ZeroDivisionError):
        worlds.env_cleanup()
    worlds.env_cleanup()


def test_env_init_keeps_the_suite_and_a_later_cleanup_closes_it_again(
    notes: Path, tmp_path: Path
) -> None:
    composed = Composed(
        [{"factory": NAME, "config": {}}], {"a": {"suite": 0, "task": "walk", "variants": [0]}}
    )
    worlds = Worlds(composed)
    for _ in range(2):
        worlds.spec = worlds.env_init(1)
    assert "closed" not in notes.read_text(encoding="utf-8")
    worlds.env_cleanup()
