"""Access control against example 10.2, and against its own average rewards, computed exactly."""

from __future__ import annotations

from collections import Counter

import pytest

from env_adapters.classic.access_control import AccessControl, Queue
from reglue.rng import Rng
from tests.env_adapters.classic.classic_playing import cell_of, play
from tests.env_adapters.classic.queuing import accept_all, average_reward

REJECT, ACCEPT = range(2)


def test_the_task_goes_on_forever() -> None:
    assert AccessControl().spec.continuing
    player = AccessControl().world()
    player.start(cell_of("access-control"))
    assert not any(any(step[2:]) for step in play(player, [ACCEPT] * 2000))


@pytest.mark.parametrize(("first", "reward"), [(0, 1.0), (1, 2.0), (2, 4.0), (3, 8.0)])
def test_who_is_let_in_pays_the_priority(first: int, reward: float) -> None:
    rules = AccessControl()
    assert rules.move(Queue(1, first), ACCEPT, Rng(0)).reward == reward
    assert rules.move(Queue(1, first), REJECT, Rng(0)).reward == 0.0


def test_without_a_free_server_everybody_is_rejected() -> None:
    rules = AccessControl()
    accepted, rejected = (rules.move(Queue(0, 3), act, Rng(5)) for act in (ACCEPT, REJECT))
    assert accepted == rejected
    assert accepted.reward == 0.0


def test_each_busy_server_is_freed_with_chance_6_in_100() -> None:
    rules, rng = AccessControl(), Rng(2)
    freed = [rules.move(Queue(0, 0), REJECT, rng).state.free for _ in range(4000)]
    assert sum(freed) / 40_000 == pytest.approx(0.06, abs=0.004)


def test_free_servers_stay_free() -> None:
    rules, rng = AccessControl(), Rng(2)
    assert {rules.move(Queue(10, 0), REJECT, rng).state.free for _ in range(100)} == {10}


def test_every_priority_is_as_likely() -> None:
    rules, rng = AccessControl(), Rng(2)
    firsts = Counter(rules.move(Queue(9, 0), REJECT, rng).state.first for _ in range(4000))
    assert firsts.keys() == {0, 1, 2, 3}
    assert all(900 < count < 1100 for count in firsts.values())


def test_it_begins_with_all_servers_free() -> None:
    seen = AccessControl().world().start(cell_of("access-control"))["observation"]
    assert seen.tolist()[0] == 10


def test_letting_everybody_in_earns_what_theory_says() -> None:
    """Twenty thousand steps have a standard error of about 0.02."""
    player = AccessControl().world()
    player.start(cell_of("access-control"))
    bits = play(player, [ACCEPT] * 20_000)
    assert sum(step[1] for step in bits) / len(bits) == pytest.approx(
        average_reward(accept_all), abs=0.06
    )
