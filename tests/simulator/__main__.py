"""See `python -m tests.simulator --help`."""

import gc
import os
import sys

import typer

from tests.simulator.substitution import substitute

if os.environ.get("PYTHONHASHSEED") != "0":  # a run has sets, whose order is a part of it
    command = [sys.executable, *sys.orig_argv[1:]]
    os.execve(sys.executable, command, os.environ | {"PYTHONHASHSEED": "0"})

substitute()

from tests.simulator.simulate import main  # noqa: E402 - the program comes after the substitution

gc.freeze()  # what was imported stays: it is not looked through after every run

typer.run(main)
