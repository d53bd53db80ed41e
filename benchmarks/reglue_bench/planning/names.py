"""A benchmark's name, taken apart; the environments are not looked at."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Self

from env_adapters.metaworld import catalogue
from env_adapters.suites import environments_like, is_known
from reglue.errors import UnknownName, UsageError
from reglue_bench.procedures import PROCEDURES, TRAINING, procedure_names

SUFFIX = ".toml"

WAIT = "wait"
"""The environment's name in `online:wait`: one that connects by itself."""

META_WORLD = {"MT": "multi-task", "ML": "meta-learning"}
"""How Meta-World's benchmarks are played."""


@dataclass(frozen=True, slots=True)
class BenchmarkName:
    """The name of a benchmark: one of Meta-World's, PROCEDURE:ENVIRONMENT, or a file."""

    name: str  # as plans and reports have it
    procedure: str  # empty: the file says
    environment: str  # of PROCEDURE:ENVIRONMENT; else empty

    @classmethod
    def parse(cls, name: str) -> Self:
        """Raises UsageError for any other name."""
        if is_custom(name):
            return cls(name, "", "")
        procedure, _, environment = name.partition(":")
        if procedure in PROCEDURES and procedure != TRAINING and environment:
            if _metaworld_procedure(environment) == procedure:  # multi-task:MT10 is MT10
                return cls(environment, procedure, "")
            return cls(name, procedure, environment)
        if procedure := _metaworld_procedure(name):
            return cls(name, procedure, "")
        raise _unknown(name)

    @property
    def waits(self) -> bool:
        """Whether its environment connects by itself."""
        return self.environment == WAIT

    @property
    def is_metaworld(self) -> bool:
        """Whether it is one of Meta-World's benchmarks, which have flags of their own."""
        return bool(self.procedure) and not self.environment

    @property
    def is_built_in(self) -> bool:
        """Whether it has a meaning without a file."""
        return self.is_metaworld or is_known(self.environment)


_OWN_FILE = re.compile(r"[^:]+\.py:\w+")


def is_custom(name: str) -> bool:
    """Whether it is a benchmark's file, not PROCEDURE:ENVIRONMENT whose environment is one."""
    return name.endswith(SUFFIX) and name.partition(":")[0] not in PROCEDURES


def _metaworld_procedure(name: str) -> str:
    """The procedure of a Meta-World benchmark; empty for any other name."""
    prefix = name.partition(":")[0]
    is_one = prefix in {form.partition(":")[0] for form in catalogue()}
    return META_WORLD[prefix[:2]] if is_one else ""


def _unknown(name: str) -> UsageError:
    def ways(environment: str) -> str:
        return " or ".join(f"{procedure}:{environment}" for procedure in procedure_names())

    if is_known(name) or _OWN_FILE.fullmatch(name):
        return UsageError(f"{name} is an environment; say how it is played: {ways(name)}")
    if like := environments_like(name):
        return UsageError(
            f"{name} is no benchmark; did you mean the environment {like[0]}? Say how it is "
            f"played: {ways(like[0])}"
        )
    known = [
        *catalogue(),
        "online:mountain-car",
        *(f"{each}:ENVIRONMENT" for each in procedure_names()),
    ]
    return UnknownName("benchmark", name, [*known, "file.toml"])
