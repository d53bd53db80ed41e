"""A copy of the tree, into which a fault is put, and where tests then run in a sandbox."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_NEEDS = "chromium or clients or images or postgresql or ray or sandbox"
FAST, SLOW, ANY = f"not ({_NEEDS} or slow)", f"slow and not ({_NEEDS})", f"not ({_NEEDS})"
"""Marks of tests that need nothing beside Python."""

_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S.*?)(?: - |$)", re.MULTILINE)
_TRIES = 3
_MEMORY = 8 << 30  # bytes of one process


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on a fault."""

    word: str  # found, unconfirmed, survived or not judged
    by: str = ""  # the test that found it


class Copy:
    """A copy of a tree with a Python of its own, which imports from the copy.

    Args:
        root: the tree.
        folder: where the copy is made.
        roots: folders from which modules are imported, relative to the tree.
        limit_s: for one run of tests.

    """

    def __init__(self, root: Path, folder: Path, roots: Sequence[str], limit_s: float) -> None:
        self._folder, self._limit_s = folder, limit_s
        words = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        for name in subprocess.check_output(words, cwd=root, text=True).split("\0"):
            if name and (root / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(root / name, folder / name)
        venv = folder / ".venv"
        subprocess.check_call([sys.executable, "-m", "venv", "--without-pip", venv])
        self._python = venv / "bin/python"
        (packages,) = venv.glob("lib/python*/site-packages")
        paths = [*(str(folder / each) for each in roots), sysconfig.get_path("purelib")]
        (packages / "copy.pth").write_text("\n".join(paths))
        for script in Path(sys.executable).parent.iterdir():
            text = script.read_bytes()
            ours = venv / "bin" / script.name
            if text.startswith(f"#!{sys.executable}\n".encode()) and not ours.exists():
                ours.write_bytes(text.replace(sys.executable.encode(), bytes(self._python), 1))
                ours.chmod(0o755)

    def judge(self, path: str, wrong: str, tests: Sequence[str], marks: str) -> Verdict:
        """Run tests with a fault; one that fails with it and passes without has found it."""
        file = self._folder / path
        right = file.read_text(encoding="utf-8")
        unfit: list[str] = []
        for _ in range(_TRIES if tests else 0):
            file.write_text(wrong, encoding="utf-8")
            try:
                failed = self._failing(tests, unfit, marks)
            finally:
                file.write_text(right, encoding="utf-8")
            if not failed:
                return Verdict("survived")
            if not self._failing(failed, unfit, marks):
                return Verdict("found", " ".join(failed))
            if failed == [*tests]:
                break
            unfit += failed
        return Verdict("not judged", " ".join(unfit)) if tests else Verdict("survived")

    def _failing(self, tests: Sequence[str], but: Sequence[str], marks: str) -> list[str]:
        """The first test that fails; all where time was up, or none was named."""
        words = ["-x", "-q", "-p", "no:cacheprovider", "-m", marks]
        with subprocess.Popen(
            [*self._sandbox(), "-m", "pytest", *words, *(f"--deselect={n}" for n in but), *tests],
            cwd=self._folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as process:
            try:
                out, _ = process.communicate(timeout=self._limit_s)
            except subprocess.TimeoutExpired:
                process.kill()
                return [*tests]
        if process.returncode in (0, 5):  # 5: no test is left
            return []
        return _FAILED.findall(out)[:1] or [*tests]

    def _sandbox(self) -> list[str]:
        """Only the copy can be written to; no process sees others or outlives the first."""
        folder = str(self._folder)
        limits = ["prlimit", f"--data={_MEMORY}"]
        shared = ["--ro-bind", "/", "/", "--dev-bind", "/dev", "/dev", "--tmpfs", "/dev/shm"]
        packages = sysconfig.get_path("purelib")  # which may stand in /tmp, too
        own = ["--tmpfs", "/tmp", "--ro-bind", packages, packages, "--bind", folder, folder]
        alone = ["--proc", "/proc", "--unshare-pid", "--die-with-parent"]
        return [*limits, "bwrap", *shared, *own, *alone, str(self._python)]
