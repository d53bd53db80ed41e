"""A docstring begins with a noun phrase or an imperative."""

from __future__ import annotations

import re

from tests.repository.pages import ROOT
from tests.repository.tracked_files import tracked

_BEGINS_WITH_WHAT = re.compile(r'^\s*[rR]?"""What\b.*', re.M)


def test_no_docstring_begins_with_what() -> None:
    found = {
        path: lines
        for path in tracked()
        if path.endswith(".py")
        and (lines := _BEGINS_WITH_WHAT.findall((ROOT / path).read_text(encoding="utf-8")))
    }
    assert found == {}
