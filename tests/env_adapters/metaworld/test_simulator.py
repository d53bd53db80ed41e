"""Simulators are shared, and few enough."""

from __future__ import annotations

from env_adapters.metaworld.simulator import SimulatorPool


def test_a_simulator_that_came_back_is_lent_again() -> None:
    pool = SimulatorPool()
    simulator = pool.take("reach-v3")
    pool.give_back(simulator)
    assert pool.take("reach-v3") is simulator


def test_a_simulator_that_is_out_is_not_lent() -> None:
    pool = SimulatorPool()
    pool.give_back(pool.take("reach-v3"))
    assert pool.take("reach-v3") is not pool.take("reach-v3")


def test_a_simulator_is_lent_for_its_own_task_only() -> None:
    pool = SimulatorPool()
    pool.give_back(pool.take("reach-v3"))
    assert pool.take("push-v3").task == "push-v3"


def test_the_one_that_was_idle_longest_is_dropped() -> None:
    pool = SimulatorPool(most_idle=2)
    lent = [pool.take(task) for task in ("reach-v3", "push-v3", "hammer-v3")]
    for simulator in lent:
        pool.give_back(simulator)
    again = [pool.take(task) for task in ("reach-v3", "push-v3", "hammer-v3")]
    assert [new is old for new, old in zip(again, lent, strict=True)] == [False, True, True]
