"""Shards that do nothing: at once they say that they have played whatever they are told to.

`python -m speed.scaling.idle_shards FD PARENT` reads from the inherited socket FD how many steps an
episode has, then serves each socket that comes there as `reglue_bench.engines.shard_process` does.
"""

from __future__ import annotations

import os
import socket
import threading
from array import array
from contextlib import suppress
from typing import NoReturn

from glue_server import Order, Outcome
from glue_server.processes.channel import inherited_channel
from glue_server.processes.frames import read_frame, write_frame
from reglue_bench.engines.shard import outcome_head, played_frame, todo_of
from reglue_bench.plans.plan import Plan
from reglue_bench.procedures import procedure_of

_SPENT = {"spent": [0.0, 0.0, 0, 0]}


def main() -> NoReturn:
    """Serve until the parent leaves."""
    parent = inherited_channel()
    steps = read_frame(parent)[0]["steps"]
    while (found := socket.recv_fds(parent, 1, 1))[0]:
        channel = socket.socket(fileno=found[1][0])
        threading.Thread(target=_serve, args=(channel, steps), daemon=True).start()
    os._exit(0)


def _serve(channel: socket.socket, steps: int) -> None:
    with suppress(EOFError, OSError):
        write_frame(channel, {"machine": "idle"})
        plan = Plan.from_json(read_frame(channel)[0]["plan"])
        procedure = procedure_of(plan)
        write_frame(channel, {"agent": "idle"})
        while "farewell" not in (head := read_frame(channel)[0]):
            for todo in todo_of(head):
                outcomes = []
                for cell in procedure.cells(todo.unit):
                    outcomes.append(_outcome(plan.order(todo.unit, cell, b"", None), steps))
                    said = {"outcome": outcome_head(outcomes[-1]), "phase": "online"}
                    write_frame(channel, said | _SPENT)
                played, body = played_frame(todo, outcomes)
                write_frame(channel, {"played": played} | _SPENT, body)
            write_frame(channel, {"over": None} | _SPENT)


def _outcome(order: Order, steps: int) -> Outcome:
    return Outcome(
        order,
        status="ok",
        return_=-float(steps),
        steps=steps,
        actions=bytes(8 * steps),
        rewards=(array("d", [-1.0]) * steps).tobytes(),
    )


if __name__ == "__main__":
    main()
