"""Checks for environments only."""

from __future__ import annotations

from glue_server.conformance.check import Skipped, group
from glue_server.conformance.comparing import check_same
from glue_server.conformance.conformance_tasks import LARGE_ACTION, LARGE_OBSERVATION, PLAIN
from glue_server.conformance.harness import Harness
from reglue.messages.agent_messages import Cleanup, Phase, TextMessage
from reglue.messages.environment_messages import (
    EnvironmentInit,
    GetRandomSeed,
    GetState,
    SetRandomSeed,
    SetState,
    StandardizeRandomness,
)
from reglue.spec import TaskSpec

_STEPS = 12  # enough to see ends


def routines(harness: Harness) -> None:
    """Has every routine."""
    driver = harness.driver()
    before = driver.counts()
    driver.begin(PLAIN.with_slots(2))
    driver.start_all()
    driver.put(SetState, 0, driver.keep(GetState(0)))
    driver.put(SetRandomSeed, 1, driver.keep(GetRandomSeed(0)))
    driver.ask(StandardizeRandomness(7))
    driver.go_on(driver.plays.write(steps=[0], starts=[1]))
    driver.take()
    driver.ask(Cleanup())
    after = driver.counts()
    wanted = {"init": 1, "start": 3, "step": 1, "get_state": 1, "set_state": 1, "message": 2}
    wanted |= {"get_random_seed": 1, "set_random_seed": 1, "standardize_randomness": 1}
    wanted |= {"cleanup": 1}
    check_same("counts", {name: after[name] - before[name] for name in wanted}, wanted)


def no_slots(harness: Harness) -> None:
    """Refuses an init with no slots, and plays on: OUT_OF_DOMAIN."""
    driver = harness.begin(PLAIN)
    driver.play(2)
    driver.ask_refused(EnvironmentInit(0), "OUT_OF_DOMAIN")
    driver.play(2)


def before_init(harness: Harness) -> None:
    """Refuses routines before init: OUT_OF_ORDER."""
    harness.new_client()
    for call in (GetState(0), GetRandomSeed(0), StandardizeRandomness(1)):
        harness.driver().ask_refused(call, "OUT_OF_ORDER")


def state(harness: Harness) -> None:
    """Continues from a state as before, in any slot, whatever was played meanwhile."""
    driver = harness.begin(PLAIN.with_slots(3))
    driver.start_all()
    driver.go_on(driver.plays.write(steps=[0]))
    driver.take()
    kept = driver.keep(GetState(0))
    driver.play(3)
    for slot in (0, 2, 1):
        driver.put(SetState, slot, kept)
        driver.play(_STEPS)


def state_elsewhere(harness: Harness) -> None:
    """Continues from a state of another process."""
    driver = harness.begin(PLAIN)
    driver.start_all()
    kept = driver.keep(GetState(0))
    harness.new_client()
    driver = harness.begin(PLAIN.with_slots(2))
    driver.put(SetState, 1, kept)
    driver.play(_STEPS)


def seed(harness: Harness) -> None:
    """Restores a slot's random generators, and changes nothing else."""
    driver = harness.begin(PLAIN.with_slots(2))
    driver.start_all()
    kept = driver.keep(GetRandomSeed(1))
    driver.go_on(driver.plays.write(steps=[0]))
    driver.take()
    driver.put(SetRandomSeed, 0, kept)
    driver.play(_STEPS)


def unknown_keys(harness: Harness) -> None:
    """Refuses states and seeds that it did not give, and plays on: UNKNOWN_KEY."""
    driver = harness.begin(PLAIN)
    driver.start_all()
    seed = driver.keep(GetRandomSeed(0))
    for foreign in (b"", b"nobody's state", bytes(1000)):
        driver.ask_refused(SetState(0, foreign), "UNKNOWN_KEY")
        driver.ask_refused(SetRandomSeed(0, foreign), "UNKNOWN_KEY")
    driver.put(SetState, 0, seed)
    driver.play(3)


def out_of_episodes(harness: Harness) -> None:
    """Refuses the state or seed of a slot without an episode: OUT_OF_ORDER."""
    driver = harness.begin(PLAIN.with_slots(2))
    driver.play(1, [0])
    driver.ask_refused(GetState(1), "OUT_OF_ORDER")
    driver.ask_refused(GetRandomSeed(1), "OUT_OF_ORDER")
    driver.play(2)


