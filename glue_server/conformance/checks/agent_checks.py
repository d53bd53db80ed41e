"""Checks for agents only."""

from __future__ import annotations

from glue_server.conformance.check import group
from glue_server.conformance.checks.joining import see_fault
from glue_server.conformance.comparing import check_same
from glue_server.conformance.conformance_tasks import (
    CONTINUING,
    LARGE_ACTION,
    LARGE_OBSERVATION,
    PLAIN,
    WITHHELD,
)
from glue_server.conformance.harness import Harness
from reglue.errors import BadReply
from reglue.messages.agent_messages import (
    Adapt,
    AdaptBegin,
    Budget,
    Cleanup,
    EndKind,
    Freeze,
    Phase,
    TextMessage,
)

_MOST = 2**64 - 1
_BUDGETS = (
    Budget(),
    Budget(step_us=1),
    Budget(bank_us=2_000_000),
    Budget(adapt_us=0),
    Budget(run_us=_MOST),
    Budget(step_us=_MOST, bank_us=0, adapt_us=10**12, run_us=10**13),
    Budget(),
)


def routines(harness: Harness) -> None:
    """Has every routine, also a second freeze, and learning after a freeze."""
    driver = harness.driver()
    before = driver.counts()
    driver.begin(PLAIN.with_slots(2))
    driver.start_all()
    for call in (Freeze(), Freeze(), AdaptBegin(), AdaptBegin(), Adapt(), Adapt(), Freeze()):
        driver.ask(call)
        driver.ask(driver.turns.write(steps=[1], ends=[0], starts=[0]))
    driver.ask(Cleanup())
    after = driver.counts()
    wanted = {"init": 1, "freeze": 3, "adapt_begin": 2, "adapt": 2, "cleanup": 1}
    wanted |= {"start": 9, "step": 7, "end": 7, "message": 2}
    check_same("counts", {name: after[name] - before[name] for name in wanted}, wanted)


def waves(harness: Harness) -> None:
    """Plays waves of trials: adapt_begin, turns of PHASE_ADAPT, adapt, freeze, evaluation."""
    driver = harness.begin(WITHHELD.with_slots(4))
    for _ in range(2):
        driver.ask(AdaptBegin())
        for _ in range(2):
            driver.turns.phase = Phase.ADAPT
            driver.play(4)
            driver.ask(Adapt())
        driver.ask(Freeze())
        driver.turns.phase = Phase.EVALUATE
        driver.play(4)


def continuing(harness: Harness) -> None:
    """Plays a task of one episode, which never ends."""
    driver = harness.begin(CONTINUING.with_slots(2))
    driver.start_all()
    for _ in range(6):
        driver.ask(driver.turns.write(steps=[0, 1]))


def withheld(harness: Harness) -> None:
    """Needs no rewards in PHASE_EVALUATE if the TaskSpec withholds them; takes them otherwise."""
    for spec in (WITHHELD, PLAIN):
        driver = harness.begin(spec.with_slots(3))
        for driver.turns.phase in Phase:
            driver.play(6)


def ends(harness: Harness) -> None:
    """Answers turns of only ends, of each kind, with no rows."""
    driver = harness.driver()
    for kind in EndKind:
        driver.begin(PLAIN.with_slots(3))
        driver.ask(driver.turns.write(starts=[0, 1, 2]))
        driver.ask(driver.turns.write(ends=[1, 0], kinds=[kind, kind]))
        driver.play(2)


def end_and_start(harness: Harness) -> None:
    """Takes a slot's end and its next start in one turn."""
    driver = harness.begin(PLAIN.with_slots(3))
    driver.ask(driver.turns.write(starts=[0, 1, 2]))
    for ended in ([1], [2, 0], [0, 1, 2]):
        rest = [slot for slot in range(3) if slot not in ended]
        driver.ask(driver.turns.write(ends=ended, steps=rest, starts=ended[::-1]))


def cut_off(harness: Harness) -> None:
    """Takes a start on a live slot, without an end."""
    driver = harness.begin(PLAIN.with_slots(2))
    for _ in range(3):
        driver.ask(driver.turns.write(starts=[0, 1]))
    driver.play(2)


def no_rows(harness: Harness) -> None:
    """Answers a turn in which nothing happens."""
    driver = harness.begin(PLAIN)
    for _ in range(2):
        driver.ask(driver.turns.write())
        driver.play()


def abandon(harness: Harness) -> None:
    """Abandons an episode when the agent wants to."""
    driver = harness.begin(PLAIN.with_slots(3))
    driver.play()
    driver.ask(TextMessage("abandon 2"))
    driver.play(2)


def in_turn(harness: Harness) -> None:
    """Sends what the agent raised in a turn as a Fault, and leaves after the farewell."""
    driver = harness.begin(PLAIN)
    driver.play()
    driver.ask(TextMessage("fail turn"))
    see_fault(harness, driver.turns.write(starts=[0]))


def budget(harness: Harness) -> None:
    """Shows the agent its budget; an absent field means no limit."""
    driver = harness.begin(PLAIN)
    for each in _BUDGETS:
        driver.ask(TextMessage("budget"), each)


def not_capable(harness: Harness) -> None:
    """Takes a refusal before init, and the farewell that follows."""
    run = harness.new_client()
    harness.driver().port.refuse(BadReply("NOT_CAPABLE", got="you", wanted="somebody else"))
    run.say_farewell()


def largest_turn(harness: Harness) -> None:
    """Takes a turn of nearly Ticket.max_message_bytes: an end and a start of 32 MiB each."""
    driver = harness.begin(LARGE_OBSERVATION)
    driver.start_all()
    driver.ask(driver.turns.write(ends=[0], starts=[0]))


def largest_answer(harness: Harness) -> None:
    """Answers with nearly Ticket.max_message_bytes: an action of 64 MiB."""
    driver = harness.begin(LARGE_ACTION)
    driver.play()


AGENTS = (
    *group("agent", routines, waves),
    *group("turns", ends, end_and_start, cut_off, no_rows, continuing, withheld, abandon, budget),
    *group("tensors", largest_turn, largest_answer),
    *group("refusals", not_capable),
    *group("faults", in_turn),
)
