"""Wrong uses of a benchmark program's routines, a row each: the use, its call, the code or class of
the error that it must raise, and what the message says.

A wrong use changes nothing: rows with FINE are carried out between them. Run it with a glue whose
agent and environment leave with the first session. Exit code 0 if all rows are right. Arguments of
other wrong types are tested where nothing is sent, in tests/glue_server/routines.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from reglue import Experiment

FINE = ""
SEED = 2**63 - 1  # the largest

wrong: list[str] = []


def row(use: str, call: Callable[[], object], wanted: str, words: str) -> None:
    """Carry out one."""
    error, message = FINE, ""
    try:
        call()
    except Exception as raised:  # noqa: BLE001 - whatever it is, it may be the wrong one
        error, message = getattr(raised, "code", type(raised).__name__), str(raised)
    if error != wanted or words not in message:
        wrong.append(f"{use}: wanted {wanted} and {words!r}, got {error}: {message}")


if __name__ == "__main__":
    rl: Any = Experiment()  # nor have its arguments types
    row("start before init", rl.start, "OUT_OF_ORDER", "RL_init")
    row(
        "init of no slots",
        lambda: rl.init(slots=0),
        "OUT_OF_DOMAIN",
        "got slots 0, wanted an integer from 1 to 4294967295",
    )
    row(
        "a seed out of range",
        lambda: rl.init(seed=-1),
        "OUT_OF_DOMAIN",
        f"-1, wanted an integer from 0 to {SEED}",
    )
    row("init", lambda: rl.init(slots=2, seed=SEED), FINE, "")
    row("step before start", rl.step, "OUT_OF_ORDER", "RL_start")
    row("start", rl.start, FINE, "")
    row("actions of a wrong size", lambda: rl.env_step({"action": [1, 2]}), "WRONG_SIZE", "8 bytes")
    row("actions of a wrong name", lambda: rl.env_step({"x": [1]}), "WRONG_SIZE", "0 tensors")
    row("a fractional slot", lambda: rl.start([0.5]), "OUT_OF_DOMAIN", "got slot 0.5, wanted")
    row("an unknown slot", lambda: rl.step([7]), "OUT_OF_DOMAIN", "got slot 7, wanted 0 to 1")
    row("a slot twice", lambda: rl.step([1, 1]), "OUT_OF_DOMAIN", "got slots [1, 1]")
    row("an unsupported routine", lambda: rl.set_state("key"), "NOT_SUPPORTED", "RL_set_state")
    row(
        "a key that is no text", lambda: rl.set_state(None), "OUT_OF_DOMAIN", "got key None, wanted"
    )
    row("an unknown task", lambda: rl.init(task="none"), "OUT_OF_DOMAIN", "got task 'none'")
    row("a task that is no text", lambda: rl.start(task=7), "OUT_OF_DOMAIN", "got task 7, wanted")
    row("a negative variant", lambda: rl.start(variant=-1), "OUT_OF_DOMAIN", "got variant -1")
    row("step", rl.step, FINE, "")
    row("close", rl.close, FINE, "")
    row("a routine after close", rl.num_steps, "SessionLost", "the program has left")
    row("a timeout of 0", lambda: Experiment(timeout_s=0), "BadArgument", "got a timeout of 0 s")
    row(
        "a negative connect timeout",
        lambda: Experiment(connect_timeout_s=-1),
        "BadArgument",
        "got a connect timeout of -1 s, wanted 0 or more",
    )
    rl = Experiment(timeout_s=0.1)
    row("a routine that takes too long", rl.init, "SessionLost", "longer than its 0.1 s")
    row("a routine after that", rl.freeze, "SessionLost", "longer than its 0.1 s")
    rl.close()
    sys.exit("\n".join(wrong) or 0)