def no_such_slot(harness: Harness) -> None:
    """Refuses unknown slots: OUT_OF_DOMAIN."""
    driver = harness.begin(PLAIN.with_slots(2))
    driver.start_all()
    for call in (GetState(2), SetState(2**32 - 1, b""), GetRandomSeed(5), SetRandomSeed(2, b"")):
        driver.ask_refused(call, "OUT_OF_DOMAIN")
    driver.play(2)


def standardize(harness: Harness) -> None:
    """Standardizes its randomness from each call on, until the next init."""
    driver = harness.begin(PLAIN.with_slots(4))
    for number in (0, 1, 2**63 - 1):
        driver.ask(StandardizeRandomness(number))
        driver.start_all()
        driver.play(_STEPS)
    driver.begin(PLAIN.with_slots(4))
    driver.play(_STEPS)


def adapt(harness: Harness) -> None:
    """Plays cells of the phase ADAPT as what they are, neither training nor evaluation."""
    slots = 4
    driver = harness.begin(PLAIN.with_slots(slots))
    for _ in range(3):
        driver.go_on(driver.plays.write(starts=range(slots), phase=Phase.ADAPT))
        driver.take()
        driver.play(_STEPS)


def repeats(harness: Harness) -> None:
    """Plays a cell alike in every slot, and again after others, unless it says it does not."""
    driver = harness.begin(PLAIN.with_slots(3))
    if not driver.ready.repeatable:
        raise Skipped("the environment is declared not repeatable")
    cell, actions = driver.plays.cell(), driver.plays.actions(_STEPS)
    first = driver.episode(cell, actions)
    driver.start_all()
    driver.play(_STEPS)
    again = driver.episode(cell, actions)
    for got in (*first, *again):
        check_same("a cell's episode", got, first[0])


def abilities(harness: Harness) -> None:
    """Has the optional routines that it says it has, and refuses the others: NOT_SUPPORTED."""
    driver = harness.begin(PLAIN.with_slots(2))
    driver.start_all()
    for has, get, put in (
        (driver.ready.restores, GetState, SetState),
        (driver.ready.seeds, GetRandomSeed, SetRandomSeed),
    ):
        if has:
            driver.put(put, 0, driver.keep(get(0)))
        else:
            driver.ask_refused(get(0), "NOT_SUPPORTED")
            driver.ask_refused(put(0, b""), "NOT_SUPPORTED")
    if driver.ready.standardizes:
        driver.ask(StandardizeRandomness(3))
    else:
        driver.ask_refused(StandardizeRandomness(3), "NOT_SUPPORTED")
    driver.play(3)


def slot_fault(harness: Harness) -> None:
    """Reports which slot failed, and why; the others play on, and that one after a start."""
    driver = harness.begin(PLAIN.with_slots(3))
    driver.start_all()
    for slot in (1, 0):
        driver.ask(TextMessage(f"fail {slot}"))
        driver.go_on(driver.plays.write(steps=[1, 0, 2]))
        check_same("SlotFault.what", driver.take().faults[slot], "told to fail")
        driver.start_all()


def _large(spec: TaskSpec, harness: Harness) -> None:
    driver = harness.begin(spec)
    driver.start_all()
    driver.go_on(driver.plays.write(steps=[0]))
    driver.take()


def largest_play(harness: Harness) -> None:
    """Takes a Play of nearly Ticket.max_message_bytes: an action of 64 MiB."""
    _large(LARGE_ACTION, harness)


def largest_played(harness: Harness) -> None:
    """Answers with an observation of 32 MiB, the largest that a TaskSpec may have."""
    _large(LARGE_OBSERVATION, harness)


ENVIRONMENTS = (
    *group(
        *("environment", routines, no_slots, before_init, no_such_slot, standardize, adapt),
        *(repeats, abilities, slot_fault),
    ),
    *group("states", state, state_elsewhere, seed, unknown_keys, out_of_episodes),
    *group("tensors", largest_play, largest_played),
)
