"""The modules that each program loads when it starts: each command and process of a run pays them.

A row is a start, and what it loads beside the standard library's light modules: other people's
packages, large modules of the standard library, and packages of our own. A new name in it costs
every such start time, so import what needs it in the function that does.
"""

from __future__ import annotations

import sysconfig
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from tests.programs import run_python

_LARGE = {  # of the standard library
    *("asyncio", "concurrent.futures", "http.client", "importlib.metadata", "multiprocessing"),
    *("sqlite3", "ssl", "unittest", "xml"),
}
_SDK = {"reglue", "reglue_script", "reglue_signals"}
_OURS = {"env_adapters", "glue_server", "reglue_bench", "reglue_competition"}

_NUMPY, _PROTOBUF = {"numpy"}, {"google"}
_GRPC = {  # it looks for its own further packages
    *("asyncio", "concurrent.futures", "grpc", "grpc_health", "grpc_reflection", "ssl"),
    *("typing_extensions",),
}
_PYDANTIC = {
    *("annotated_types", "pydantic", "pydantic_core", "typing_extensions", "typing_inspection"),
}
_SHELL = {"importlib.metadata"}  # `reglue` finds its commands by it
_COMMAND = {*_SHELL, "annotated_doc", "glue_server", "shellingham", "typer"}
_HELP = _COMMAND | {"attr", "markdown_it", "mdurl", "pygments", "rich"}  # with the help
_SETTINGS = {*_HELP, *_PYDANTIC}
_WORKER = {*_NUMPY, *_PROTOBUF, "env_adapters", "glue_server"}
_RUN = {
    *(_WORKER | _PYDANTIC),
    *("greenlet", "importlib.metadata", "reglue_bench"),
}

STARTS: dict[str, set[str]] = {
    "import reglue": set(),
    "import reglue.agents.agent": _NUMPY,
    "import reglue.rollouts": _NUMPY,
    "reglue --help": _SHELL,
    "reglue join --help": _SHELL,
    "reglue submit --help": _SHELL,
    "reglue bakeoff --help": _SETTINGS | {"reglue_bench"},
    "reglue bench --help": _SETTINGS | {"reglue_bench"},
    "reglue benchmarks --help": _HELP | {"reglue_bench"},
    "reglue bridge --help": _HELP,
    "reglue cache --help": _HELP | {"reglue_bench"},
    "reglue competition --help": _HELP | {"reglue_bench", "reglue_competition"},
    # Typer itself loads pydantic for a flag that is a number with a limit.
    "reglue competition serve --help": _SETTINGS | {"reglue_bench", "reglue_competition"},
    "reglue completion --help": _HELP,
    "reglue conformance --help": _HELP,
    "reglue dataset --help": _HELP | {"reglue_bench"},
    "reglue export --help": _HELP | {"reglue_bench"},
    "reglue glue --help": _SETTINGS,
    "reglue kit --help": _HELP | {"reglue_bench"},
    "reglue report --help": _HELP | {"reglue_bench"},
    "reglue try --help": _SETTINGS | {"reglue_bench"},
    "reglue verify --help": _HELP | {"reglue_bench", "reglue_competition"},
    "reglue watch --help": _HELP | {"reglue_bench"},
    "import glue_server": {"glue_server"},
    "import glue_server.commands.glue_command": _COMMAND | _PYDANTIC,
    "import glue_server.environment.worker": _WORKER,
    "import glue_server.peers.run_process": {
        *(_NUMPY | _PROTOBUF | _GRPC),
        "glue_server",
        "greenlet",
    },
    "from reglue_bench import evaluate": _RUN | {"concurrent.futures", "filelock", "sqlite3"},
    "import reglue_bench.engines.shard_process": _RUN | {"concurrent.futures"},
    "import reglue_bench.placement.environment_process": _RUN,
    "import reglue_competition.runs.process.submission_process": {
        *(_RUN | _GRPC),
        *("filelock", "reglue_competition", "sqlite3"),
    },
}

_SAY = (
    "import atexit, sys; before = {*sys.modules}; "
    "atexit.register(lambda: print('\\n', *(sys.modules.keys() - before)))"
)


def test_every_command_has_a_row() -> None:
    commands = {point.name for point in entry_points(group="reglue.commands")}
    assert {f"reglue {name} --help" for name in commands} <= STARTS.keys()


@pytest.mark.parametrize("start", STARTS)
def test_a_start_loads_what_it_uses_alone(start: str) -> None:
    loaded = loaded_by(start)
    assert loaded - STARTS[start] == set()


def loaded_by(start: str) -> set[str]:
    """The names, of those that are watched, that a program has loaded when it ends."""
    program, _, words = start.partition(" ")
    code = f"import sys; sys.argv[1:] = {words.split()}; from reglue_script import script; script()"
    done = run_python(f"{_SAY}; {code if program == 'reglue' else start}")
    names = done.stdout.splitlines()[-1].split()
    assert len(names) > 10
    first = {name.partition(".")[0] for name in names}
    return (_LARGE & {*names}) | (first & (_others() - _SDK | _OURS))


def _others() -> set[str]:
    """Installed packages and modules at the top."""
    folders = {Path(sysconfig.get_path(kind)) for kind in ("purelib", "platlib")}
    return {path.name.partition(".")[0] for folder in folders for path in folder.iterdir()}
