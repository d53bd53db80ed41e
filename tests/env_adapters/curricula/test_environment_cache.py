"""The number of environments that are made, and the time that they are kept."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import gymnasium
import pytest

from env_adapters.curricula import Curriculum
from env_adapters.environment_configs.values import ConfigError
from env_adapters.suites import suite_name
from reglue import Phase
from reglue.messages.environment_messages import Cell
from tests.env_adapters.curricula.scripted import Scripted, by_episodes
from tests.error_facts import raises

ID = "Counted-v0"


class Tally:
    """The environments made so far, by number, and the open ones, in the order of making."""

    def __init__(self) -> None:
        self.made: list[int] = []
        self.open: list[int] = []

    def taken(self) -> list[int]:
        """The environments made since the last call."""
        made, self.made = self.made, []
        return made


@pytest.fixture
def tally() -> Iterator[Tally]:
    """Of the environments called ID."""
    found = Tally()

    class Counted(Scripted):
        def __init__(self, **keywords: Any) -> None:
            super().__init__(keywords["k"], length=2)
            found.made.append(self.k)
            found.open.append(self.k)

        def close(self) -> None:
            found.open.remove(self.k)

    gymnasium.register(ID, entry_point=Counted, disable_env_checker=True)
    yield found
    del gymnasium.registry[ID]


def counted(k: int) -> dict[str, Any]:
    return {"env": f"gymnasium:{ID}", "kwargs": {"k": k}}


def begun(env: Curriculum, tally: Tally, count: int) -> list[tuple[list[int], list[int]]]:
    """Of each episode from the first, what was made for it and what is open then."""
    found = []
    for k in range(count):
        env.reset(options={"episode": k})
        found.append((tally.taken(), sorted(tally.open)))
    return found


def test_each_is_made_once_to_look_at_and_closed(tally: Tally) -> None:
    repeated = {"repeat": [[counted(1), 2], [{"pool": [counted(2), counted(3)]}, 1]]}
    by_episodes([[counted(1), 1], [repeated, 50], [counted(2), 1]])
    assert tally.made == [1, 2, 3]
    assert tally.open == []


def test_what_is_refused_leaves_nothing_open(tally: Tally) -> None:
    with raises(ConfigError, "observations", "(3,)", "(2,)", path="schedule[2]"):
        by_episodes([[counted(1), 1], [counted(2), 1], [Scripted(0, 2, width=3), 1]])
    assert tally.open == []


def test_an_entry_is_made_when_it_begins_and_dropped_when_none_later_needs_it(
    tally: Tally,
) -> None:
    env, _ = by_episodes([[counted(1), 2], [counted(2), 1], [counted(1), 1], [counted(3), 1]])
    tally.taken()
    assert begun(env, tally, 6) == [
        ([1], [1]),
        ([], [1]),
        ([2], [1, 2]),  # 1 is needed once more
        ([], [1]),
        ([3], [3]),
        ([], [3]),
    ]
    env.close()
    assert tally.open == []


def test_what_is_repeated_is_made_once(tally: Tally) -> None:
    once = {"repeat": [[counted(1), 1], [{"repeat": [[counted(2), 1]]}, 2]]}
    env, total = by_episodes([[once, 3], [counted(3), 1]])
    tally.taken()
    found = begun(env, tally, total)
    assert [made for made, _ in found] == [[1], [2], [], [], [], [], [], [], [], [3]]
    assert [still for _, still in found[-3:]] == [[2], [2], [3]]


def test_of_a_pool_those_are_made_that_are_drawn(tally: Tally) -> None:
    nested = {"pool": [counted(1), {"pool": [counted(2), counted(3)]}]}
    env, _ = by_episodes([[nested, 9], [counted(4), 1]], seed=1)
    tally.taken()
    drawn = [counts for counts, _ in begun(env, tally, 9)]
    assert sorted(k for made in drawn for k in made) == [1, 2, 3]
    assert drawn[0] in ([1], [2], [3])
    env.reset(options={"episode": 9})
    assert tally.open == [4]


def test_keywords_between_two_make_one_at_a_time(tally: Tally) -> None:
    between = {"interpolate": [counted(0), counted(4)]}
    env, _ = by_episodes([[between, 8], [counted(9), 1]])
    assert tally.taken() == [0, 4, 9]  # both ends are looked at
    found = begun(env, tally, 10)
    assert [made for made, _ in found] == [[0], [1], [2], [], [], [3], [4], [], [9], []]
    assert all(len(still) == 1 for _, still in found)


def test_worlds_of_a_schedule_do_not_look_again(tally: Tally, tmp_path: Path) -> None:
    file = tmp_path / "counted.json"
    schedule = [[counted(1), 1], [{"pool": [counted(2), counted(3)]}, 5], [counted(1), 1]]
    file.write_text(json.dumps({"schedule": schedule}))
    named = suite_name(str(file))
    assert Counter(tally.taken()) == {1: 1, 2: 1, 3: 1}  # the file is checked
    suite = named.build()
    assert Counter(tally.taken()) == {1: 1, 2: 1, 3: 1}
    with closing(suite.world()) as one, closing(suite.world()) as other:
        for world in (one, other):
            world.start(Cell("curriculum", 0, 1, 0, Phase.TRAIN))
            assert tally.taken() == [1]
    assert tally.open == []
