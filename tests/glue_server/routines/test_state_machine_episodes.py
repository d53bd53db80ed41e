"""RL_episode, rewards that are withheld, and what an episode's chance depends on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from reglue.errors import EnvironmentFault, OutOfDomain
from reglue.messages.experiment_messages import EpisodePlayed, RLEpisode
from tests.glue_server.routines.lab import SPEC, Lab, begun, refused, started


class Timed(Lab):
    """Slot s ends at its step s + 2."""

    def play(self, play: Any) -> Any:
        for slot in play.slots.tolist():
            self.fate[slot] = "ends" if self._live[slot][0] == slot + 1 else ""
        return super().play(play)


def test_slots_of_an_episode_end_one_by_one() -> None:
    bench = begun(slots=2, lab=Timed())
    assert bench.episode(3) is False
    assert bench.counts() == [(1.0, 2, 1), (0.5, 3, 0)]
    assert bench.episode(4) is True
    assert bench.counts() == [(1.0, 2, 2), (0.75, 3, 1)]


@pytest.mark.parametrize(("steps", "wanted"), [(0, "max_steps of 1"), (-1, "an integer")])
def test_an_episode_of_a_continuing_task_needs_a_limit(steps: int, wanted: str) -> None:
    bench = begun(lab=Lab(replace(SPEC, continuing=True)))
    refused(bench, lambda: bench.episode(steps), OutOfDomain, wanted)


def test_success_at_any_step_is_the_episodes_until_the_next_begins() -> None:
    class Lucky(Lab):
        fates = iter(["succeeds", "ends", "", "ends"])

        def play(self, play: Any) -> Any:
            if len(play.slots):
                self.fate[0] = next(self.fates)
            return super().play(play)

    bench = begun(lab=Lucky())
    assert not bench.success()
    played = bench.machine.run(RLEpisode(0))
    assert isinstance(played, EpisodePlayed)
    assert (played.terminated.tolist(), played.success.tolist()) == ([True], [True])
    assert bench.success()
    bench.episode()
    assert not bench.success()


def test_rewards_that_a_task_withholds_are_the_programs_alone() -> None:
    bench = started(lab=Lab(replace(SPEC, rewards_in_evaluation=False)))
    bench.freeze()
    assert bench.step().rewards.tolist() == [0.5]
    assert np.isnan(bench.actor.turns[-1].rewards).all()


def test_the_same_program_plays_the_same_bits() -> None:
    def played(seed: int) -> list[Any]:
        bench = begun(slots=2, seed=seed)
        bench.start()
        bench.start()
        bench.init()
        bench.start()
        seeds = [turn.starts.seeds.tolist() for turn in bench.actor.turns]
        return [bench.lab.cells, seeds]

    assert played(5) == played(5)
    assert played(5) != played(6)


def test_each_start_is_another_episode_also_after_another_init() -> None:
    bench = begun(slots=2)
    bench.start()
    bench.start()
    bench.init()
    bench.start()
    cells = bench.lab.cells
    assert [(cell.task, cell.variant, cell.repeat) for cell in cells] == [
        ("task", 0, repeat) for repeat in (0, 1, 2, 3, 0, 1)
    ]
    assert len({cell.seed for cell in cells}) == 6
    assert all(0 <= cell.seed < 2**63 for cell in cells)
    seeds = [seed for turn in bench.actor.turns for seed in turn.starts.seeds.tolist()]
    assert len({*seeds}) == 6
    assert not {*seeds} & {cell.seed for cell in cells}


def test_a_start_says_how_many_steps_of_the_run_were_taken() -> None:
    bench = begun(slots=2)
    bench.start()
    bench.step()
    bench.step()
    bench.lab.fate[0] = "fails"  # what failed is no step
    with pytest.raises(EnvironmentFault):
        bench.step()
    bench.start()
    bench.init()
    bench.start()
    assert [cell.steps for cell in bench.lab.cells] == [0, 0, 5, 5, 0, 0]


def test_standardized_randomness_is_asked_of_the_environment() -> None:
    bench = begun()
    bench.standardize_randomness(3)
    assert bench.asked()[0] == [("standardize", 3)]
    refused(bench, lambda: bench.standardize_randomness(-1), OutOfDomain, "seed -1")
