"""A host's secret keys the seeds that agents are told."""

from __future__ import annotations

from typing import Any

import pytest

from glue_server import Glue
from glue_server.commands.glue_command import main as glue
from reglue.errors import BadArgument
from reglue.messages.environment_messages import Cell
from reglue.spec import Arrays
from tests.error_facts import raises
from tests.glue_server.playing import SOLVED, Follower
from tests.worlds import Corridor, Walk


def seeds_under(secret: str | None) -> tuple[list[int], list[int]]:
    """Those of two episodes, and what their agent was told."""
    cells: list[int] = []
    told: list[int] = []

    class Told(Follower):
        def agent_start(self, observations: Any, starts: Any) -> Any:
            told.append(int(starts.seeds[0]))
            return super().agent_start(observations, starts)

    class Keeps(Walk):
        def start(self, cell: Cell) -> Arrays:
            cells.append(cell.seed)
            return super().start(cell)

    class Kept(Corridor):
        def world(self) -> Walk:
            return Keeps(self)

    with Glue(environment=Kept(solved=SOLVED), agent=Told(), seed=4, secret=secret) as rl:
        rl.init()
        rl.start()
        rl.start()
    return cells, told


def test_a_secret_keys_what_agents_could_guess() -> None:
    one, two = "kept by the host of the hub", "kept by another host of a hub"
    (cells, told), again, hidden, same, other = map(seeds_under, (None, None, one, one, two))
    assert (cells, told) == again
    assert hidden[0] == same[0]  # who is compared plays the same episodes
    assert not {*hidden[1]} & {*same[1]}  # and finds nothing again by its seeds
    assert len({*cells, *hidden[0], *other[0]}) == 6
    assert len({*told, *hidden[1], *other[1]}) == 6


def test_a_secret_that_can_be_tried_out_is_refused_and_not_repeated() -> None:
    with raises(BadArgument, 12, 16, settings={"secret"}) as refused:
        seeds_under("a short word")
    assert "a short word" not in str(refused.value)
    with pytest.raises(SystemExit) as left:
        glue(["--listen", "127.0.0.1:0", "--secret", "a short word"])
    assert left.value.code == 2
