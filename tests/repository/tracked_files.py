"""The tracked files of the checkout: a clean copy of it is what others have."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from tests.repository.pages import ROOT


def tracked(*folders: str) -> list[str]:
    """Files, as paths from the root; those in these folders, or all."""
    listed = subprocess.check_output(["git", "ls-files", *folders], cwd=ROOT, text=True)
    return [each for each in listed.splitlines() if (ROOT / each).is_file()]


def copy_tracked(to: Path) -> None:
    """Copy all of them into a new folder, as old as they are here."""
    for path in tracked():
        (to / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / path, to / path)
