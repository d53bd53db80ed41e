"""The facts that refusals name, in each state of a program: the model knows their kinds alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from reglue.errors import NotSupported, OutOfDomain, OutOfOrder
from tests.glue_server.routines.lab import (
    ROUTINES,
    Bench,
    Course,
    Learner,
    begun,
    refused,
    seen,
    started,
)


def over() -> Bench:
    bench = started()
    bench.lab.fate = {0: "ends"}
    bench.step()
    return bench


def half_started() -> Bench:
    bench = begun()
    bench.env_start()
    return bench


def on_course() -> Bench:
    return begun(lab=Course())


def learning(*routines: str) -> Callable[[], Bench]:
    """A program whose agent can adapt, after these routines."""

    def bench() -> Bench:
        bench = begun(lab=Course(), actor=Learner())
        for routine in routines:
            getattr(bench, routine)()
        return bench

    return bench


def three() -> Bench:
    return started(slots=3)


def set_back() -> Bench:
    """An episode that was cut off, and whose state is set to that of one in play."""
    bench = started(slots=3)
    key = bench.get_state()
    bench.episode(2)
    bench.set_state(key)
    return bench


_IN_PLAY = OutOfOrder, ["slot 0", "RL_agent_end"]
_LEFT_OUT = "slots [0, 2]"

CASES: list[tuple[Callable[[], Bench], Callable[[Bench], object], type[Exception], list[Any]]] = [
    # Slots.
    (three, lambda rl: rl.start([3]), OutOfDomain, [3]),
    (three, lambda rl: rl.step([-1]), OutOfDomain, [-1]),
    (three, lambda rl: rl.env_start([0, 0]), OutOfDomain, [[0, 0]]),
    (three, lambda rl: rl.episode(3, [0, 2**40]), OutOfDomain, [2**40]),
    (three, lambda rl: rl.iterate_goal([3]), OutOfDomain, [3]),
    (three, lambda rl: rl.env_step({"push": []}, []), OutOfDomain, ["no slots"]),
    # Episodes.
    (over, lambda rl: rl.step(), OutOfOrder, ["RL_step", "slot 0", "RL_start"]),
    (begun, lambda rl: rl.env_step({"push": [1]}), OutOfOrder, ["RL_env_step", "slot 0"]),
    (half_started, lambda rl: rl.step(), OutOfOrder, ["slot 0", "RL_start", "RL_agent_start"]),
    (
        half_started,
        lambda rl: rl.agent_step([0.0], seen(0, 0)),
        OutOfOrder,
        ["RL_agent_step", "slot 0"],
    ),
    (
        half_started,
        lambda rl: rl.agent_end([0.0], seen(0, 0)),
        OutOfOrder,
        ["RL_agent_end", "slot 0"],
    ),
    # Whole turns.
    (three, lambda rl: rl.step([1]), OutOfOrder, ["RL_step", _LEFT_OUT]),
    (three, lambda rl: rl.start([1]), OutOfOrder, ["RL_start", _LEFT_OUT]),
    (three, lambda rl: rl.episode(2, [1]), OutOfOrder, ["RL_episode", _LEFT_OUT]),
    (three, lambda rl: rl.agent_start(seen(0, 0), [1]), OutOfOrder, ["RL_agent_start", _LEFT_OUT]),
    (
        three,
        lambda rl: rl.agent_step([0.0], seen(0, 0), [1]),
        OutOfOrder,
        ["RL_agent_step", _LEFT_OUT],
    ),
    # Goals.
    (on_course, lambda rl: rl.start(task="roof"), OutOfDomain, ["task 'roof'", "hall", "yard"]),
    (on_course, lambda rl: rl.init(variant=3), OutOfDomain, ["variant 3", "'hall'", "0 to 2"]),
    (on_course, lambda rl: rl.env_start(variant=-1), OutOfDomain, ["variant -1"]),
    (on_course, lambda rl: rl.episode(task=7), OutOfDomain, ["task 7"]),  # type: ignore[arg-type]
    (three, lambda rl: rl.start(variant=0), *_IN_PLAY),
    (set_back, lambda rl: rl.start(variant=0), *_IN_PLAY),
    (three, lambda rl: rl.iterate_goal(), OutOfOrder, ["RL_iterate_goal", *_IN_PLAY[1]]),
    # Adaptation.
    (learning(), ROUTINES["RL_adapt"], OutOfOrder, ["got RL_adapt before RL_adapt_begin"]),
    (
        learning("adapt_begin", "episode", "freeze"),
        ROUTINES["RL_adapt"],
        OutOfOrder,
        ["got RL_adapt after RL_freeze"],
    ),
    (
        learning("adapt_begin"),
        ROUTINES["RL_adapt"],
        OutOfOrder,
        ["no episode since RL_adapt_begin"],
    ),
    (
        learning("adapt_begin", "episode", "adapt"),
        ROUTINES["RL_adapt"],
        OutOfOrder,
        ["no episode since the last RL_adapt"],
    ),
    (learning("adapt_begin", "start"), ROUTINES["RL_adapt"], *_IN_PLAY),
    (
        begun,
        ROUTINES["RL_adapt_begin"],
        NotSupported,
        ["RL_adapt_begin of 'actor', which cannot adapt"],
    ),
]


@pytest.mark.parametrize(("state", "routine", "kind", "named"), CASES)
def test_a_refusal_names_what_was_asked_and_what_is_missing(
    state: Callable[[], Bench],
    routine: Callable[[Bench], object],
    kind: type[Exception],
    named: list[Any],
) -> None:
    bench = state()
    refused(bench, lambda: routine(bench), kind, *named)


@pytest.mark.parametrize("routine", ROUTINES)
def test_everything_needs_init_also_after_cleanup(routine: str) -> None:
    bench = Bench()
    refused(bench, lambda: ROUTINES[routine](bench), OutOfOrder, routine, "RL_init")
    bench.init()
    bench.cleanup()
    refused(bench, lambda: ROUTINES[routine](bench), OutOfOrder, routine, "RL_init")
