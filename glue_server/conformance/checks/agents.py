"""What is asked of agents alone."""

from __future__ import annotations

from glue_server.conformance.check import group
from glue_server.conformance.checks.joining import see_fault
from glue_server.conformance.comparing import check_same
from glue_server.conformance.harness import Harness
from glue_server.conformance.specs import (
    CONTINUING,
    LARGE_ACTION,
    LARGE_OBSERVATION,
    PLAIN,
    WITHHELD,
)
from reglue.errors import BadReply
from reglue.messages.agent import (
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


def routines(stage: Harness) -> None:
    """Has every routine, also freeze twice, and learning after it was frozen."""
    talk = stage.talk()
    before = talk.counts()
    talk.begin(PLAIN.with_slots(2))
    talk.start_all()
    for call in (Freeze(), Freeze(), AdaptBegin(), AdaptBegin(), Adapt(), Adapt(), Freeze()):
        talk.ask(call)
        talk.send(talk.turns.write(steps=[1], ends=[0], starts=[0]))
        talk.take()
    talk.ask(Cleanup())
    after = talk.counts()
    wanted = {"init": 1, "freeze": 3, "adapt_begin": 2, "adapt": 2, "cleanup": 1}
    wanted |= {"start": 9, "step": 7, "end": 7, "message": 2}
    check_same("counts", {name: after[name] - before[name] for name in wanted}, wanted)


def waves(stage: Harness) -> None:
    """Plays waves of trials: adapt_begin, turns of PHASE_ADAPT, adapt, freeze, evaluation."""
    talk = stage.talk()
    talk.begin(WITHHELD.with_slots(4))
    for _ in range(2):
        talk.ask(AdaptBegin())
        for _ in range(2):
            talk.turns.phase = Phase.ADAPT
            talk.play(4)
            talk.ask(Adapt())
        talk.ask(Freeze())
        talk.turns.phase = Phase.EVALUATE
        talk.play(4)
    talk.counts()


def continuing(stage: Harness) -> None:
    """Plays a task of one episode, which never ends."""
    talk = stage.talk()
    talk.begin(CONTINUING.with_slots(2))
    talk.start_all()
    for _ in range(6):
        talk.send(talk.turns.write(steps=[0, 1]))
        talk.take()


def withheld(stage: Harness) -> None:
    """Does without rewards in PHASE_EVALUATE where the TaskSpec withholds them, only there."""
    for spec in (WITHHELD, PLAIN):
        talk = stage.talk()
        talk.begin(spec.with_slots(3))
        for talk.turns.phase in Phase:
            talk.play(6)


def ends(stage: Harness) -> None:
    """Takes turns of ends alone, of each kind, and answers them with no rows."""
    talk = stage.talk()
    for kind in EndKind:
        talk.begin(PLAIN.with_slots(3))
        talk.send(talk.turns.write(starts=[0, 1, 2]))
        talk.take()
        talk.send(talk.turns.write(ends=[1, 0], kinds=[kind, kind]))
        talk.take()
        talk.play(2)


def end_and_start(stage: Harness) -> None:
    """Takes a slot's end and its next start in one turn."""
    talk = stage.talk()
    talk.begin(PLAIN.with_slots(3))
    talk.send(talk.turns.write(starts=[0, 1, 2]))
    talk.take()
    for ended in ([1], [2, 0], [0, 1, 2]):
        rest = [slot for slot in range(3) if slot not in ended]
        talk.send(talk.turns.write(ends=ended, steps=rest, starts=ended[::-1]))
        talk.take()


def cut_off(stage: Harness) -> None:
    """Takes a start on a live slot: no end comes."""
    talk = stage.talk()
    talk.begin(PLAIN.with_slots(2))
    for _ in range(3):
        talk.send(talk.turns.write(starts=[0, 1]))
        talk.take()
    talk.play(2)


def no_rows(stage: Harness) -> None:
    """Answers a turn in which nothing happens."""
    talk = stage.talk()
    talk.begin(PLAIN)
    for _ in range(2):
        talk.send(talk.turns.write())
        talk.take()
        talk.play()


def abandon(stage: Harness) -> None:
    """Gives an episode up where the agent wants to."""
    talk = stage.talk()
    talk.begin(PLAIN.with_slots(3))
    talk.play()
    talk.ask(TextMessage("abandon 2"))
    talk.play(2)


def in_turn(stage: Harness) -> None:
    """Says what an agent raised in a turn, in a Fault, and leaves after the farewell."""
    talk = stage.talk()
    talk.begin(PLAIN)
    talk.play()
    talk.ask(TextMessage("fail turn"))
    see_fault(stage, talk.turns.write(starts=[0]))


def budget(stage: Harness) -> None:
    """Tells the agent what remains to it; what is absent is not limited."""
    talk = stage.talk()
    talk.begin(PLAIN)
    for each in _BUDGETS:
        talk.ask(TextMessage("budget"), each)


def not_capable(stage: Harness) -> None:
    """Takes a refusal before init, and the farewell that follows."""
    visit = stage.fresh()
    stage.talk().port.refuse(BadReply("NOT_CAPABLE", got="you", wanted="somebody else"))
    visit.bid_farewell()


def largest_turn(stage: Harness) -> None:
    """Takes a turn of nearly Ticket.max_message_bytes: an end and a start of 32 MiB each."""
    talk = stage.talk()
    talk.begin(LARGE_OBSERVATION)
    talk.start_all()
    talk.send(talk.turns.write(ends=[0], starts=[0]))
    talk.take()


def largest_answer(stage: Harness) -> None:
    """Answers with nearly Ticket.max_message_bytes: an action of 64 MiB."""
    talk = stage.talk()
    talk.begin(LARGE_ACTION)
    talk.play()


AGENTS = (
    *group("agent", routines, waves),
    *group("turns", ends, end_and_start, cut_off, no_rows, continuing, withheld, abandon, budget),
    *group("tensors", largest_turn, largest_answer),
    *group("refusals", not_capable),
    *group("faults", in_turn),
)
