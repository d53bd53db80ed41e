"""Links in Markdown lead somewhere."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.repository.pages import ROOT


def markdown() -> list[str]:
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"]
    files = subprocess.run(listed, cwd=ROOT, capture_output=True, check=True, text=True)
    return files.stdout.split()


@pytest.mark.parametrize("page", markdown())
def test_a_link_leads_to_a_file(page: str) -> None:
    text = re.sub(r"^```.*?^```$", "", (ROOT / page).read_text("utf-8"), flags=re.M | re.S)
    for target in re.findall(r"\]\((?!\w+:|#)([^)\s]+)\)", text):
        assert (ROOT / Path(page).parent / target.partition("#")[0]).exists(), target
