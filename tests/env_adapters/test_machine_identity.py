"""The machine is told by what bits depend on."""

from __future__ import annotations

import json

from env_adapters.machine_identity import machine_identity
from tests.programs import run_python

PROGRAM = """
import json
from env_adapters.machine_identity import machine_identity
print(json.dumps(machine_identity()))
"""


def of_another_process(**switches: str) -> dict[str, str]:
    told: dict[str, str] = json.loads(run_python(PROGRAM, **switches).stdout)
    return told


def test_all_processes_tell_the_same() -> None:
    assert of_another_process() == machine_identity()


def test_what_switches_kernels_is_told() -> None:
    other = of_another_process(OPENBLAS_CORETYPE="Prescott")
    assert {name for name in other if other[name] != machine_identity()[name]} == {"switches"}


def test_the_processor_is_told() -> None:
    assert machine_identity()["processor"]
