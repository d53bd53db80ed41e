"""The files that go with a shard to another machine, and what must be the same there."""

from __future__ import annotations

import shlex
import sys
import sysconfig
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from env_adapters import SuiteName
from reglue.errors import UsageError
from reglue.tools.keyword_words import parsed
from reglue_bench.benchmark.benchmark import suite_of
from reglue_bench.engines.run_identity import agent_sources, identity
from reglue_bench.plans.plan import Plan
from reglue_bench.settings import Settings

_PROGRAMS = "{programs}/"  # placeholder for the folder of Python's installed programs
_MOST_BYTES = 2**30  # of all files: they are held in memory


def facts_and_files(settings: Settings, plan: Plan) -> dict[str, Any]:
    """The settings that a process on another machine needs besides: `facts` and `files`.

    Raises UsageError for more than a GiB.
    """
    suite = suite_of(plan, settings)
    return {"facts": identity(settings, suite), "files": _packed(settings, suite)}


def unpack(files: Mapping[str, bytes], folder: Path) -> None:
    """Write files to a folder, by their names."""
    for name, content in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)


def portable(settings: Settings) -> Settings:
    """The settings with a placeholder for the folder of this Python's programs."""
    folder = Path(settings.directory)

    def named(word: str) -> str:
        return f"{_PROGRAMS}{Path(word).name}" if _is_installed(folder / word) else word

    return _with_command(settings, named)


def at_home(settings: Settings) -> Settings:
    """The inverse of `portable`, with the programs of this machine."""
    bin_folder = f"{Path(sys.executable).parent}/"
    return _with_command(settings, lambda word: word.replace(_PROGRAMS, bin_folder))


def check_facts(wanted: Mapping[str, str], settings: Settings, plan: Plan) -> None:
    """Raise UsageError, which names each difference, unless they are the same here."""
    local = identity(settings, suite_of(plan, settings))
    lines = [
        f"{name}: {local.get(name, 'none')} there, {wanted.get(name, 'none')} here"
        for name in sorted(local.keys() | wanted.keys())
        if local.get(name) != wanted.get(name)
    ]
    if lines:
        raise UsageError(
            f"the episodes would depend on the node; {'; '.join(lines)}: install the same "
            "versions, and have the same files, on each node"
        )


def _with_command(settings: Settings, change: Callable[[str], str]) -> Settings:
    try:
        words = shlex.split(settings.agent_cmd or "")
    except ValueError:  # starting it reports the error
        return settings
    if (changed := [*map(change, words)]) == words:
        return settings
    return settings.model_copy(update={"agent_cmd": shlex.join(changed)})


def _is_installed(program: Path) -> bool:
    """Whether a program came with this Python: itself, or what is beside it in a venv."""
    python = Path(sys.executable)
    is_beside = program.parent.resolve() == python.parent.resolve()
    return is_beside and (sys.prefix != sys.base_prefix or program.resolve() == python.resolve())


def _packed(settings: Settings, suite: SuiteName) -> dict[str, bytes]:
    """Files by their names in the run's directory: the agent's, the environment's, the checkpoint.

    Of a source file also those beside it, or all of its package. What is outside of the directory,
    or installed in it, has to be on each machine already. Raises UsageError for more than a GiB.
    """
    folder = Path(settings.directory).resolve()
    installed = Path(sysconfig.get_path("purelib")).resolve()
    contents = {
        str(file.relative_to(folder)): file.read_bytes()
        for file in _needed_files(settings, suite)
        if file.is_relative_to(folder) and not file.is_relative_to(installed)
    }
    if (size := sum(map(len, contents.values()))) > _MOST_BYTES:
        raise UsageError(
            got=f"{size >> 20} MiB of files that the agent needs",
            wanted=(
                f"at most {_MOST_BYTES >> 20}: put the checkpoint where each node finds "
                "it, and give its absolute path"
            ),
        )
    return contents


def _needed_files(settings: Settings, suite: SuiteName) -> Iterator[Path]:
    for source in [*agent_sources(settings), *suite.files()]:
        yield from _with_beside(source.resolve())
    if (checkpoint := settings.agent_args.get("checkpoint")) is not None:
        file = (Path(settings.directory) / str(parsed("checkpoint", checkpoint))).resolve()
        if file.is_file():
            yield file


def _with_beside(source: Path) -> Iterator[Path]:
    """A source file, and those that it may import from its own folder or package."""
    yield source
    folder, pattern = source.parent, "*.py"
    while (folder / "__init__.py").is_file():
        folder, pattern = folder.parent, f"{folder.name}/**/*.py"
    yield from folder.glob(pattern)
