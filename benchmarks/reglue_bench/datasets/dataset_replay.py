"""Plays a run's recorded episodes again, and compares all that was seen and earned."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from env_adapters import SuiteName
from reglue.errors import EnvironmentFault, UsageError
from reglue.spec import Array, Arrays
from reglue_bench.benchmark.benchmark import suite_of
from reglue_bench.datasets.recorded_dataset import FOLDER
from reglue_bench.datasets.run_source import RunEpisode, RunSource
from reglue_bench.datasets.source import places
from reglue_bench.procedures import procedure_of
from reglue_bench.replay import Moment, Recorded, Replay
from reglue_bench.replay.recorded import changes_since, check_replayable, order_of
from reglue_bench.run_folder import LEDGER
from reglue_bench.runs.run import cell_key_of
from reglue_bench.runs.trust import check_trusted
from reglue_bench.settings import Settings


def replayed(path: Path, *, trust_code: bool = False) -> Iterator[tuple[str, str | None]]:
    """Play each episode again: its title, and how it differs; None if it is equal to the bit.

    `path` is a run's folder, or the dataset in it. Raises UsageError if it cannot be played here,
    and NotTrusted if that would run code that is not Reglue's, unless `trust_code`.
    """
    with RunSource(_run_of(path)) as source:
        check_replayable(source.plan)
        check_trusted(path, source.about, trust_code=trust_code)
        name = suite_of(source.plan, Settings.model_validate_json(source.about["settings"]))
        with name.opened() as suite:
            for episode in source:
                recorded = _recorded(episode, source, name)
                yield recorded.title, _difference(episode, Replay(recorded, suite))


def _run_of(path: Path) -> Path:
    for folder in (path, path.parent if path.name == FOLDER else path):
        if (folder / LEDGER).exists():
            return folder
    raise UsageError(
        got=path,
        wanted=(
            "the folder of a run that was recorded: its ledger says which episodes to play again"
        ),
    )


def _recorded(episode: RunEpisode, source: RunSource, name: SuiteName) -> Recorded:
    row, steps_before = episode.row, episode.steps_before
    cut_off = row.steps >= procedure_of(source.plan).steps_left(row.k, steps_before)
    # Of training, the last episodes are truncated where the budget of steps is used up.
    cut_off = cut_off or (row.phase == "train" and episode.observed.truncated)
    _, actions = source.observed.rewards_and_actions(episode.observed)
    return Recorded(
        plan=source.plan,
        suite=name,
        order=order_of(source.plan, row, steps_before, cell_key_of(source.about)),
        row=row,
        actions=actions,
        rewards=episode.rewards,
        cut_off=cut_off,
        changes=changes_since(source.about, name),
    )


def _difference(episode: RunEpisode, replay: Replay) -> str | None:
    try:
        rows = _rows(episode)
        for moment in replay.moments():
            _check(moment, next(rows), episode, replay)
    except EnvironmentFault as fault:
        return str(fault)
    finally:
        replay.close()
    return None


def _check(moment: Moment, recorded: Arrays, episode: RunEpisode, replay: Replay) -> None:
    """Raise EnvironmentFault unless what is seen at a step is what was recorded."""
    for name, wanted in recorded.items():
        got = np.asarray(moment.observation[name])
        if got.tobytes() != wanted.tobytes():
            raise replay.differs(moment.step, f"{name} = {_brief(got)}", _brief(wanted))
    if moment.step == episode.steps and episode.row.status == "ok":
        terminated, truncated = episode.observed.terminated, episode.observed.truncated
        # A run truncates episodes, too: there the environment would have gone on.
        if moment.terminated != terminated or (moment.truncated and not truncated):
            template = "terminated, truncated = {}, {}"
            got_end = template.format(moment.terminated, moment.truncated)
            raise replay.differs(moment.step, got_end, template.format(terminated, truncated))


def _rows(episode: RunEpisode) -> Iterator[Arrays]:
    """The observations one by one, as arrays by the tensors' names."""
    at = places(episode.source.spec.observations)
    for part in episode.observations():
        for row in range(len(next(iter(part.values())))):
            yield {name: part[place][row] for name, place in at.items()}


def _brief(values: Array) -> str:
    with np.printoptions(threshold=8, edgeitems=3):
        return str(values).replace("\n", "")
