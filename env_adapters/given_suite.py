"""Suites of a program's own objects: by name where other processes can import it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from env_adapters.environment_suite import EnvironmentSuite
from env_adapters.given_environment import given_environment, makes_one
from env_adapters.suite_names import SuiteName
from reglue.environments.environment import Environment
from reglue.environments.world import Suite
from reglue.error_message import brief
from reglue.errors import UsageError


def given_suite(candidate: object, arguments: Mapping[str, Any]) -> SuiteName:
    """The suite of a class, function or object; `arguments` are keywords of the first two."""
    if (name := importable_name(candidate)) is not None:
        return SuiteName(name, dict(arguments))
    return GivenSuite(candidate, arguments)


def importable_name(candidate: object) -> str | None:
    """`module:Class` or `file.py:Class`, by which any process finds a class or a function."""
    name, module = getattr(candidate, "__name__", ""), getattr(candidate, "__module__", None)
    found = getattr(sys.modules.get(str(module)), str(name), None)
    if found is not candidate or not makes_one(candidate):
        return None
    if module != "__main__":
        return f"{module}:{name}"
    file = getattr(sys.modules["__main__"], "__file__", None)
    return f"{Path(file).absolute()}:{name}" if file else None


class GivenSuite(SuiteName):
    """The suite of something that this process alone has: an object, a lambda, a local class."""

    __slots__ = ("_candidate",)  # no field: it is not in a plan's JSON

    _candidate: object

    def __init__(self, candidate: object, arguments: Mapping[str, Any]) -> None:
        super().__init__(brief(candidate), dict(arguments))
        object.__setattr__(self, "_candidate", candidate)

    def build(self) -> Suite:
        """The suite of the object, which stays open, or of a new one."""
        first = self._made()

        def another() -> Environment:
            if (made := self._made()) is first:
                raise UsageError(
                    got=f"one {self.factory} for two plays", wanted="its class, or a name"
                )
            return made

        return EnvironmentSuite(first, another)

    def elsewhere(self) -> SuiteName:
        """Nobody else has it."""
        raise UsageError(
            "workers",
            got=self.factory,
            wanted="a name such as file.py:Class, or a class or function that others can import",
        )

    def located(self, folder: Path) -> SuiteName:
        """It is in no file."""
        return self

    def _made(self) -> Environment:
        example = "gymnasium:CartPole-v1"
        return given_environment("benchmark", self._candidate, self.config, name=example)[0]
