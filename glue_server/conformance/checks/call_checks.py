"""Routines and exchanges of agents and environments, with every dtype, shape and domain."""

from __future__ import annotations

from functools import partial

from glue_server.conformance.check import Check, group
from glue_server.conformance.comparing import check_same
from glue_server.conformance.conformance_tasks import PLAIN, TASKS
from glue_server.conformance.fault_injection import UNKNOWN_FIELD, bent, recording_messages
from glue_server.conformance.harness import Harness
from reglue.errors import BadReply
from reglue.messages.agent_messages import Cleanup, TextMessage
from reglue.spec import TaskSpec

_TEXTS = ("", " ", "two\nlines\r\n", "naïve 日本 𝄞", "x" * 2**20)


def message_first(harness: Harness) -> None:
    """Answers a message before init."""
    harness.new_client()
    harness.driver().ask(TextMessage("echo early"))


def texts(harness: Harness) -> None:
    """Returns texts unchanged: empty, of several lines, in any script, a MiB long."""
    for text in _TEXTS:
        harness.driver().ask(TextMessage(f"echo {text}"))


def one_slot(harness: Harness) -> None:
    """Plays one slot."""
    driver = harness.begin(PLAIN)
    driver.play(30)


def many_slots(harness: Harness) -> None:
    """Plays 32 slots."""
    driver = harness.begin(PLAIN.with_slots(32))
    driver.play(30)


def some_slots(harness: Harness) -> None:
    """Plays the named slots in their order, and leaves the others unchanged."""
    driver = harness.begin(PLAIN.with_slots(8))
    driver.play()
    for slots in ([7, 0, 3], [5], [6, 5, 4, 3, 2, 1, 0], [1, 7], [*range(7, -1, -1)]):
        driver.play(3, slots)


def init_again(harness: Harness) -> None:
    """Forgets everything at a new init, even the number of slots."""
    driver = harness.driver()
    for slots in (4, 4, 2, 5):
        driver.begin(PLAIN.with_slots(slots))
        driver.play(4)


def after_cleanup(harness: Harness) -> None:
    """Takes an init after a cleanup."""
    driver = harness.begin(PLAIN)
    driver.play(2)
    driver.ask(Cleanup())
    driver.begin(PLAIN)
    driver.play(2)


def once(harness: Harness) -> None:
    """Carries out each call once, and answers it once, with its number."""
    driver = harness.begin(PLAIN.with_slots(2))
    sent = driver.port._sent
    with recording_messages(driver.port) as received:
        driver.play(20)
        driver.counts()
    check_same("seq of the replies", [each.seq for each in received], [*range(sent + 1, sent + 22)])


def unknown_fields(harness: Harness) -> None:
    """Ignores unknown fields in every message."""
    driver = harness.driver()
    with bent(driver.port, add_fields):
        driver.begin(PLAIN.with_slots(2))
        driver.play(4)


def taken(harness: Harness) -> None:
    """Goes on after a refusal of any code, even an unknown one; answers none."""
    driver = harness.begin(PLAIN.with_slots(2))
    numbers = []
    with recording_messages(driver.port) as received:
        for code in ("WRONG_SIZE", "NOT_FINITE", "OUT_OF_DOMAIN", "WRONG_KIND"):
            driver.play()
            numbers.append(driver.port._sent)
            driver.port.refuse(BadReply(code, got="what is good", wanted="to see you go on"))
        with bent(driver.port, lambda message: setattr(message.refusal, "code", 99)):
            driver.port.refuse(BadReply("WRONG_SIZE", got="that", wanted="a code of your future"))
        driver.play()
        numbers.append(driver.port._sent)
    check_same("seq of the replies", [each.seq for each in received], numbers)
    driver.counts()


def add_fields(message: object) -> None:
    """Add an unknown field to a message and all that it holds."""
    for field, value in message.ListFields():  # type: ignore[attr-defined]
        if field.message_type is not None:
            for each in value if field.is_repeated else [value]:
                add_fields(each)
    message.MergeFromString(UNKNOWN_FIELD)  # type: ignore[attr-defined]


def _window(calls: int, harness: Harness) -> None:
    driver = harness.begin(PLAIN.with_slots(8))
    groups = [range(first, 8, calls) for first in range(calls)]
    for slots in groups:
        driver.go(slots)
    for _ in range(10):
        for slots in groups:
            driver.take()
            driver.go(slots)
    for _ in groups:
        driver.take()
    driver.counts()


def _under_way(name: str, calls: int) -> Check:
    sentence = f"Answers in order when {calls} calls are under way, each with its own slots"
    return Check(f"calls.{name}", sentence, partial(_window, calls))


CALLS = (
    *group(
        "calls",
        message_first,
        texts,
        one_slot,
        many_slots,
        some_slots,
        init_again,
        after_cleanup,
        once,
        unknown_fields,
    ),
    _under_way("two-under-way", 2),
    _under_way("four-under-way", 4),
    *group("refusals", taken),
)


SLOTS = {"image": 32}
SENTENCES = {
    "scalars": "a tensor without axes, of each dtype",
    "box": "bounds, one for all or one for each",
    "discrete": "Discrete, from a negative start, and up to 64 bits",
    "multi_discrete": "MultiDiscrete",
    "multi_binary": "MultiBinary, of each dtype",
    "image": "two images of 84 × 84 × 3 and a vector, in 32 slots",
    "empty": "tensors without elements among others",
    "axes": "seven axes",
    "names": "nested names, in any script",
}


def _play(spec: TaskSpec, harness: Harness) -> None:
    driver = harness.begin(spec)
    driver.play(6)


def _check(name: str, spec: TaskSpec) -> Check:
    what = SENTENCES.get(name, f"{name}, with its extremes")
    whole = spec.with_slots(SLOTS.get(name, 3))
    return Check(
        f"tensors.{name.replace('_', '-')}",
        f"Observes and acts as the TaskSpec says: {what}",
        partial(_play, whole),
    )


TENSORS = tuple(_check(name, spec) for name, spec in TASKS.items())
