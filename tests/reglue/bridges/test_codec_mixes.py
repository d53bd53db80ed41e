"""Programs of RL-Glue's Python codec beside ours, in all mixes: the numbers of RL-Glue's hub."""

from __future__ import annotations

import itertools
import json
import os
import shlex
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import reglue
from glue_server import Glue
from reglue.bridges.rl_glue.legacy_agent import LegacyAgent
from reglue.bridges.rl_glue.legacy_environment import LegacyEnvironment, LegacySuite
from reglue.bridges.rl_glue.legacy_experiment import answer_routines
from reglue.bridges.rl_glue.legacy_program import Kind, Place
from reglue.environments.slot_worlds import Worlds
from reglue.environments.world import World
from reglue.errors import BadArgument, UsageError
from reglue.messages.agent_messages import Phase
from reglue.messages.environment_messages import Cell, Play
from tests.error_facts import raises
from tests.glue_server.hubs import a_hub
from tests.leftovers import nothing_left
from tests.reglue.bridges import codec_twins, legacy_programs
from tests.reglue.bridges.codec_twins import Original, OurAgent, OurProgram, OurSuite

pytestmark = pytest.mark.slow


def codec(*words: object) -> str:
    """The command that starts a program of the codec."""
    return shlex.join([sys.executable, legacy_programs.__file__, *map(str, words)])


def as_json(told: list[Any]) -> Any:
    return json.loads(json.dumps(told))


@pytest.fixture(scope="module")
def wanted() -> Any:
    """The answers of RL-Glue's hub to an experiment."""
    return as_json(legacy_programs.play(Original()))


@pytest.mark.parametrize("legacy", [*itertools.product([False, True], repeat=3)])
def test_every_mix_has_the_numbers_of_the_original(
    legacy: tuple[bool, bool, bool], wanted: Any, tmp_path: Path
) -> None:
    legacy_agent, legacy_environment, legacy_experiment = legacy
    told = tmp_path / "told.json"
    with nothing_left(), ExitStack() as ending:
        agent: Any = OurAgent()
        environment: Any = OurSuite()
        if legacy_agent:
            agent = LegacyAgent(cmd=codec("agent"))
            ending.callback(agent.close)
        if legacy_environment:
            environment = LegacyEnvironment(cmd=codec("environment"))
            ending.callback(environment.close)
        rl = ending.enter_context(Glue(environment=environment, agent=agent))
        if legacy_experiment:
            program = Place(Kind.EXPERIMENT, cmd=codec("experiment", told)).program()
            ending.callback(program.close)
            answer_routines(program, rl)
            numbers = json.loads(told.read_text())
        else:
            numbers = as_json(legacy_programs.play(OurProgram(rl)))
    assert numbers == wanted


def test_the_command_brings_three_legacy_programs_to_a_hub(wanted: Any, tmp_path: Path) -> None:
    told = tmp_path / "told.json"
    words: dict[str, list[object]] = {
        "agent": ["agent"],
        "environment": ["environment"],
        "experiment": ["experiment", told],
    }
    with a_hub() as (server, _):
        bridges = {
            role: subprocess.Popen(
                [*BRIDGE, role, "--to", server.address, "--cmd", codec(*each)],
                env=os.environ | {"REGLUE_TOKEN": server.tokens[role]},
                stderr=subprocess.PIPE,
                text=True,
            )
            for role, each in words.items()
        }
        errors = {role: bridge.communicate(timeout=120)[1] for role, bridge in bridges.items()}
    assert {role: bridge.returncode for role, bridge in bridges.items()} == dict.fromkeys(words, 0)
    assert json.loads(told.read_text()) == wanted, errors


BRIDGE = [sys.executable, "-m", "reglue", "bridge", "rl-glue"]


