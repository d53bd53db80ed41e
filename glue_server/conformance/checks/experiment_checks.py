"""Checks for benchmark programs only."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from itertools import product

from glue_server.conformance.check import Check, group
from glue_server.conformance.checks.broken import BROKEN_ANSWERS
from glue_server.conformance.checks.call_checks import (
    SENTENCES,
    SLOTS,
    add_fields,
    after_cleanup,
    init_again,
    many_slots,
    one_slot,
    some_slots,
    texts,
)
from glue_server.conformance.checks.joining import at_once, in_mid_episode
from glue_server.conformance.checks.reconnecting import (
    ended,
    long_silence,
    no_window,
    often,
    under_way,
    while_away,
)
from glue_server.conformance.conformance_tasks import LARGE_ACTION, LARGE_OBSERVATION, PLAIN, TASKS
from glue_server.conformance.drivers.experiment_driver import (
    ExperimentDriver,
    HalfStep,
    Instruction,
    Pause,
    Success,
)
from glue_server.conformance.fault_injection import bent_answers, losing_answer
from glue_server.conformance.harness import Harness
from reglue.errors import ROUTINE_REFUSALS, AgentFault, EnvironmentFault, ReglueError
from reglue.messages.agent_messages import Adapt, AdaptBegin, Cleanup, Freeze, TextMessage
from reglue.messages.environment_messages import GetRandomSeed, GetState, StandardizeRandomness
from reglue.messages.experiment_messages import (
    EnvMessage,
    Goal,
    RLAgentEnd,
    RLAgentStart,
    RLAgentStep,
    RLCounts,
    RLEnvStart,
    RLEnvStep,
    RLEpisode,
    RLInit,
    RLIterateGoal,
    RLSetRandomSeed,
    RLSetState,
    RLStart,
    RLStep,
    RLTasks,
)
from reglue.spec import TaskSpec

_TASK = PLAIN.with_slots(4)
_BUSY_MS = 150

_IN_ANY_ORDER: Sequence[Instruction] = (
    RLInit(1, 3),
    RLStart(),
    RLStep(),
    RLEpisode(3),
    Freeze(),
    Cleanup(),
    GetState(0),
    GetRandomSeed(0),
    RLCounts(0),
    RLEnvStart(),
    HalfStep(RLEnvStep, (0,)),
    HalfStep(RLAgentStart, (0,)),
    HalfStep(RLAgentStep, (0,)),
    HalfStep(RLAgentEnd, (0,)),
)


def _every_routine(slots: int, harness: Harness) -> None:
    driver = harness.begin(PLAIN.with_slots(slots))
    few = (*range(slots - 1, -1, -3),)
    _carried_out(driver, RLStart(), RLStep(), RLStep(few), RLCounts(0), RLStart(few))
    driver.trajectory(1, 0)
    driver.trajectory(99, few[-1])
    _carried_out(driver, StandardizeRandomness(5), RLEpisode(0), RLEpisode(3, few))
    _carried_out(
        driver, RLCounts(slots - 1), EnvMessage("echo a"), TextMessage("echo b"), RLStart()
    )
    state, seed = (driver.ask(call(few[0])).key for call in (GetState, GetRandomSeed))
    _carried_out(driver, RLStep(), RLSetState(0, state), RLSetRandomSeed(0, seed), RLStep((0,)))
    _carried_out(driver, RLEnvStart(), RLEnvStart(few), HalfStep(RLEnvStep, few), RLStart())
    _carried_out(driver, HalfStep(RLAgentStart, few), HalfStep(RLAgentStep, few, 2**32 - 1))
    _carried_out(driver, HalfStep(RLAgentEnd, few), HalfStep(RLAgentStart, few))
    _carried_out(driver, HalfStep(RLAgentEnd, few, truncated=True), Freeze(), RLEpisode(0))
    _carried_out(driver, Cleanup(), RLCounts(0), RLInit(slots, 2**63 - 1), RLStart(), Cleanup())


def goals(harness: Harness) -> None:
    """Sees the tasks, and chooses and iterates goals."""
    driver = harness.begin(PLAIN.with_slots(3))
    _carried_out(driver, RLTasks(), RLEpisode(0, (), Goal("first", 3)), Success(2))
    _carried_out(driver, RLEpisode(9, (2, 0), Goal("second/één")), RLIterateGoal((1,)))
    _carried_out(driver, RLIterateGoal(), RLEpisode(0), Success(0), RLEnvStart((), Goal()))
    driver.ask_refused(RLStart((), Goal("", 1)), "OUT_OF_ORDER")
    driver.ask_refused(RLIterateGoal(), "OUT_OF_ORDER")
    _carried_out(driver, RLInit(3, 5))
    for goal in (Goal("third"), Goal("second/één", 1), Goal("", 4)):
        for call in (RLStart((), goal), RLEpisode(1, (), goal), RLEnvStart((), goal)):
            driver.ask_refused(call, "OUT_OF_DOMAIN")
    _carried_out(driver, RLStart((), Goal("", 3)))


def adapting(harness: Harness) -> None:
    """Lets the agent adapt, and reports when that is refused."""
    driver = harness.begin(PLAIN.with_slots(2))
    driver.ask_refused(Adapt(), "OUT_OF_ORDER")
    _carried_out(driver, AdaptBegin())
    driver.ask_refused(Adapt(), "OUT_OF_ORDER")
    _carried_out(driver, RLEpisode(0), Adapt(), RLStart())
    for call in (Adapt(), AdaptBegin()):
        driver.ask_refused(call, "OUT_OF_ORDER")
    _carried_out(driver, RLEpisode(2), Adapt())
    driver.ask_refused(Adapt(), "OUT_OF_ORDER")
    _carried_out(driver, RLEpisode(0), Freeze())
    driver.ask_refused(Adapt(), "OUT_OF_ORDER")
    _carried_out(driver, RLEpisode(0), AdaptBegin(), RLEpisode(0), Adapt())
    driver.counts()


def _carried_out(driver: ExperimentDriver, *calls: Instruction) -> None:
    for call in calls:
        answer = driver.ask(call)
        assert not isinstance(answer, ReglueError), f"{call}: {answer}"


def any_order(harness: Harness) -> None:
    """Calls any routine after any other, and goes on after refusals."""
    driver = harness.begin(PLAIN)
    for pair in product(_IN_ANY_ORDER, repeat=2):
        for call in pair:
            driver.ask(call)


def before_init(harness: Harness) -> None:
    """Reports that RL_init comes first, and goes on: OUT_OF_ORDER."""
    harness.new_client()
    driver = harness.driver()
    for call in (RLStart(), RLStep(), RLEpisode(1), GetState(0), Freeze(), Cleanup()):
        driver.ask_refused(call, "OUT_OF_ORDER")
    driver.ask(RLCounts(0))
    driver.begin(PLAIN)
    driver.play(2)


def _refused(code: str, harness: Harness) -> None:
    driver = harness.begin(PLAIN.with_slots(2))
    driver.play()
    error = ROUTINE_REFUSALS[code](got="this very call", wanted="another one")
    for call in (RLStep(), GetState(1), RLInit(3, 0), TextMessage("echo"), RLCounts(1)):
        driver.ask_answered(call, error)
        driver.play()


def _refusal(code: str) -> Check:
    name = code.lower().replace("_", "-")
    sentence = (
        f"Reports a refusal as the SDK's error of that kind, with the reason, and goes on: {code}"
    )
    return Check(f"refusals.{name}", sentence, partial(_refused, code))


def unknown_code(harness: Harness) -> None:
    """Reports a refusal with an unknown code as a refusal, and goes on."""
    driver = harness.begin(PLAIN)
    error = ROUTINE_REFUSALS["OUT_OF_ORDER"](got="that", wanted="a code of your future")
    error.code = "UNSPECIFIED"
    driver.send(RLStart())
    with bent_answers(driver.port, _set_code):
        driver.take(error)
    driver.play(2)


def _set_code(reply: object) -> None:
    if reply.HasField("refusal"):  # type: ignore[attr-defined]
        reply.refusal.code = 99  # type: ignore[attr-defined]


def agent(harness: Harness) -> None:
    """Reports that the agent failed, and why, and goes on."""
    driver = harness.begin(PLAIN.with_slots(2))
    driver.play(2)
    driver.ask_answered(RLStep(), AgentFault("told to fail"))
    driver.play(2)


def environment(harness: Harness) -> None:
    """Reports that the environment failed, and why, and goes on."""
    driver = harness.begin(PLAIN.with_slots(2))
    driver.play(1)
    driver.ask(EnvMessage("fail 1"))
    assert isinstance(driver.ask(RLStep()), EnvironmentFault)
    driver.play(4)


def _tensors(spec: TaskSpec, harness: Harness) -> None:
    driver = harness.begin(spec)
    slots = tuple(range(spec.slots))[::-1]
    _carried_out(driver, RLStart(), RLStep(), RLStart(), HalfStep(RLEnvStep, slots))
    _carried_out(driver, HalfStep(RLAgentStep, slots, 99), HalfStep(RLAgentEnd, slots, 7))


def _tensor_check(name: str, spec: TaskSpec) -> Check:
    sentence = f"Reads and sends what the TaskSpec says: {SENTENCES.get(name, name)}"
    whole = spec.with_slots(SLOTS.get(name, 3))
    return Check(f"tensors.{name.replace('_', '-')}", sentence, partial(_tensors, whole))


def largest_answer(harness: Harness) -> None:
    """Takes an answer of nearly Ticket.max_message_bytes: an action of 64 MiB."""
    driver = harness.begin(LARGE_ACTION)
    _carried_out(driver, RLStart())


def largest_call(harness: Harness) -> None:
    """Sends calls of nearly Ticket.max_message_bytes, and of the largest observation."""
    driver = harness.begin(LARGE_ACTION)
    _carried_out(driver, RLEnvStart(), HalfStep(RLEnvStep, (0,)))
    driver.begin(LARGE_OBSERVATION)
    _carried_out(driver, HalfStep(RLAgentStart, (0,)))


def unknown_fields(harness: Harness) -> None:
    """Ignores unknown fields in every message."""
    driver = harness.driver()
    with bent_answers(driver.port, add_fields):
        driver.begin(PLAIN.with_slots(2))
        driver.play(4)
        driver.counts()


def leaves(harness: Harness) -> None:
    """Says farewell when it leaves by itself, with exit code 0."""
    run = harness.run()
    driver = harness.begin(PLAIN)
    driver.play(2)
    driver.dismiss(run)


def between_calls(harness: Harness) -> None:
    """Reconnects when the connection is cut between calls."""
    driver = harness.begin(_TASK)
    for _ in range(3):
        driver.send(Pause(_BUSY_MS))
        time.sleep(_BUSY_MS / 2000)
        harness.proxy.cut()
        driver.take()
        driver.play(2)
    driver.counts()


def call_lost(harness: Harness) -> None:
    """Sends a lost call again, with the same number."""
    driver = harness.begin(_TASK)
    for _ in range(3):
        driver.send(RLEpisode(4))
        with losing_answer(driver.port, harness.proxy):
            driver.take()
        driver.play(2)
    driver.counts()


def answer_lost(harness: Harness) -> None:
    """Sends a call again if its answer was lost, with the same number."""
    driver = harness.begin(_TASK)
    for _ in range(3):
        driver.send(RLEpisode(4))
        with bent_answers(driver.port, lambda _: harness.proxy.cut()):
            driver.take()
        driver.play(2)
    driver.counts()


def forgotten(harness: Harness) -> None:
    """Leaves if the glue does not know its session any more: its run is lost."""
    driver = harness.begin(_TASK)
    driver.play(2)
    harness.serve()
    harness.proxy.cut()
    harness.run().expect_failure()


EXPERIMENTS = (
    *group("calls", texts, one_slot, many_slots, some_slots, init_again, after_cleanup),
    *group("calls", unknown_fields),
    Check("routines.one-slot", "Has every routine, with 1 slot", partial(_every_routine, 1)),
    Check("routines.many-slots", "Has every routine, with 32 slots", partial(_every_routine, 32)),
    *group("routines", any_order, goals, adapting),
    *map(_refusal, ROUTINE_REFUSALS),
    *group("refusals", before_init, unknown_code),
    *group("faults", agent, environment),
    *(_tensor_check(name, spec) for name, spec in TASKS.items()),
    *group("tensors", largest_answer, largest_call),
    Check(
        "reconnect.under-way",
        "Reconnects for the answer when the connection is cut during a call",
        under_way,
    ),
    *group(
        "reconnect",
        between_calls,
        call_lost,
        answer_lost,
        ended,
        while_away,
        long_silence,
        often,
        forgotten,
        no_window,
    ),
    *group("farewell", leaves, at_once, in_mid_episode),
    *BROKEN_ANSWERS,
)
