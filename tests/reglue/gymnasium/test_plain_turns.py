"""A turn in which all slots step is read at once, in whatever order its rows are."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import pytest
from gymnasium.vector import AutoresetMode

from reglue.gymnasium import make_vec
from reglue.gymnasium.stepped_session import SteppedSession

SLOTS = 4
TURNS = 150


def played(mode: AutoresetMode) -> tuple[list[Any], int]:
    """The results of the steps, in bytes, and the number of steps without anything else."""
    seen, plain = [], 0
    with closing(make_vec("gymnasium:CartPole-v1", num_envs=SLOTS, autoreset_mode=mode)) as envs:
        envs.action_space.seed(3)
        envs.reset(seed=3)
        for _ in range(TURNS):
            waited = envs._session.waits.any()
            *arrays, _ = envs.step(envs.action_space.sample())
            ended = bool((arrays[2] | arrays[3]).any())
            plain += not (waited or ended)
            seen.append([array.tobytes() for array in arrays])
    return seen, plain


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_only_a_turn_with_an_end_or_a_start_is_read_in_parts(
    mode: AutoresetMode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slots that began later come last in the turns that follow: those are plain as well."""
    calls = {"in parts": 0}
    in_parts = SteppedSession._read_turn_in_parts

    def counted(session: SteppedSession, *args: Any) -> Any:
        calls["in parts"] += 1
        return in_parts(session, *args)

    monkeypatch.setattr(SteppedSession, "_read_turn_in_parts", counted)
    seen, plain = played(mode)
    # The first is the turn of the reset.
    assert plain > TURNS // 3
    assert calls["in parts"] <= 1 + TURNS - plain

    monkeypatch.setattr(SteppedSession, "_are_all", lambda *_: False)
    calls["in parts"] = 0
    assert played(mode) == (seen, plain)
    assert calls["in parts"] > TURNS
