"""RL_adapt_begin and RL_adapt: what the agent is told, and when each is legal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from reglue import Phase
from reglue.errors import AgentFault, NotSupported, OutOfOrder
from tests.error_facts import raises
from tests.glue_server.routines.lab import Bench, Lab, Learner, begun, phases_of, refused, seen


class Short(Lab):
    length = 2


def learning(**more: Any) -> Bench:
    """A program whose agent has begun to adapt; nobody was asked since."""
    bench = begun(lab=Short(), actor=Learner(**more))
    bench.adapt_begin()
    bench.asked()
    return bench


def test_what_follows_adapt_begin_is_adaptation_until_a_freeze() -> None:
    bench = begun(lab=Short(), actor=Learner())
    bench.episode()
    bench.adapt_begin()
    bench.episode()
    bench.adapt()
    bench.episode()
    bench.adapt()
    bench.freeze()
    bench.episode()
    told = [name for name, *_ in bench.asked()[1] if name != "turn"]
    assert told == ["adapt_begin", "adapt", "adapt", "freeze"]
    phases = [Phase.TRAIN, Phase.ADAPT, Phase.ADAPT, Phase.EVALUATE]
    assert phases_of(bench.lab.cells) == phases
    starts = [turn.phase for turn in bench.actor.turns if turn.starts]
    assert starts == phases


def test_the_next_goal_begins_anew_after_a_freeze() -> None:
    bench = learning()
    bench.freeze()
    bench.adapt_begin()
    bench.episode()
    bench.adapt()
    assert phases_of(bench.lab.cells) == [Phase.ADAPT]


def test_init_ends_adaptation() -> None:
    bench = learning()
    bench.init()
    bench.start()
    assert phases_of(bench.lab.cells) == [Phase.TRAIN]
    bench.episode()
    refused(bench, bench.adapt, OutOfOrder, "RL_adapt", "RL_adapt_begin")


def test_an_episode_that_its_limit_cut_off_may_be_learned_from() -> None:
    bench = begun(actor=Learner())
    bench.adapt_begin()
    bench.episode(3)
    bench.adapt()
    bench.episode(3)
    bench.adapt_begin()


def test_an_episode_that_agent_end_ended_may_be_learned_from() -> None:
    bench = begun(actor=Learner())
    bench.adapt_begin()
    bench.start()
    bench.agent_end([0.0], seen(0, 0), truncated=True)
    bench.adapt()


def _in_mid_episode(bench: Bench) -> None:
    bench.start()


def _cut_off_and_stepped(bench: Bench) -> None:
    bench.episode(1)
    bench.step()


def _cut_off_and_begun(bench: Bench) -> None:
    bench.episode(1)
    bench.agent_start(seen(0, 0))


@pytest.mark.parametrize("routine", [Bench.adapt, Bench.adapt_begin])
@pytest.mark.parametrize("before", [_in_mid_episode, _cut_off_and_stepped, _cut_off_and_begun])
def test_nothing_is_learned_in_mid_episode(
    routine: Callable[[Bench], None], before: Callable[[Bench], None]
) -> None:
    bench = begun(actor=Learner())
    bench.adapt_begin()
    before(bench)
    refused(bench, lambda: routine(bench), OutOfOrder, "slot 0", "RL_agent_end")
    bench.step()
    assert bench.actor.turns[-1].phase is Phase.ADAPT


def test_adapt_comes_after_adapt_begin() -> None:
    bench = begun(lab=Short(), actor=Learner())
    bench.episode()
    refused(bench, bench.adapt, OutOfOrder, "got RL_adapt before RL_adapt_begin")
    bench.episode()
    assert phases_of(bench.lab.cells) == [Phase.TRAIN] * 2


def test_adapt_does_not_come_after_a_freeze() -> None:
    bench = learning()
    bench.episode()
    bench.freeze()
    refused(bench, bench.adapt, OutOfOrder, "got RL_adapt after RL_freeze")
    bench.episode()
    assert phases_of(bench.lab.cells) == [Phase.ADAPT, Phase.EVALUATE]


def test_adapt_needs_an_episode_since_the_last() -> None:
    bench = learning()
    refused(bench, bench.adapt, OutOfOrder, "no episode since RL_adapt_begin")
    bench.episode()
    bench.adapt()
    refused(bench, bench.adapt, OutOfOrder, "no episode since the last RL_adapt")
    bench.episode()
    bench.adapt()


@pytest.mark.parametrize("routine", [Bench.adapt, Bench.adapt_begin])
def test_an_agent_that_cannot_adapt_is_named(routine: Callable[[Bench], None]) -> None:
    class Fixed(Learner):
        adapts = False

    bench = begun(lab=Short(), actor=Fixed())
    refused(bench, lambda: routine(bench), NotSupported, "'actor', which cannot adapt")
    bench.episode()
    assert phases_of(bench.lab.cells) == [Phase.TRAIN]


@pytest.mark.parametrize("routine", ["adapt_begin", "adapt"])
def test_an_agent_that_fails_to_adapt_is_lost(routine: str) -> None:
    bench = learning()
    bench.episode()
    bench.actor.broken = routine
    with raises(AgentFault, f"{routine} is broken"):
        getattr(bench, routine)()