def test_an_evaluation_starts_a_bridge_with_a_program_for_each_slot(tmp_path: Path) -> None:
    bridge = [*BRIDGE, "agent", "--cmd", codec("agent"), "--freeze-message", "freeze"]
    result = reglue.evaluate(
        f"evaluate:{codec_twins.__file__}:OurDrifts",
        None,
        agent_cmd=shlex.join(bridge),
        slots=3,
        num_episodes=6,
        seed=1,
        sandbox="none",
        out=tmp_path / "run",
    )
    assert dict(result.status_counts) == {"ok": 6}
    assert result.steps.counted == 6 * 40
    original = Original()
    original.init()
    original.agent_message("freeze")
    original.episode(0)
    assert result.mean_return == pytest.approx(original.return_(), rel=1e-15)


def test_an_evaluation_of_our_agent_plays_a_legacy_environment_in_each_slot() -> None:
    """Cells do not decide its episodes, and it says so."""
    with nothing_left():
        environment = LegacyEnvironment(cmd=codec("environment"))
        result = reglue.evaluate(
            environment, "random", slots=2, num_episodes=4, seed=1, worst_performance=-100.0
        )
        assert len(environment.programs) == 2, "no program is started that nobody plays with"
        environment.close()
    assert dict(result.status_counts) == {"ok": 4}
    assert result.repeatable is False


LENGTHS = [
    {"cmd": f"{codec('environment')} 1{{variant}}"},
    {"cmd": codec("environment"), "message": "length 1{variant}"},
]
"""Settings for episodes of ten steps, and one more for each variant."""


@pytest.mark.parametrize("settings", LENGTHS, ids=["cmd", "message"])
def test_a_variant_is_a_program_that_has_its_number(settings: dict[str, Any]) -> None:
    with nothing_left():
        suite = LegacySuite(variants=3, **settings)
        assert suite.variants == {"rl-glue": 3}
        assert suite.spec == codec_twins.SPEC
        world = suite.world()
        lengths = [steps_of(world, variant) for variant in (2, 2, 0)]
        assert lengths == [12, 12, 10]
        assert len([each for each in suite.programs if not each.line.is_lost]) == 1
        suite.close()


def cell(variant: int) -> Cell:
    return Cell("rl-glue", variant, 0, 0, Phase.EVALUATE)


def steps_of(world: World, variant: int) -> int:
    """The length of an episode."""
    world.start(cell(variant))
    action = {each.name: each.empty(1)[0] for each in codec_twins.SPEC.actions}
    steps, ended = 0, False
    while not ended:
        steps, ended = steps + 1, world.step(action).terminated
    return steps


def test_a_variant_of_another_task_spec_is_a_fault_also_after_a_new_start() -> None:
    with nothing_left():
        environment = Worlds(LegacySuite(cmd=f"{codec('other-task')} {{variant}}", variants=2))
        for _ in range(2):
            environment.spec = environment.env_init(1)
            played = environment.play(Play(np.zeros(0, np.uint32), {}, {0: cell(1)}))
            assert "differs" in played.faults[0]
        environment.env_cleanup()


@pytest.mark.parametrize("workers", [0, 2])
def test_a_command_and_variants_are_an_environment_by_name(workers: int) -> None:
    with nothing_left():
        result = reglue.evaluate(
            "evaluate:rl-glue",
            "random",
            environment_args={"variants": 3, "task": "drift", **LENGTHS[1]},
            num_episodes=6,
            slots=2,
            workers=workers,
            worst_performance=-100.0,
        )
    assert dict(result.status_counts) == {"ok": 6}
    assert result.steps.counted == 2 * (10 + 11 + 12)


@pytest.mark.parametrize("variants", [3, 0, True, 1.0])
def test_variants_are_a_number_that_is_told_to_the_programs(variants: Any) -> None:
    with raises(
        BadArgument,
        got=f"variants {variants}",
        wanted="1, or more with {variant} in cmd or message",
    ):
        LegacySuite(codec("environment"), variants=variants)


def test_an_environment_by_name_has_a_command() -> None:
    with pytest.raises(UsageError, match="cmd"):
        reglue.evaluate("evaluate:rl-glue", "random", num_episodes=1)
