"""The clients' reference pages tell every public name; `make reference` makes what they show."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from docs._hooks.generated import on_page_markdown
from tests.agent_clients.client_programs import ROOT

CLIENTS = ROOT / "agent_clients"


def names_in(folder: str, *patterns: str) -> Iterator[str]:
    """Matches of the patterns at the beginnings of lines in a folder's files."""
    for path in sorted((CLIENTS / folder).glob("*.*")):
        text = path.read_text(encoding="utf-8")
        for pattern in patterns:
            yield from re.findall(f"^{pattern}", text, re.MULTILINE)


def exported_by_c() -> set[str]:
    functions = r"(?:REGLUE_API|static inline)\b[^;{]*?\b(reglue_\w+)\("
    types = r"(?:enum|typedef struct) (\w+)"
    return set(names_in("c/include", functions, types))


def exported_by_cpp() -> set[str]:
    functions = r"REGLUE_API [^;{]*?\b(\w+)\("
    types = r"(?:class|struct|enum|enum class) (?:REGLUE_API )?(\w+)(?: \{| :)"
    names = set(names_in("cpp/include/reglue", functions, types, r"using (\w+)"))
    return names - {"check_type", "throw_none", "throw_wrong_size", "number_at", "set_number"}


def exported_by_julia() -> set[str]:
    text = (CLIENTS / "julia/src/Reglue.jl").read_text(encoding="utf-8")
    lists = re.findall(r"^export ((?:.*,\n)*.*)", text, re.MULTILINE)
    return {name.strip() for names in lists for name in names.split(",")}


def exported_by_typescript() -> set[str]:
    text = (CLIENTS / "typescript/src/index.ts").read_text(encoding="utf-8")
    lists = re.findall(r"export \{(.*?)\} from", text, re.DOTALL)
    names = {name.split()[-1] for each in lists for name in each.split(",") if name.strip()}
    errors = (CLIENTS / "typescript/src/errors.ts").read_text(encoding="utf-8")
    return names | set(re.findall(r"^export class (\w+)", errors, re.MULTILINE))


EXPORTED = {
    "c": exported_by_c(),
    "cpp": exported_by_cpp(),
    "julia": exported_by_julia(),
    "typescript": exported_by_typescript(),
}


def descriptions(page: Path) -> dict[str, str]:
    """Names that have a heading -> the words below it, without code and tables."""
    text = on_page_markdown(page.read_text(encoding="utf-8"))
    assert "Not built here" not in text, "run `make reference` first"
    text = re.sub(r"^```.*?^```$|^\|[^\n]*$", "", text, flags=re.MULTILINE | re.DOTALL)
    parts = re.split(r"^(#{2,4}) (.+)$", text, flags=re.MULTILINE)[1:]
    headings = zip(parts[::3], parts[1::3], parts[2::3], strict=True)
    return {
        heading.partition(" {")[0].rpartition("::")[2].removesuffix("()"): words.strip()
        for level, heading, words in headings
        if level == "###"
    }


@pytest.mark.parametrize("client", EXPORTED)
def test_a_page_describes_every_public_name(client: str) -> None:
    described = descriptions(ROOT / "docs/reference" / f"{client}.md")
    assert EXPORTED[client] - described.keys() == set()
    assert [name for name in EXPORTED[client] if not described[name]] == []
