"""The blocks of code in README.md and docs/, and what may be said in them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]

_BLOCK = re.compile(
    r"^(?:<!-- (not run: [^\n]+|in the background|until Ctrl-C) -->\n)?"
    r"```(\w+)([^\n]*)\n(.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_TITLE = re.compile(r'title="([^"]+)"')


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block."""

    language: str
    title: str  # the file that it is; empty: a script, or output
    text: str
    mark: str  # of a comment above it: "in the background", "until Ctrl-C" or "not run: WHY"

    @property
    def is_run(self) -> bool:
        """It can be done here."""
        return not self.mark.startswith("not run")


def pages() -> list[str]:
    """Paths of the pages, relative to the repository."""
    docs = sorted((ROOT / "docs").rglob("*.md"))
    return ["README.md", *(str(page.relative_to(ROOT)) for page in docs)]


def blocks(page: str) -> Iterator[Block]:
    """The blocks of a page, in order."""
    for mark, language, info, text in _BLOCK.findall((ROOT / page).read_text(encoding="utf-8")):
        title = _TITLE.search(info)
        yield Block(language, title[1] if title else "", text, mark)
