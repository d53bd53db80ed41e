"""A container engine that is a script: it starts the tests' agent here, as each image's program."""

from __future__ import annotations

import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

_ROOT = Path(__file__).parents[2]

_SCRIPT = """#!/bin/sh
cd {folder}
[ -e away ] && echo nobody serves >&2 && exit 1
case $1 in
info) echo true true true ;;
image) [ ! -e forgotten ] && echo {image} ;;
create) echo "$@" >created ;;
inspect) echo "{{$(cat state), \\"ExitCode\\": $(cat exit)}}" ;;
start)
    echo $$ >pid
    agent=tests.reglue_bench.agents:$(cat agent)
    (cd {root} && exec {python} -m reglue join "$agent")
    code=$?
    echo $code >exit
    exit $code ;;
esac
"""


@dataclass
class ScriptedEngine:
    """The `docker` of a folder, which is to be the first in PATH."""

    folder: Path
    digest: str = f"sha256:{'0a' * 32}"  # of each image

    def __post_init__(self) -> None:
        self.folder.mkdir()
        script = _SCRIPT.format(
            folder=self.folder, root=_ROOT, python=sys.executable, image=self.digest
        )
        (self.folder / "docker").write_text(script, encoding="utf-8")
        (self.folder / "docker").chmod(0o755)
        state = '"Running": false, "OOMKilled": false, "Error": ""'
        (self.folder / "state").write_text(state, encoding="utf-8")
        (self.folder / "exit").write_text("137", encoding="utf-8")
        self.image_is("Seeded")

    @property
    def path(self) -> str:
        """PATH with it."""
        return f"{self.folder}{os.pathsep}{os.environ['PATH']}"

    def image_is(self, agent: str) -> None:
        """From now on each image has that agent."""
        (self.folder / "agent").write_text(agent, encoding="utf-8")

    def go(self) -> None:
        """It answers no more."""
        (self.folder / "away").touch()

    def come(self) -> None:
        """It is back."""
        (self.folder / "away").unlink()

    def forget(self) -> None:
        """It has no image any more."""
        (self.folder / "forgotten").touch()

    def pull(self) -> None:
        """It has all images again."""
        (self.folder / "forgotten").unlink()

    @property
    def created(self) -> list[str]:
        """The words by which it was asked for its last container."""
        return (self.folder / "created").read_text(encoding="utf-8").split()

    def lose(self) -> None:
        """Its container is gone, and the command that had started it."""
        os.killpg(int((self.folder / "pid").read_text(encoding="utf-8")), signal.SIGKILL)
