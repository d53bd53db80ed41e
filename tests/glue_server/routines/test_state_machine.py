"""RL_init, RL_start, RL_step: who is asked what, and when it is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from glue_server.routines.state_machine import MOST_SLOTS
from reglue import ActionFlag, EndKind, Phase
from reglue.errors import (
    AgentFault,
    EnvironmentFault,
    OutOfDomain,
    OutOfOrder,
    ReglueError,
)
from reglue.experiments.routines import Routines
from reglue.messages.experiment_messages import ExperimentCall, RLInit
from tests.error_facts import raises
from tests.glue_server.routines.lab import (
    ROUTINES,
    SPEC,
    Actor,
    Bench,
    Lab,
    begun,
    ends_of,
    refused,
    started,
)

# RL_init.


def test_init_asks_the_environment_then_the_agent_and_returns_the_task() -> None:
    bench = Bench(slots=3)
    assert bench.init() == SPEC.with_slots(3)
    assert bench.asked() == ([("env_init", 3)], [("init", 3)])


def test_init_begins_anew_in_the_middle_of_everything() -> None:
    bench = started(slots=2)
    bench.step()
    bench.freeze()
    bench.init()
    assert bench.counts() == [(0.0, 0, 0)] * 2
    refused(bench, bench.step, OutOfOrder, "RL_step", "slot 0", "RL_start")
    bench.start()
    assert bench.actor.turns[-1].phase is Phase.TRAIN


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


def test_more_slots_than_the_agent_plays_are_refused_with_the_run_going_on() -> None:
    bench = started(actor=Actor(most=2))
    refused(
        bench,
        lambda: bench.machine.run(RLInit(3, 0)),
        OutOfDomain,
        "3 slots",
        "1 to 2",
        "agent",
    )
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


def test_more_slots_than_the_environment_plays_are_refused() -> None:
    class Small(Lab):
        max_slots = 2

    bench = Bench(lab=Small())
    refused(
        bench,
        lambda: bench.machine.run(RLInit(3, 0)),
        OutOfDomain,
        "3 slots",
        "1 to 2",
        "environment",
    )


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


@pytest.mark.parametrize("routine", ROUTINES)
def test_everything_else_needs_init(routine: str) -> None:
    bench = Bench()
    refused(bench, lambda: ROUTINES[routine](bench), OutOfOrder, routine, "RL_init")


@pytest.mark.parametrize("routine", ROUTINES)
def test_everything_else_needs_init_after_cleanup_too(routine: str) -> None:
    bench = started()
    bench.cleanup()
    refused(bench, lambda: ROUTINES[routine](bench), OutOfOrder, routine, "RL_init")


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


def test_start_plays_the_environment_then_the_agent() -> None:
    bench = begun(slots=2)
    first = bench.start()
    assert first.slots == (0, 1)
    assert first.observations["seen"].tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert first.actions["push"].tolist() == [[0.5], [0.25]]
    assert bench.asked() == ([("play", [], [0, 1])], [("turn", [], [], [0, 1])])
    assert bench.counts() == [(0.0, 1, 0)] * 2


def test_step_plays_what_the_agent_chose() -> None:
    bench = started(slots=2)
    step = bench.step()
    assert step.rewards.tolist() == [0.5, 0.25]
    assert step.observations["seen"].tolist() == [[1.0, 0.5], [1.0, 0.25]]
    assert step.actions["push"].tolist() == [[0.5], [0.25]]
    assert not step.terminated.any()
    assert bench.asked() == ([("play", [0, 1], [])], [("turn", [], [0, 1], [])])
    assert bench.counts() == [(0.5, 2, 0), (0.25, 2, 0)]


def test_a_terminal_step_ends_the_agents_episode_and_counts() -> None:
    bench = started(slots=2)
    bench.lab.fate = {0: "ends", 1: "truncates"}
    step = bench.step()
    assert (step.terminated.tolist(), step.truncated.tolist()) == ([True, False], [False, True])
    assert step.actions["push"].tolist() == [[0.0], [0.0]]
    assert ends_of(bench.actor) == [(0, EndKind.TERMINATED), (1, EndKind.TRUNCATED)]
    assert bench.counts() == [(0.5, 1, 1), (0.25, 1, 1)]


def test_ends_and_steps_share_a_turn() -> None:
    bench = started(slots=3)
    bench.lab.fate = {1: "ends"}
    bench.step()
    assert bench.asked()[1] == [("turn", [1], [0, 2], [])]
    bench.step()
    assert bench.asked() == ([("play", [0, 2], [])], [("turn", [], [0, 2], [])])


def test_rows_come_in_the_order_that_was_named() -> None:
    bench = begun(slots=3)
    first = bench.start([2, 0, 1])
    assert first.slots == (2, 0, 1)
    assert first.actions["push"].tolist() == [[0.125], [0.5], [0.25]]
    step = bench.step([1, 2, 0])
    assert step.rewards.tolist() == [0.25, 0.125, 0.5]
    assert bench.asked()[0] == [("play", [], [0, 1, 2]), ("play", [0, 1, 2], [])]


def test_a_start_on_a_live_slot_cuts_it_off_without_an_end() -> None:
    bench = started()
    bench.step()
    bench.start()
    assert ends_of(bench.actor) == []
    assert bench.counts() == [(0.0, 1, 0)]


def test_a_step_past_the_end_is_refused() -> None:
    bench = started()
    bench.lab.fate = {0: "ends"}
    bench.step()
    refused(bench, bench.step, OutOfOrder, "slot 0", "RL_start")


def test_a_named_slot_that_cannot_step_is_refused_with_the_others() -> None:
    bench = started(slots=2, actor=Actor(partial=True))
    bench.lab.fate = {1: "ends"}
    bench.step()
    refused(bench, lambda: bench.step([0, 1]), OutOfOrder, "RL_step", "slot 1", "RL_start")
    assert bench.step([0]).slots == (0,)


@pytest.mark.parametrize(
    ("slots", "bad"), [([3], 3), ([-1], -1), ([0, 0], [0, 0]), ([0, 2**40], 2**40)]
)
def test_slots_that_there_are_not_or_twice_are_refused(slots: list[int], bad: object) -> None:
    bench = started(slots=3)
    for routine in (bench.start, bench.step, bench.env_start):
        refused(bench, lambda: routine(slots), OutOfDomain, bad)  # noqa: B023
    refused(bench, lambda: bench.episode(3, slots), OutOfDomain)


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


def test_what_a_program_gets_is_its_own() -> None:
    bench = begun()
    first = bench.start()
    first.observations["seen"][:] = 9.0
    first.actions["push"][:] = 9.0
    assert bench.step().rewards.tolist() == [0.5]


# Whole turns.


def test_an_agent_of_whole_turns_is_given_all_slots_in_which_it_acts() -> None:
    bench = started(slots=3)
    refused(bench, lambda: bench.step([1]), OutOfOrder, "RL_step", "slots [0, 2]")
    refused(bench, lambda: bench.start([1]), OutOfOrder, "RL_start", "slots [0, 2]")
    refused(bench, lambda: bench.episode(2, [1]), OutOfOrder, "RL_episode", "slots [0, 2]")
    bench.step()


def test_slots_that_are_idle_may_be_left_out_of_whole_turns() -> None:
    bench = begun(slots=3)
    bench.start([1])
    bench.step([1])
    bench.lab.fate = {1: "ends"}
    bench.step()
    bench.start([0, 2])
    assert bench.asked()[1][-1] == ("turn", [], [], [0, 2])


def test_an_agent_of_partial_turns_steps_where_it_is_told() -> None:
    bench = started(slots=3, actor=Actor(partial=True))
    bench.step([1])
    bench.start([2])
    assert bench.asked()[1] == [("turn", [], [1], []), ("turn", [], [], [2])]
    assert bench.counts() == [(0.0, 1, 0), (0.25, 2, 0), (0.0, 1, 0)]


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
def test_an_argument_that_is_none_is_refused_and_the_program_goes_on(got: str) -> None:
    bench = started()
    refused(bench, lambda: MISTAKES[got](bench), OutOfDomain, got)
    bench.step()


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
    bench, untouched = started(), started()
    for _ in range(3):
        step, wanted = bench.step(), untouched.step()
        assert step.observations["seen"].tolist() == wanted.observations["seen"].tolist()
        assert step.actions["push"].tolist() == wanted.actions["push"].tolist()
        for rows in (step.rewards, *step.observations.values(), *step.actions.values()):
            rows[:] = 99.0
    told = [
        [rows.tolist() for rows in (turn.rewards, turn.observations["seen"])]
        for each in (bench, untouched)
        for turn in each.actor.turns
    ]
    assert told[: len(told) // 2] == told[len(told) // 2 :]
