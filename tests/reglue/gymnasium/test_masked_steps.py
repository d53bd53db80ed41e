"""A program that steps plays a forbidden action: it is told before anything is played."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from reglue.errors import BadArgument
from reglue.gymnasium import make, make_vec
from tests.error_facts import raises
from tests.masked_doors import DOORS, STEPS

pytestmark = pytest.mark.usefixtures("tidy")


def legal(shown: Any) -> Any:
    """The last open door of each row."""
    return 5 - shown["action_mask"][..., ::-1].argmax(axis=-1)


def shut(shown: Any) -> Any:
    return shown["action_mask"].argmin(axis=-1) + 1


def one_walk(*, errs: bool) -> list[Any]:
    """An episode of the last open doors; `errs`: a shut one is tried before each."""
    with closing(make(DOORS)) as env:
        shown, _ = env.reset(seed=5)
        rows: list[Any] = []
        while not rows or not rows[-1][1]:
            if errs:
                wrong = shut(shown)
                with raises(BadArgument, "slot 0", f"'action' = [{wrong}]", "'action_mask'"):
                    env.step(wrong)
            shown, reward, terminated, *_ = env.step(legal(shown))
            rows.append([reward, terminated, shown["action_mask"].tolist()])
        return rows


def test_a_forbidden_action_is_refused_and_nothing_is_lost() -> None:
    rows = one_walk(errs=True)
    assert len(rows) == STEPS
    assert rows == one_walk(errs=False)


def walks(mode: AutoresetMode, *, errs: bool) -> list[Any]:
    """The rewards of three slots over several episodes."""
    with closing(make_vec(DOORS, 3, autoreset_mode=mode)) as envs:
        shown, _ = envs.reset(seed=5)
        ended, rows = np.zeros(3, np.bool_), []
        for _ in range(3 * STEPS):
            if mode is AutoresetMode.DISABLED and ended.any():
                shown, _ = envs.reset(options={"reset_mask": ended})
                ended[:] = False
            actions = legal(shown)
            if errs and (not ended[1] or mode is AutoresetMode.SAME_STEP):
                wrong = np.where([False, True, False], shut(shown), actions)
                with raises(BadArgument, "slot 1", "'action_mask'"):
                    envs.step(wrong)
            shown, rewards, terminated, truncated, _ = envs.step(actions)
            rows.append([rewards.tolist(), shown["action_mask"].tolist()])
            ended = terminated | truncated
        return rows


@pytest.mark.parametrize("mode", list(AutoresetMode), ids=lambda mode: mode.name)
def test_it_is_refused_in_a_slot_among_others(mode: AutoresetMode) -> None:
    assert walks(mode, errs=True) == walks(mode, errs=False)
