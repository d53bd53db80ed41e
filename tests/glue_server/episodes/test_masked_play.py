"""Forbidden actions in episodes, of one slot among others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from env_adapters import Cell
from env_adapters.gymnasium import suite_of
from glue_server import EpisodeRunner, LocalPort, Outcome, Timeouts
from glue_server.agent.agent_port import MoreTime
from reglue import Agent, EndKind, Phase
from reglue.errors import AgentTimeout
from reglue.examples.random_agent import RandomAgent
from reglue.messages.agent_messages import Reply
from tests.error_facts import assert_named
from tests.glue_server.playing import by_k, glue_of, in_turn, local
from tests.masked_doors import STEPS, Doors, Holding, Last, Locks, Scribbling, Traps

COUNT = 6


def orders(env: type[Doors], count: int = COUNT) -> list[Cell]:
    return [Cell(env.__name__, 0, seed, 0, Phase.EVALUATE) for seed in range(count)]


def pool(env: type[Doors], slots: int) -> Any:
    suite = suite_of(env)
    assert suite is not None
    return local(suite, slots)


def played(
    agent: Agent, env: type[Doors] = Doors, slots: int = 3, count: int = COUNT
) -> list[Outcome]:
    glue, _ = glue_of(agent, pool(env, slots))
    return by_k(glue.play(in_turn(orders(env, count)), Phase.EVALUATE))


def plain(rows: Sequence[Outcome]) -> list[Outcome]:
    return [replace(row, observed=None) for row in rows]


@pytest.mark.parametrize("env", [Doors, Locks])
@pytest.mark.parametrize("slots", [1, 3])
def test_a_random_agent_plays_legal_actions_alone(env: type[Doors], slots: int) -> None:
    rows = played(RandomAgent(), env, slots)
    assert [(row.status, row.steps) for row in rows] == [("ok", STEPS)] * COUNT
    assert plain(rows) == plain(played(RandomAgent(), env, 2))


@pytest.mark.parametrize("partial", [False, True], ids=["lockstep", "groups"])
@pytest.mark.parametrize("kind", [Last, Holding])
@pytest.mark.parametrize("env", [Doors, Locks])
@pytest.mark.parametrize("step", [0, 2], ids=["start", "step"])
def test_a_forbidden_action_ends_its_episode_alone(
    env: type[Doors], kind: type[Last], step: int, partial: bool
) -> None:
    whole = played(Last(), env)
    assert {row.status for row in whole} == {"ok"}
    agent = kind(wrong_seed=1002, wrong_step=step, partial=partial)
    rows = played(agent, env)
    wrong = rows.pop(2)
    assert (wrong.status, wrong.steps) == ("agent_error", step)
    assert_named(["wanted one of", "'action_mask'"], wrong.detail)
    assert plain(rows) == plain(whole[:2] + whole[3:])


def test_an_agent_that_writes_to_its_masks_is_judged_by_what_it_was_shown() -> None:
    assert plain(played(Scribbling())) == plain(played(Last()))


def test_the_agent_is_told_which_slot_and_which_actions() -> None:
    glue, port = glue_of(Last(wrong_seed=1001), pool(Doors, 2))
    told: list[Any] = []
    port.refuse = told.append  # type: ignore[assignment, method-assign]
    row = by_k(glue.play(in_turn(orders(Doors)[:2]), Phase.EVALUATE))[1]
    [refused] = told
    assert refused.code == "OUT_OF_DOMAIN"
    assert refused.got.endswith("in slot 1")
    assert row.detail == f"got {refused.got.removesuffix(' in slot 1')}, wanted {refused.wanted}"


def test_a_mask_that_allows_nothing_is_the_environments_fault() -> None:
    agent = Last()
    rows = played(agent, Traps, 2, 12)
    statuses = [(row.status, row.steps) for row in rows]
    assert {*statuses} == {("ok", STEPS), ("environment_error", 0), ("environment_error", 1)}
    for row in rows:
        assert (row.status == "ok") == (not row.detail)
        assert row.status == "ok" or "'action_mask'" in row.detail
    begun = [status for status in statuses if status != ("environment_error", 0)]
    kinds = [EndKind.VOID if status[0] != "ok" else EndKind.TERMINATED for status in begun]
    assert sorted(kind for _, kind in agent.ends) == sorted(kinds)
    whole = played(Last(), Doors, 2, 12)
    are_whole = [status[0] == "ok" for status in statuses]
    for row, other, is_whole in zip(rows, whole, are_whole, strict=True):
        assert not is_whole or row.actions == other.actions


class LatePort(LocalPort):
    """Whose agent is late in its fourth answer."""

    def __init__(self, agent: Agent) -> None:
        super().__init__(agent, "late")
        self.answers = 0

    def receive(self, timeout_s: float, more_s: MoreTime | None = None) -> Reply:
        reply = super().receive(timeout_s)
        self.answers += 1
        if self.answers == 4:  # the second and third are of the freeze and the start
            raise AgentTimeout.after(timeout_s)
        return reply


@pytest.mark.parametrize("env", [Doors, Locks])
def test_the_default_action_of_a_late_agent_is_a_legal_one(env: type[Doors]) -> None:
    runner = EpisodeRunner(LatePort(Last()), pool(env, 3), timeouts=Timeouts(plays_defaults=True))
    runner.init()
    runner.freeze()
    rows = by_k(runner.play(in_turn(orders(env)[:3]), Phase.EVALUATE))
    assert [(row.status, row.steps, row.defaulted) for row in rows] == [("ok", STEPS, 1)] * 3
    others = played(Last(), env)[:3]
    size = len(rows[0].actions) // STEPS
    chosen, own = (
        np.frombuffer(b"".join(row.actions[:size] for row in each), np.int64)
        for each in (rows, others)
    )
    assert chosen.tolist() == own.tolist()  # at the start, before it was late
