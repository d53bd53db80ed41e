"""What both conformance programs answer to messages."""

from __future__ import annotations

import json
import time


class ToldToFail(Exception):
    """The kit wants to see how a failure is passed on."""

    def __init__(self) -> None:
        super().__init__("told to fail")


class Commands:
    """Counts of routines, and the commands that need nothing else."""

    def __init__(self, *routines: str) -> None:
        self._counts = dict.fromkeys(routines, 0)

    def count(self, routine: str, times: int = 1) -> None:
        """A routine was carried out, or had so many rows."""
        self._counts[routine] += times

    def answer(self, message: str) -> str:
        """To `counts`, `echo TEXT`, `sleep MS` and `fail`; nothing to any other."""
        command, _, argument = message.partition(" ")
        match command:
            case "counts":
                return json.dumps(self._counts)
            case "echo":
                return argument
            case "sleep":
                time.sleep(int(argument) / 1000)
            case "fail" if not argument:
                raise ToldToFail
        return ""
