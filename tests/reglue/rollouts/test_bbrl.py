"""The results of BBRL (commit 7a2292d), without its faults. Where we differ on purpose:

- `timestep` is 0 in every first row; BBRL's restarts at 1 under autoreset.
- A finished environment's action is recorded, but a vector environment cannot pause: it plays on.
- Rewards are float64; BBRL's are float32.
- A second collection begins anew; BBRL freezes it with the last frame of the first (bb04).
- An overlap of several rows is copied once; BBRL copies it once for each variable (bb17b).
- An epoch has exactly its rows; BBRL keeps those of a longer one before (bb11).
- A reward is always in the row to which the action led; BBRL can shift it (`reward_at_t`, bb13).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.testing as npt
import pytest

from reglue.rollouts import collect_episodes, collect_steps, transitions
from reglue.spec import Array
from tests.reglue.rollouts.rollout_toys import MODES, Counting, bbrl_toys

CASES = json.loads((Path(__file__).parent / "bbrl.json").read_text(encoding="utf-8"))

NAMES = {
    "env/env_obs": "observation",
    "env/reward": "reward",
    "env/cumulated_reward": "cumulated_reward",
    "env/terminated": "terminated",
    "env/truncated": "truncated",
    "env/done": "done",
    "env/timestep": "timestep",
    "action": "action",
}


def check(
    got: Mapping[str, Array], wanted: Mapping[str, Any], differs: tuple[str, ...] = ()
) -> None:
    compared = [name for name in NAMES if name in wanted and NAMES[name] not in differs]
    assert compared
    for name in compared:
        array = got[NAMES[name]]
        array = array[..., 0] if name == "env/env_obs" else array
        npt.assert_array_equal(array, wanted[name], name)


@pytest.mark.parametrize("mode", MODES)
def test_without_autoreset_a_finished_environment_repeats_its_last_frame(mode: str) -> None:
    envs = bbrl_toys(mode)
    check(collect_episodes(envs, Counting(), 2), CASES["bb01_noautoreset_stop"])


@pytest.mark.parametrize("mode", MODES)
def test_a_fixed_number_of_rows_goes_on_repeating(mode: str) -> None:
    got = collect_episodes(bbrl_toys(mode), Counting(), 2, rows=7)
    check(got, CASES["bb02_noautoreset_nsteps7"])


def test_a_fixed_number_of_rows_takes_precedence_over_the_flag() -> None:
    check(collect_episodes(bbrl_toys(), Counting(), 2, rows=3), CASES["bb03_nsteps_and_stop"])


def test_a_second_collection_begins_anew() -> None:
    envs = bbrl_toys()
    first, second = (collect_episodes(envs, Counting(), 2) for _ in range(2))
    for name in set(first) - {"observation"}:  # which counts the episodes
        npt.assert_array_equal(first[name], second[name])
    npt.assert_array_equal(second["observation"][0], [[200], [100]])


def test_with_autoreset_an_episode_begins_in_the_next_row() -> None:
    rollout = next(collect_steps(bbrl_toys(), Counting(), 8))
    check(rollout, CASES["bb05_autoreset_8"], differs=("timestep",))
    npt.assert_array_equal(rollout["timestep"][:, 0], [0, 1, 2, 0, 1, 2, 0, 1])


def test_transitions_drop_what_crosses_episodes_time_major() -> None:
    pairs = transitions(next(collect_steps(bbrl_toys(), Counting(), 8)))
    check(pairs, CASES["bb06_get_transitions"], differs=("timestep",))


def test_transitions_have_the_shapes_and_kinds() -> None:
    pairs = transitions(next(collect_steps(bbrl_toys(), Counting(), 8)))
    wanted = CASES["bb20_get_transitions_grad_dtype"]
    for name, (shape, dtype) in wanted.items():
        got = pairs[NAMES[name]]
        assert list(got.shape) == shape
        assert str(got.dtype) == ("float64" if "reward" in name else dtype.removeprefix("torch."))


def test_reset_in_the_same_step_leaves_no_row_for_the_last_observation() -> None:
    rollout = next(collect_steps(bbrl_toys("SameStep"), Counting(), 8))
    check(rollout, CASES["bb14_no_last_state"], differs=("timestep",))
    assert transitions(rollout)["done"].shape == (2, CASES["bb07_no_final_state"]["n"])


def test_an_epoch_begins_with_the_last_row_of_the_one_before() -> None:
    times = [0, 1, 2, 3, 1, 2, 3]  # BBRL's actor counts the rows of an epoch

    def policy(observations: Array) -> Array:
        return np.full(2, times.pop(0))

    epochs = collect_steps(bbrl_toys(), policy, 4)
    for name in ("epoch1", "epoch2"):
        wanted = CASES["bb09_copy_last_epoch"][name]
        check(next(epochs), wanted, differs=("timestep",))


def test_a_shifted_reward_is_the_next_rows() -> None:
    rollout = next(collect_steps(bbrl_toys(), Counting(), 8))
    wanted = CASES["bb13_reward_at_t_autoreset"]
    npt.assert_array_equal(rollout["reward"][1:], wanted["env/reward"][:-1])
    npt.assert_array_equal(rollout["cumulated_reward"][1:], wanted["env/cumulated_reward"][:-1])


def test_an_overlap_of_several_rows_is_copied_once() -> None:
    epochs = collect_steps(bbrl_toys(), Counting(), 3, overlap=2)
    first, second = next(epochs), next(epochs)
    for name in first:
        npt.assert_array_equal(second[name][:2], first[name][1:])
    npt.assert_array_equal(second["action"][:, 0], [1, 2, 3])
