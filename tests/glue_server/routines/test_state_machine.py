"""RL_init and its refusals, what is a program's own, and arguments of the wrong type."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from glue_server import LocalEnvironmentPort
from glue_server.routines.state_machine import MOST_SLOTS
from reglue import ActionFlag
from reglue.errors import AgentFault, EnvironmentFault, OutOfDomain, OutOfOrder, ReglueError
from reglue.experiments.routines import Routines
from reglue.messages.agent_messages import Refusal
from reglue.messages.experiment_messages import ExperimentCall, RLInit, Stepped
from tests.error_facts import raises
from tests.glue_server.routines.lab import SPEC, Actor, Bench, Lab, begun, refused, started

# RL_init.


@pytest.mark.parametrize("slots", [0, -1, MOST_SLOTS + 1, 2**32 - 1])
def test_a_number_of_slots_that_cannot_be_is_refused(slots: int) -> None:
    bench = begun()
    refused(bench, lambda: bench.machine.run(RLInit(slots, 0)), OutOfDomain, f"{slots} slots", 4096)


@pytest.mark.parametrize("seed", [-1, 2**63])
def test_a_seed_that_no_cell_carries_is_refused(seed: int) -> None:
    bench = begun()
    refused(
        bench, lambda: bench.machine.run(RLInit(1, seed)), OutOfDomain, f"seed {seed}", "0 to 2"
    )


@pytest.mark.parametrize("whose", ["agent", "environment"])
def test_more_slots_than_a_peer_plays_are_refused_with_the_run_going_on(whose: str) -> None:
    class Small(Lab):
        max_slots = 2 * (whose == "environment")

    bench = started(lab=Small(), actor=Actor(most=2 * (whose == "agent")))
    init = lambda: bench.machine.run(RLInit(3, 0))  # noqa: E731
    refused(bench, init, OutOfDomain, "3 slots", "1 to 2", whose)
    bench.step()


@pytest.mark.parametrize(
    ("task", "variant", "got"), [("nowhere", 0, "task 'nowhere'"), ("", 99, "variant 99")]
)
def test_an_unknown_task_or_variant_is_refused_with_the_run_going_on(
    task: str, variant: int, got: str
) -> None:
    bench = started()
    refused(bench, lambda: bench.machine.run(RLInit(1, 0, task, variant)), OutOfDomain, got)
    bench.step()


def test_an_episodic_environment_refuses_an_agent_that_takes_no_end() -> None:
    bench = Bench(actor=Actor(episodic=False))
    with raises(AgentFault, "takes no end"):
        bench.init()
    assert bench.port.refusals == ["NOT_CAPABLE"]
    refused(bench, bench.start, OutOfOrder, "RL_start", "RL_init")


def test_a_continuing_environment_takes_an_agent_that_takes_no_end() -> None:
    bench = Bench(lab=Lab(replace(SPEC, continuing=True)), actor=Actor(episodic=False))
    bench.init()
    bench.start()


@pytest.mark.parametrize(
    ("whose", "routine", "kind"),
    [("lab", "env_init", EnvironmentFault), ("actor", "init", AgentFault)],
)
def test_after_an_init_that_failed_init_comes_again(
    whose: str, routine: str, kind: type[ReglueError]
) -> None:
    bench = started()
    peer = getattr(bench, whose)
    peer.broken = routine
    with raises(kind, f"{routine} is broken"):
        bench.init()
    refused(bench, bench.step, OutOfOrder, "RL_init")
    peer.broken = ""
    bench.init()
    bench.start()


def test_the_run_goes_on_where_the_environment_refuses_another_init(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As one over a wire may."""
    bench = started()
    refusal = Refusal(0, OutOfDomain.code, "another init", "one")
    with monkeypatch.context() as wire:
        wire.setattr(LocalEnvironmentPort, "send", lambda *_: None)
        wire.setattr(LocalEnvironmentPort, "receive", lambda *_: refusal)
        with raises(OutOfDomain, got="another init", wanted="one"):
            bench.init()
    bench.step()


def test_messages_and_counts_need_nothing() -> None:
    bench = Bench()
    assert bench.agent_message("hi") == "agent hi"
    assert bench.env_message("hi") == "env hi"
    assert (bench.agent_message(None), bench.env_message(None)) == ("agent ", "env ")
    assert bench.counts() == [(0.0, 0, 0)]


