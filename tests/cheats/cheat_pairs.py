"""Pairs of runs: the same plan and policy, with a cheat and without it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

from reglue_bench import Result
from reglue_bench.evaluation import evaluate
from reglue_bench.evaluator import Evaluator
from tests.cheats.cheat_world import BREAKS, Breakable, Player, Program
from tests.cheats.connected import CONNECTED, connecting
from tests.cheats.killed import KILLED, killing
from tests.reglue_bench.remote import Joins, address_in

NAME = f"{Breakable.__module__}:{Breakable.__qualname__}"

PLANS: dict[str, dict[str, Any]] = {
    "evaluate": {"num_episodes": 3},
    "multi-task": {"num_episodes": 3},
    "meta-learning": {
        "num_evals": 1,
        "adaptation_episodes": 1,
        "evaluation_episodes": 2,
        "environment_args": {"variants": 20},
    },
    "online": {"runs": 2, "episodes": 2, "environment_args": {"variants": 1}},
}

BLOCK = 20
"""Pairs that share a plan, with a seed of its own, and worker processes."""

HERE = (*BREAKS, "gives up")
"""Cheats of an agent in this process."""

IN_PROCESSES = ("crashes", "hangs", "wears")
"""Those that need environments in processes of their own."""

HANG_S = 0.3  # until an environment that hangs is ended
STEP_S = 0.35  # a turn
LATE_S = 0.5  # a turn that is late
_WINDOW_S = 0.3  # until an agent that left is given up


@dataclass(frozen=True, slots=True)
class Pair:
    """The result of one pair."""

    procedure: str
    kind: str
    number: int
    honest: float | None  # scores, 0 to 1
    cheat: float | None
    cheated: int  # times
    met_again: int  # episodes that the cheat was asked again
    retried: int  # rows that are of a later try
    note: str = ""


def played(procedure: str, kind: str, numbers: Sequence[int]) -> Iterator[Pair]:
    """Pairs of a plan; `numbers`, of one block, are their policies."""
    slots = 1 if kind in CONNECTED else 2
    options = _options(procedure, slots, numbers[0] // BLOCK * BLOCK)
    if kind in KILLED:  # its world has the arguments that it has by itself
        options.pop("environment_args", None)
    honest = _honest(procedure, tuple(numbers), **options)
    with _cheating(procedure, kind, options) as play:
        for number, without in zip(numbers, honest, strict=True):
            result, player = play(number)
            yield Pair(
                procedure,
                kind,
                number,
                without,
                result.score.value,
                player.cheated,
                player.met_again,
                result.episodes_retried,
                note(kind, result, player.cheated),
            )


def _honest(procedure: str, numbers: tuple[int, ...], **options: Any) -> list[float | None]:
    """The scores of the honest, one for each of `numbers`."""
    return _scores(procedure, numbers, json.dumps(options))


@cache
def _scores(procedure: str, numbers: tuple[int, ...], as_json: str) -> list[float | None]:
    options = json.loads(as_json)
    with Evaluator(f"{procedure}:{NAME}", workers=0, **options) as evaluator:
        return [evaluator(Player(number)).score.value for number in numbers]


def _options(procedure: str, slots: int, seed: int) -> dict[str, Any]:
    of_slots = {"meta-learning": "meta_batch_size", "online": ""}.get(procedure, "slots")
    return {**PLANS[procedure], **({of_slots: slots} if of_slots else {}), "seed": seed}


@contextmanager
def _cheating(procedure: str, kind: str, options: dict[str, Any]) -> Iterator[Any]:
    if kind in KILLED:

        def kill(number: int) -> tuple[Result, Player]:
            killer = Player(number, "crashes")
            return killing(procedure, kind, killer, **options), killer

        yield kill
        return
    if procedure == "online" and kind in ("leaves", "too late"):
        yield lambda number: _program(procedure, kind, number, options)
        return
    if kind in CONNECTED:
        yield lambda number: _connected(procedure, kind, number, options)
        return
    workers = int(kind in IN_PROCESSES)
    limits: dict[str, Any] = {"repeat_check": False}  # which asks it again once all is scored
    limits |= {"environment_timeout": HANG_S} if kind == "hangs" else {}
    with Evaluator(f"{procedure}:{NAME}", workers=workers, **options, **limits) as evaluator:

        def play(number: int) -> tuple[Result, Player]:
            player = Player(number, kind)
            return evaluator(player, raise_faults=False), player

        yield play


def _connected(
    procedure: str, kind: str, number: int, options: dict[str, Any]
) -> tuple[Result, Player]:
    limits = _limits(kind)
    with connecting(number, kind, late_s=LATE_S) as agent:
        joins = Joins(agent.join)
        joins.say = lambda text: _heard(text, agent)  # type: ignore[method-assign]
        result = evaluate(
            f"{procedure}:{NAME}",
            agent="wait",
            watcher=joins,
            raise_faults=False,
            repeat_check=False,
            transport="grpc",
            workers=0,
            **options,
            **limits,
        )
    return result, agent.player


def _program(
    procedure: str, kind: str, number: int, options: dict[str, Any]
) -> tuple[Result, Player]:
    """A program that is lost is started again for the next run; what it did is in the rows."""
    player = Player(number)
    args = {"policy": str(number), "how": kind, "late_s": str(LATE_S)}
    result = evaluate(
        f"{procedure}:{NAME}",
        agent=f"{Program.__module__}:{Program.__qualname__}",
        agent_args=args,
        raise_faults=False,
        repeat_check=False,
        workers=0,
        **options,
        **_limits(kind),
    )
    player.cheated = sum(row.status != "ok" for row in result.episodes)
    return result, player


def _limits(kind: str) -> dict[str, Any]:
    limits: dict[str, Any] = {"reconnect_window": _WINDOW_S if kind == "leaves" else 30.0}
    if kind in ("late", "too late"):
        late = "default-action" if kind == "late" else "fault"
        limits |= {"step_timeout": STEP_S, "late": late}
    return limits


def _heard(text: str, agent: Any) -> None:
    if "for an agent" in text:
        agent.join(address_in(text))


def note(kind: str, result: Result, cheated: int) -> str:
    """Other events: a machine that is too slow plays more defaults than there were cheats."""
    counts = " ".join(f"{status}:{count}" for status, count in sorted(result.status_counts.items()))
    if kind == "late" and result.defaulted_steps != cheated:
        return f"{counts} defaulted:{result.defaulted_steps} cheated:{cheated}"
    return counts
