"""Pages that stand elsewhere in the repository, and links between all of them.

Links are written so that they hold where the file stands. In the site a link to an included file
leads to its page, and a link to any other file of the repository is its text alone.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

INCLUDED = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "explanation/threat-model.md",
    "agent_clients/c/README.md": "how-to/clients/c.md",
    "agent_clients/cpp/README.md": "how-to/clients/cpp.md",
    "agent_clients/julia/README.md": "how-to/clients/julia.md",
    "agent_clients/typescript/README.md": "how-to/clients/typescript.md",
    "benchmarks/interval_coverage/RESULTS.md": "explanation/coverage.md",
    "benchmarks/speed/RESULTS.md": "explanation/speed.md",
    "benchmarks/speed/results.svg": "assets/speed.svg",
    "benchmarks/speed/scaling/RESULTS.md": "explanation/scaling.md",
    "benchmarks/speed/scaling/results.svg": "assets/scaling.svg",
    "proto/README.md": "reference/protocol/agent.md",
    "proto/ENVIRONMENT.md": "reference/protocol/environment.md",
    "proto/EXPERIMENT.md": "reference/protocol/experiment.md",
    "proto/CONFORMANCE.md": "reference/protocol/conformance.md",
    "proto/reglue/v1/": "reference/protocol/messages.md",
}
"""Path in the repository -> path in the site. A folder stands for all files in it."""

BOOSTS = {
    "tutorials/": 1.5,
    "explanation/coverage": 0.25,
    "explanation/scaling": 0.25,
    "explanation/speed": 0.25,
    "explanation/": 0.75,
    **dict.fromkeys(("reference/cpp", "reference/julia", "reference/typescript"), 0.05),  # long
    "reference/": 0.25,
}
"""The weight of a page's words in the search, by how its path begins; guides have 1."""

_SOURCES = {page: source for source, page in INCLUDED.items()}
_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?!\w+:|#)([^)\s]+)\)")
_LIST_BELOW_TEXT = re.compile(r"^(?![-*|#>\s]|\d+\. )(.+)\n(?=[-*] |\d+\. )", re.MULTILINE)
_FENCE_WITH_WORDS = re.compile(r"^```\w+ ([^\n=]+)$", re.MULTILINE)
_FROM_A_NETWORK = re.compile(r"<(?:script|img|link|iframe)\b[^>]*\b(?:src|href)=\"(?:https?:)?//")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the included files."""
    for source, page in INCLUDED.items():
        path = _root(config) / source
        if path.is_file():
            files.append(File.generated(config, page, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Let links lead to pages; let lists below text, and fences such as ```hex reward, be read.

    The search leaves out decisions: they say why, and readers ask how.
    """
    here = page.file.src_uri
    if here.startswith("decisions/"):
        page.meta["search"] = {"exclude": True}
    else:
        boost = next((each for start, each in BOOSTS.items() if here.startswith(start)), 1)
        page.meta["search"] = {"boost": boost}
    source = _SOURCES.get(here, f"docs/{here}")

    def link(found: re.Match[str]) -> str:
        text, target = found.groups()
        there, hash_, anchor = target.partition("#")
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), there))
        goal = _page(path, files)
        if goal:
            return f"[{text}]({posixpath.relpath(goal, posixpath.dirname(here))}{hash_}{anchor})"
        return text if (_root(config) / path).exists() else found[0]

    parts = _FENCED.split(markdown)
    fences = [*_FENCED.findall(markdown), ""]
    return "".join(
        _LINK.sub(link, _LIST_BELOW_TEXT.sub(r"\1\n\n", prose))
        + _FENCE_WITH_WORDS.sub(r'```text title="\1"', fence)
        for prose, fence in zip(parts, fences, strict=True)
    )


def on_post_page(output: str, **_: Any) -> str:
    """Refuse a page that loads anything from a network."""
    found = _FROM_A_NETWORK.search(output)
    if found:
        raise PluginError(f"a page loads something from a network: {found[0]}")
    return output


def _page(path: str, files: Files) -> str | None:
    """The page, or picture, of a file of the repository."""
    goal = INCLUDED.get(path) or INCLUDED.get(posixpath.dirname(path) + "/")
    if goal is None and path.startswith("docs/"):
        goal = path.removeprefix("docs/")
    return goal if goal and files.get_file_from_path(goal) else None


def _root(config: MkDocsConfig) -> Path:
    return Path(config.config_file_path).parent
