"""A VectorEnv whose environments fail at forbidden actions: idle slots play legal ones, too."""

from __future__ import annotations

from typing import Any

import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import reglue
from reglue.examples.random_agent import RandomAgent
from tests.masked_doors import STEPS, Doors, Last, Locks


def disabled(env: type[Doors]) -> Any:
    return lambda num_envs=1: SyncVectorEnv([env] * num_envs, autoreset_mode=AutoresetMode.DISABLED)


def same_step(env: type[Doors]) -> Any:
    return lambda num_envs=1: SyncVectorEnv(
        [env] * num_envs, autoreset_mode=AutoresetMode.SAME_STEP
    )


@pytest.mark.parametrize("make", [disabled, same_step])
@pytest.mark.parametrize("env", [Doors, Locks])
@pytest.mark.parametrize("count", [2, 7])
def test_a_batch_of_masked_environments_never_fails(
    make: Any, env: type[Doors], count: int
) -> None:
    result = reglue.evaluate(make(env), RandomAgent(), num_episodes=count, slots=3)
    assert [(row.status, row.steps) for row in result.episodes] == [("ok", STEPS)] * count


class OneWrong(Last):
    """Takes a shut door in the third step of slot 1."""

    def turn(self, turn: Any) -> Any:
        if not self.turns:
            self.wrong_seed, self.wrong_step = int(turn.starts.seeds[1]), 2
        return super().turn(turn)


@pytest.mark.parametrize("env", [Doors, Locks])
def test_a_forbidden_action_in_a_batch_ends_its_episode_alone(env: type[Doors]) -> None:
    def rows(agent: Last) -> list[Any]:
        played = reglue.evaluate(
            disabled(env), agent, num_episodes=3, slots=3, raise_faults=False
        ).episodes
        return [(row.status, row.return_, row.steps) for row in played]

    whole, got = rows(Last()), rows(OneWrong())
    assert [row[0] for row in whole] == ["ok"] * 3
    assert got[1][::2] == ("agent_error", 2)
    assert (got[0], got[2]) == (whole[0], whole[2])
