"""Which episodes upstream's estimator counts."""

from __future__ import annotations

from reglue_bench.results.upstream import FirstFinished


def test_fast_episodes_crowd_out_slow_ones_of_their_name() -> None:
    """Two of a name: the second's one slow episode finishes after three fast ones."""
    finished = FirstFinished(["reach-v3", "reach-v3"], quota=3)
    finished.finish(1, steps=10)
    for _ in range(3):
        finished.finish(0, steps=3)
    assert finished.counted == {"reach-v3": [(0, 0), (0, 1), (0, 2)]}


def test_of_two_that_finish_together_the_first_sub_environment_counts() -> None:
    finished = FirstFinished(["reach-v3", "reach-v3"], quota=1)
    finished.finish(1, steps=5)
    assert finished.may_count(0, steps=4)  # its fifth step would be in time
    assert not finished.may_count(0, steps=5)
    finished.finish(0, steps=5)
    assert finished.counted == {"reach-v3": [(0, 0)]}


def test_what_was_given_up_is_not_begun_again() -> None:
    """Its clock stands where the episode was left."""
    finished = FirstFinished(["reach-v3", "reach-v3"], quota=1)
    finished.finish(0, steps=5)
    finished.give_up(1, steps=5)
    assert not finished.may_count(1)


def test_the_order_of_playing_changes_nothing() -> None:
    """Sub-environments one after the other, or in turns."""
    lengths = [[4, 4, 4], [3, 9, 1], [5, 2, 6]]
    alone, in_turns = (FirstFinished(["a", "b", "a"], quota=2) for _ in range(2))
    for env, of in enumerate(lengths):
        for steps in of:
            alone.finish(env, steps)
    for episode in range(3):
        for env in (2, 1, 0):
            in_turns.finish(env, lengths[env][episode])
    assert alone.counted == in_turns.counted == {"a": [(0, 0), (2, 0)], "b": [(1, 0), (1, 1)]}
    assert alone.is_over
