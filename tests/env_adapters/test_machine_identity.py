"""The machine is told by what bits depend on."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from env_adapters.machine_identity import machine_identity

PROGRAM = """
import json
from env_adapters.machine_identity import machine_identity
print(json.dumps(machine_identity()))
"""


def of_another_process(**switches: str) -> dict[str, str]:
    env = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))} | switches
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=env, check=True, stdout=-1)
    told: dict[str, str] = json.loads(done.stdout)
    return told


def test_all_processes_tell_the_same() -> None:
    assert of_another_process() == machine_identity()


def test_what_switches_kernels_is_told() -> None:
    other = of_another_process(OPENBLAS_CORETYPE="Prescott")
    assert {name for name in other if other[name] != machine_identity()[name]} == {"switches"}


def test_the_processor_is_told() -> None:
    assert machine_identity()["processor"]
