"""Runs what an ordinary user would run, also where root's folders hold Python and the sources."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
UID = 12345


def as_ordinary_user() -> list[str]:
    """The beginning of a command that a user who owns nothing runs. Needs root."""
    who = [f"--reuid={UID}", f"--regid={UID}", "--clear-groups", "--"]
    return [*open_machine(), "setpriv", *who]


def open_machine() -> list[str]:
    """Runs a command where folders that only root may enter have what we need, and are open."""
    words = ["bwrap", "--bind", "/", "/", "--dev-bind", "/dev", "/dev"]
    needed = {Path(each).resolve() for each in (sys.prefix, sys.base_prefix, ROOT)}
    for path in sorted(needed):
        closed = next((p for p in reversed(path.parents) if not p.stat().st_mode & 0o001), None)
        if closed is None:
            continue
        words += ["--perms", "0755", "--tmpfs", str(closed)]
        for inner in (each for each in needed if each.is_relative_to(closed)):
            for above in reversed(inner.parents):
                if above.is_relative_to(closed):
                    words += ["--dir", str(above)]
            words += ["--ro-bind", str(inner), str(inner)]
    return [*words, "--"]
