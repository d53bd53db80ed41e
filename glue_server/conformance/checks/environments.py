"""What is asked of environments alone."""

from __future__ import annotations

from glue_server.conformance.check import group
from glue_server.conformance.comparing import check_same
from glue_server.conformance.harness import Harness
from glue_server.conformance.specs import LARGE_ACTION, LARGE_OBSERVATION, PLAIN
from reglue.messages.agent import Cleanup, TextMessage
from reglue.messages.environment import (
    EnvironmentInit,
    GetRandomSeed,
    GetState,
    SetRandomSeed,
    SetState,
    StandardizeRandomness,
)
from reglue.spec import TaskSpec

_STEPS = 12  # enough to see ends


def routines(stage: Harness) -> None:
    """Has every routine."""
    talk = stage.talk()
    before = talk.counts()
    talk.begin(PLAIN.with_slots(2))
    talk.start_all()
    talk.put(SetState, 0, talk.keep(GetState(0)))
    talk.put(SetRandomSeed, 1, talk.keep(GetRandomSeed(0)))
    talk.ask(StandardizeRandomness(7))
    talk.go_on(talk.plays.write(steps=[0], starts=[1]))
    talk.take()
    talk.ask(Cleanup())
    after = talk.counts()
    wanted = {"init": 1, "start": 3, "step": 1, "get_state": 1, "set_state": 1, "message": 2}
    wanted |= {"get_random_seed": 1, "set_random_seed": 1, "standardize_randomness": 1}
    wanted |= {"cleanup": 1}
    check_same("counts", {name: after[name] - before[name] for name in wanted}, wanted)


def no_slots(stage: Harness) -> None:
    """Refuses to begin with no slots, and plays on: OUT_OF_DOMAIN."""
    talk = stage.talk()
    talk.begin(PLAIN)
    talk.play(2)
    talk.ask_refused(EnvironmentInit(0), "OUT_OF_DOMAIN")
    talk.play(2)


def before_init(stage: Harness) -> None:
    """Refuses routines before init: OUT_OF_ORDER."""
    stage.fresh()
    for call in (GetState(0), GetRandomSeed(0), StandardizeRandomness(1)):
        stage.talk().ask_refused(call, "OUT_OF_ORDER")


def state(stage: Harness) -> None:
    """Goes on from a state as it did before, in any slot, after whatever was played meanwhile."""
    talk = stage.talk()
    talk.begin(PLAIN.with_slots(3))
    talk.start_all()
    talk.go_on(talk.plays.write(steps=[0]))
    talk.take()
    kept = talk.keep(GetState(0))
    talk.play(3)
    for slot in (0, 2, 1):
        talk.put(SetState, slot, kept)
        talk.play(_STEPS)


def state_elsewhere(stage: Harness) -> None:
    """Goes on from a state that another process of it has kept."""
    talk = stage.talk()
    talk.begin(PLAIN)
    talk.start_all()
    kept = talk.keep(GetState(0))
    stage.fresh()
    talk = stage.talk()
    talk.begin(PLAIN.with_slots(2))
    talk.put(SetState, 1, kept)
    talk.play(_STEPS)


def seed(stage: Harness) -> None:
    """Lets a slot's chance go on from where it stood, and changes nothing else."""
    talk = stage.talk()
    talk.begin(PLAIN.with_slots(2))
    talk.start_all()
    kept = talk.keep(GetRandomSeed(1))
    talk.go_on(talk.plays.write(steps=[0]))
    talk.take()
    talk.put(SetRandomSeed, 0, kept)
    talk.play(_STEPS)


def unknown_keys(stage: Harness) -> None:
    """Refuses states and seeds that it did not give, and plays on: UNKNOWN_KEY."""
    talk = stage.talk()
    talk.begin(PLAIN)
    talk.start_all()
    seed = talk.keep(GetRandomSeed(0))
    for foreign in (b"", b"nobody's state", bytes(1000)):
        talk.ask_refused(SetState(0, foreign), "UNKNOWN_KEY")
        talk.ask_refused(SetRandomSeed(0, foreign), "UNKNOWN_KEY")
    talk.put(SetState, 0, seed)
    talk.play(3)


def out_of_episodes(stage: Harness) -> None:
    """Refuses to keep the state or seed of a slot where no episode is on: OUT_OF_ORDER."""
    talk = stage.talk()
    talk.begin(PLAIN.with_slots(2))
    talk.play(1, [0])
    talk.ask_refused(GetState(1), "OUT_OF_ORDER")
    talk.ask_refused(GetRandomSeed(1), "OUT_OF_ORDER")
    talk.play(2)


def no_such_slot(stage: Harness) -> None:
    """Refuses slots that there are not: OUT_OF_DOMAIN."""
    talk = stage.talk()
    talk.begin(PLAIN.with_slots(2))
    talk.start_all()
    for call in (GetState(2), SetState(2**32 - 1, b""), GetRandomSeed(5), SetRandomSeed(2, b"")):
        talk.ask_refused(call, "OUT_OF_DOMAIN")
    talk.play(2)


def standardize(stage: Harness) -> None:
    """Numbers its chance, and begins anew with each call; init ends it."""
    talk = stage.talk()
    talk.begin(PLAIN.with_slots(4))
    for number in (0, 1, 2**63 - 1):
        talk.ask(StandardizeRandomness(number))
        talk.start_all()
        talk.play(_STEPS)
    talk.begin(PLAIN.with_slots(4))
    talk.play(_STEPS)


def slot_fault(stage: Harness) -> None:
    """Tells which slot failed, and why; the others play on, and so does it after a start."""
    talk = stage.talk()
    talk.begin(PLAIN.with_slots(3))
    talk.start_all()
    for slot in (1, 0):
        talk.ask(TextMessage(f"fail {slot}"))
        talk.go_on(talk.plays.write(steps=[1, 0, 2]))
        check_same("SlotFault.what", talk.take().faults[slot], "told to fail")
        talk.start_all()


def _large(spec: TaskSpec, stage: Harness) -> None:
    talk = stage.talk()
    talk.begin(spec)
    talk.start_all()
    talk.go_on(talk.plays.write(steps=[0]))
    talk.take()


def largest_play(stage: Harness) -> None:
    """Takes a Play of nearly Ticket.max_message_bytes: an action of 64 MiB."""
    _large(LARGE_ACTION, stage)


def largest_played(stage: Harness) -> None:
    """Answers with an observation of 32 MiB, the largest that a TaskSpec may have."""
    _large(LARGE_OBSERVATION, stage)


ENVIRONMENTS = (
    *group("environment", routines, no_slots, before_init, no_such_slot, standardize, slot_fault),
    *group("states", state, state_elsewhere, seed, unknown_keys, out_of_episodes),
    *group("tensors", largest_play, largest_played),
)