def test_counts_of_a_slot_that_there_is_not_are_refused() -> None:
    with raises(OutOfDomain, got="slot 1", wanted="0 to 0"):
        Bench().num_steps(slot=1)


# RL_start and RL_step.


@pytest.mark.parametrize(("raw", "played"), [(False, 1.0), (True, 4.0)])
def test_an_action_out_of_its_box_is_clipped_unless_it_is_wanted_raw(
    raw: bool, played: float
) -> None:
    lab = Lab()
    lab.raw_actions = raw
    bench = begun(lab=lab)
    bench.actor.fault = "far"
    bench.start()
    assert bench.step().rewards.tolist() == [played]
    assert bench.actor.turns[-1].steps.flags.tolist() == [ActionFlag.CLIPPED]
    bench.step()
    assert bench.actor.turns[-1].steps.flags.tolist() == [0]


# Arguments of the wrong type.

MISTAKES: dict[str, Callable[[Routines], object]] = {
    "seed 'a'": lambda rl: rl.standardize_randomness("a"),  # type: ignore[arg-type]
    "key None": lambda rl: rl.set_state(None),  # type: ignore[arg-type]
    "slot '0'": lambda rl: rl.step("0"),  # type: ignore[arg-type]
    "slot -1": lambda rl: rl.step([-1]),
    "slots 3": lambda rl: rl.start(3),  # type: ignore[arg-type]
    "max_steps '5'": lambda rl: rl.episode("5"),  # type: ignore[arg-type]
    "max_steps 1.5": lambda rl: rl.episode(1.5),  # type: ignore[arg-type]
    "max_steps -1": lambda rl: rl.episode(-1),
    f"max_steps {2**70}": lambda rl: rl.episode(2**70),
    "slot 'a'": lambda rl: rl.num_steps(slot="a"),  # type: ignore[arg-type]
    "message 3": lambda rl: rl.agent_message(3),  # type: ignore[arg-type]
    r"message '\ud800'": lambda rl: rl.env_message("\ud800"),
    "steps -1": lambda rl: rl.episode_trajectory(-1),
    "seed 'x'": lambda rl: rl.init(seed="x"),  # type: ignore[arg-type]
    "slots 0": lambda rl: rl.init(slots=0),
    "None": lambda rl: rl.env_step(None),  # type: ignore[arg-type]
    "{3: [0.0]}": lambda rl: rl.env_step({3: [0.0]}),  # type: ignore[dict-item]
    "rewards = ['a']": lambda rl: rl.agent_step(["a"], {"seen": [[0, 0]]}),
    "'push' = [[1], [1, 2]]": lambda rl: rl.env_step({"push": [[1], [1, 2]]}),
}


@pytest.mark.parametrize("got", MISTAKES)
def test_an_argument_that_is_none_is_no_call(got: str) -> None:
    """Nothing goes out, over whatever wire a program's routines go."""

    class Silent(Routines):
        def _call(self, call: ExperimentCall) -> object:
            raise AssertionError(f"{call} went out")

    with raises(OutOfDomain, got=got):
        MISTAKES[got](Silent(slots=1, seed=0))


def test_a_slot_may_be_numpys() -> None:
    assert started(slots=2).step(np.arange(2)).slots == (0, 1)  # type: ignore[arg-type]


def test_what_a_program_is_told_is_its_own() -> None:
    """It may write to it: neither the agent nor the environment sees that."""
    bench, untouched = begun(), begun()
    for routine in (Bench.start, Bench.step, Bench.step, Bench.step):
        answer, wanted = routine(bench), routine(untouched)
        assert answer.observations["seen"].tolist() == wanted.observations["seen"].tolist()
        assert answer.actions["push"].tolist() == wanted.actions["push"].tolist()
        for rows in (*answer.observations.values(), *answer.actions.values()):
            rows[:] = 99.0
        if isinstance(answer, Stepped):
            answer.rewards[:] = 99.0
    told = [
        [rows.tolist() for rows in (turn.rewards, turn.observations["seen"])]
        for each in (bench, untouched)
        for turn in each.actor.turns
    ]
    assert told[: len(told) // 2] == told[len(told) // 2 :]
