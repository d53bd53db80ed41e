"""Messages of benchmark programs that reach worlds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from env_adapters import SuiteName
from glue_server import EnvironmentCalls, LocalEnvironmentPort, WorkersPort
from reglue.errors import EnvironmentFault
from reglue.messages.agent_messages import TextMessage
from reglue.messages.environment_messages import EnvironmentInit, EnvironmentReady, Play
from tests.error_facts import raises
from tests.glue_server.playing import SOLVED, cell

_TALKERS = """
from tests.worlds import Corridor, Walk

class Talkers(Corridor):
    made = 0

    def world(self):
        self.made += 1
        return Talker(self, self.made)

class Talker(Walk):
    def __init__(self, suite, number):
        super().__init__(suite)
        self.number, self.heard = number, []

    def message(self, text):
        self.heard.append(text)
        return f"{self.number}:" + str(10 // len(text)) + ",".join(self.heard)
"""


@pytest.fixture(params=[0, 1, 2])
def pool(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[EnvironmentCalls]:
    """Worlds of this process, then those of one worker and of two."""
    path = tmp_path / "talkers.py"
    path.write_text(_TALKERS)
    name = SuiteName(f"{path}:Talkers", {"solved": SOLVED})
    workers: int = request.param
    port = (
        WorkersPort(name, workers=workers)
        if workers
        else LocalEnvironmentPort(name.environment(), "talkers")
    )
    pool = EnvironmentCalls(port)
    yield pool
    pool.close()


def say(pool: EnvironmentCalls, text: str) -> str:
    return pool.ask(TextMessage(text), TextMessage).text


def test_a_message_reaches_the_world_of_slot_0_at_any_time(pool: EnvironmentCalls) -> None:
    assert say(pool, "early") == "1:2early"
    pool.ask(EnvironmentInit(2), EnvironmentReady)
    assert say(pool, "a") == "2:10a", "env_init makes worlds anew"
    assert say(pool, "bc") == "2:5a,bc"


def test_a_message_reaches_the_world_of_every_slot_that_has_begun(pool: EnvironmentCalls) -> None:
    """And slot 0's answers."""
    pool.init(3)
    pool.play(Play(np.zeros(0, np.uint32), {}, {1: cell(), 2: cell()}))
    assert say(pool, "a").startswith("1:")
    assert say(pool, "b") == "1:10a,b"


def test_a_world_that_raises_at_a_message_is_an_environments_fault(pool: EnvironmentCalls) -> None:
    pool.init(1)
    with raises(EnvironmentFault, "ZeroDivisionError"):
        say(pool, "")
