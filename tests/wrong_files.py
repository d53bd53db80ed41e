"""Pages of mistakes in a file, with the whole of each message, for people to read.

A block of a page is a change of the file, `-` what goes and `+` what comes (at the end, if nothing
goes), and what is said of it. `python -m tests.wrong_files` writes all messages anew: to add a
mistake, write its change there first. It writes the pages of the commands, too: wrong uses, and
sessions.
"""

from __future__ import annotations

import importlib
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from reglue.errors import UsageError

MODULES = (
    "tests.env_adapters.curricula.test_schedule_file",
    "tests.reglue.task_spec_string.test_grammar",
    "tests.reglue_bench.bakeoff.test_bakeoff_file",
    "tests.reglue_bench.benchmark.test_benchmark_file",
    "tests.reglue_competition.definition.test_definition_file",
)


@dataclass(frozen=True, slots=True)
class Mistake:
    """A change of a file, and what is said of it."""

    before: str
    after: str
    message: str

    @classmethod
    def of(cls, block: str) -> Mistake:
        """The mistake in a block of a page."""
        lines = block.splitlines()
        before, after = (
            "\n".join(line[2:] for line in lines if line.startswith(f"{sign} ")) for sign in "-+"
        )
        said = [line for line in lines if not line.startswith(("- ", "+ "))]
        return cls(before, after, "\n".join(said))

    def __str__(self) -> str:
        return "\n".join(
            [f"- {line}" for line in self.before.splitlines()]
            + [f"+ {line}" for line in self.after.splitlines()]
        )

    def made_in(self, text: str) -> str:
        assert self.before in text
        return text.replace(self.before, self.after, 1) if self.before else text + self.after


@dataclass(frozen=True, slots=True)
class WrongFiles:
    """The mistakes in a file called `name`, which `read` refuses."""

    page: Path
    name: str
    text: str
    read: Callable[[Path], object]
    others: Mapping[str, str] = field(default_factory=dict)  # files in its folder, by their names

    def mistakes(self) -> list[Mistake]:
        return [Mistake.of(block) for block in self.page.read_text("utf-8").strip().split("\n\n")]

    def message(self, mistake: Mistake, folder: Path) -> str:
        """The message about a mistake, with paths in `folder`."""
        for name, text in {**self.others, self.name: mistake.made_in(self.text)}.items():
            (folder / name).write_text(text, "utf-8")
        with pytest.raises(UsageError) as error:
            self.read(folder / self.name)
        return str(error.value).replace(f"{folder}/", "")

    def rewrite(self) -> None:
        blocks = []
        for mistake in self.mistakes():
            with tempfile.TemporaryDirectory() as folder:
                blocks.append(f"{mistake}\n{self.message(mistake, Path(folder))}")
        self.page.write_text("\n\n".join(blocks) + "\n", "utf-8")


if __name__ == "__main__":
    for module in MODULES:
        importlib.import_module(module).WRONG.rewrite()
    for page in ("test_wrong_uses", "test_sessions"):
        importlib.import_module(f"tests.reglue_bench.cli.{page}").rewrite()
