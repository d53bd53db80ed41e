"""Ctrl-C within code of others is no fault of theirs."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import reglue
from env_adapters import Cell, SuiteName
from glue_server import LocalEnvironmentPort, LocalPort
from glue_server.conformance.conformance_tasks import PLAIN
from reglue.environments.slot_worlds import Worlds
from reglue.messages.agent_messages import AgentInit, Phase
from reglue.messages.environment_messages import EnvironmentInit, Play
from reglue.spec import TaskSpec
from reglue.tools.loading import load
from tests.worlds import Corridor, Walk


def press_within_a_lock(*_: object) -> None:
    """Ends as the lock's own error, as a Ctrl-C within `Condition.wait` may."""
    lock = threading.Lock()
    with lock:
        lock.release()
        signal.raise_signal(signal.SIGINT)


class PressedAgent(reglue.Agent):
    def agent_init(self, task: TaskSpec) -> None:
        press_within_a_lock()


class PressedEnvironment(reglue.Environment):
    env_init = press_within_a_lock  # type: ignore[assignment]


class PressedWorlds(Corridor):
    def world(self) -> Walk:
        press_within_a_lock()
        raise AssertionError


def pressed_file(folder: Path) -> None:
    file = folder / "pressed.py"
    file.write_text(f"import {__name__} as t\nt.press_within_a_lock()\n")
    load(f"{file}:Agent")


@pytest.mark.parametrize(
    "work",
    [
        lambda _: LocalPort(PressedAgent(), "it").send(AgentInit(PLAIN)),
        lambda _: LocalEnvironmentPort(PressedEnvironment(), "it").send(EnvironmentInit(1)),
        lambda _: started(Worlds(PressedWorlds(solved={"a": [1]}))),
        pressed_file,
        lambda _: SuiteName(f"{__name__}:press_within_a_lock", {}).build(),
    ],
    ids=["agent", "environment", "world", "file", "suite"],
)
def test_nobody_is_at_fault_for_an_interrupt(
    tmp_path: Path, work: Callable[[Path], object]
) -> None:
    with pytest.raises(KeyboardInterrupt):
        work(tmp_path)


def started(worlds: Worlds) -> None:
    worlds.spec = worlds.env_init(1)
    cell = Cell("a", 0, 0, 0, Phase.TRAIN)
    worlds.play(Play(np.zeros(0, np.uint32), {}, {0: cell}))
