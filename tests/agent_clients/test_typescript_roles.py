"""Environments and benchmark programs of the TypeScript client, and its examples of them."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reglue import Cell, Phase
from reglue.messages.agent_messages import Refusal, RoutineDone
from reglue.messages.environment_messages import (
    GetRandomSeed,
    GetState,
    Play,
    Played,
    SetRandomSeed,
    SetState,
    Snapshot,
    StandardizeRandomness,
)
from reglue.rng import Rng
from tests.agent_clients.client_programs import (
    environment_calls,
    measures_as_python,
    online,
    playing,
    typescript,
)
from tests.glue_server.hubs import a_hub

PATIENCE_S = 30.0

RIGHT = 1


@dataclass(frozen=True)
class Walker:
    """The corridor of the examples, one call at a time."""

    ask: Callable[[Any], Any]

    def start(self, seed: int, repeat: int = 0, slot: int = 0) -> None:
        cell = Cell("task", 0, seed, repeat, Phase.TRAIN)
        played = self.ask(Play(np.zeros(0, np.uint32), {}, {slot: cell}))
        assert played.observations["cell"].tolist() == [0]

    def cells(self, steps: int, slot: int = 0) -> list[int]:
        """The cells to which steps to the right lead."""
        step = Play(np.array([slot], np.uint32), {"direction": np.array([RIGHT])}, {})
        played = [self.ask(step) for _ in range(steps)]
        assert all(isinstance(each, Played) and not each.faults for each in played)
        return [int(each.observations["cell"][0]) for each in played]


def walked(rng: Rng, steps: int) -> list[int]:
    """The same, as the example's page has it."""
    cell, cells = 0, []
    for _ in range(steps):
        cell = min(max(cell + (-1 if rng.below(10) == 0 else 1), 0), 7)
        cells.append(cell)
    return cells


@pytest.fixture
def corridor(tmp_path: Path) -> Iterator[Walker]:
    with environment_calls(script(tmp_path)) as ask:
        yield Walker(ask)


def script(folder: Path) -> Path:
    """A program that runs the example: `playing` wants one word."""
    program = folder / "corridor"
    program.write_text(f"#!/bin/sh\nexec node {typescript('examples/corridor.js')}\n")
    program.chmod(0o755)
    return program


def test_the_corridor_draws_from_its_cells_alone(corridor: Walker) -> None:
    for slot, seed, repeat in ((0, 3, 2), (1, 5, 0), (1, 3, 2)):
        corridor.start(seed, repeat, slot)
        assert corridor.cells(6, slot) == walked(Rng(seed, repeat), 6)


def test_the_corridors_standardized_starts_are_numbered(corridor: Walker) -> None:
    assert corridor.ask(StandardizeRandomness(9)) == RoutineDone()
    for n in range(3):
        corridor.start(seed=n, slot=n % 2)
        assert corridor.cells(6, n % 2) == walked(Rng(9, n), 6)


def test_a_state_of_the_corridor_goes_on_in_another_slot(corridor: Walker) -> None:
    corridor.start(seed=7)
    corridor.cells(2)
    state = corridor.ask(GetState(0))
    assert isinstance(state, Snapshot)
    first = corridor.cells(5)
    assert corridor.ask(SetState(1, state.snapshot)) == RoutineDone()
    assert corridor.cells(5, slot=1) == first


def test_the_corridor_refuses_states_and_seeds_that_it_did_not_give(corridor: Walker) -> None:
    corridor.start(seed=4)
    state = corridor.ask(GetRandomSeed(0))
    assert corridor.ask(SetRandomSeed(0, state.snapshot)) == RoutineDone()
    for call in (SetRandomSeed(0, b"short"), SetState(0, b"xx"), SetState(0, b"")):
        refused = corridor.ask(call)
        assert isinstance(refused, Refusal)
        assert refused.code == "UNKNOWN_KEY"


def test_an_agent_in_python_plays_the_corridor(tmp_path: Path) -> None:
    program = script(tmp_path)
    result = online(lambda where: playing(program, where), agent="random", episodes=3)
    assert result.parameters["environment"] == "Corridor"


def test_rl_benchmark_in_typescript_measures_what_it_measures_in_python() -> None:
    measures_as_python("node", str(typescript("examples/rl_benchmark.js")))


PROGRAM = """
import {{ Experiment }} from "{library}";
await Experiment.main((rl) => {{ {body} }});
"""


@pytest.mark.parametrize(
    ("token", "body", "code", "error_output"),
    [
        ("", "", 0, ""),
        ("another", "", 2, r"reglue: [^\n]*token[^\n]*\n"),
        ("", 'throw new Error("no idea");', 1, r"reglue: Error: no idea\n +at .*"),
        ("", "return rl.init({ slots: 0 });", 1, r"reglue: got slots 0, wanted [^\n]*\n"),
    ],
    ids=["returns", "wrong token", "throws", "is refused a routine"],
)
def test_a_benchmark_program_leaves_with_a_code_and_prints_its_error_once(
    tmp_path: Path, token: str, body: str, code: int, error_output: str
) -> None:
    program = tmp_path / "program.mjs"
    program.write_text(PROGRAM.format(library=typescript("src/index.js"), body=body))
    with a_hub() as (server, _):
        token = token or server.tokens["experiment"]
        done = subprocess.run(
            ["node", program],
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
            env=os.environ | {"REGLUE_ADDRESS": server.address, "REGLUE_TOKEN": token},
        )
    assert done.returncode == code, done.stderr
    assert re.fullmatch(error_output, done.stderr, re.DOTALL), done.stderr
