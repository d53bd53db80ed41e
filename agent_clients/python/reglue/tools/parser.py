"""A parser of command lines whose errors are one line."""

from __future__ import annotations

import argparse
from typing import NoReturn

SAYS = "reglue join: "
"""Begins what `reglue join` says of itself; a glue that started it passes on the rest."""


class Parser(argparse.ArgumentParser):
    """A parser like argparse's, without the usage above each error."""

    def error(self, message: str) -> NoReturn:
        """Leave with 2, and say why."""
        self.exit(2, f"{self.prog}: {message.removeprefix('argument ')}\n")
