"""`.ci/unless-passed`: what passed with the same files is not checked again on this machine."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.repository.pages import ROOT

A_WEEK_S = 7 * 24 * 3600.0


class Checks:
    """A checkout with a file that is checked, and one that is not; each check adds a letter."""

    def __init__(self, folder: Path) -> None:
        self.checkout = folder / "checkout"
        self.passed = folder / "cache/reglue-checks"
        self.ran = folder / "ran"
        (self.checkout / "read").mkdir(parents=True)
        (self.checkout / "read/a.py").write_text("a = 1\n")
        (self.checkout / "other.py").write_text("b = 1\n")
        (self.checkout / ".gitignore").write_text("*.o\n")
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("MAKE")},
            "XDG_CACHE_HOME": str(folder / "cache"),
        }
        for words in (["init", "--quiet"], ["add", "."]):
            subprocess.run(["git", *words], cwd=self.checkout, check=True)

    def ran_again(self, and_then: str = "true", *, name: str = "a", **more: str) -> bool:
        """Whether it ran at one more call."""
        before, check = self.times(), f"echo >>{self.ran}; {and_then}"
        subprocess.run(
            [ROOT / ".ci/unless-passed", name, "read", "sh", "-c", check],
            cwd=self.checkout,
            env=self.environment | more,
            check=False,
            capture_output=True,
        )
        return self.times() > before

    def times(self) -> int:
        return len(self.ran.read_text()) if self.ran.exists() else 0


@pytest.fixture
def checks(tmp_path: Path) -> Checks:
    return Checks(tmp_path)


def test_what_passed_is_not_checked_again(checks: Checks) -> None:
    assert checks.ran_again()
    assert not checks.ran_again()
    (checks.checkout / "other.py").write_text("b = 2\n")
    (checks.checkout / "read/a.o").write_text("ignored")
    assert not checks.ran_again()


def new_file(checkout: Path) -> None:
    (checkout / "read/new.py").write_text("")


def another_mode(checkout: Path) -> None:
    (checkout / "read/a.py").chmod(0o755)
    subprocess.run(["git", "add", "."], cwd=checkout, check=True)


@pytest.mark.parametrize(
    "change",
    [
        lambda checkout: (checkout / "read/a.py").write_text("a = 2\n"),
        lambda checkout: (checkout / "read/a.py").rename(checkout / "read/b.py"),
        lambda checkout: (checkout / "read/a.py").unlink(),
        new_file,
        another_mode,
    ],
    ids=["content", "name", "removed", "new", "mode"],
)
def test_other_files_are_checked(checks: Checks, change: Callable[[Path], object]) -> None:
    assert checks.ran_again()
    change(checks.checkout)
    assert checks.ran_again()
    assert not checks.ran_again()


def test_another_check_and_another_command_are_not_the_same(checks: Checks) -> None:
    assert checks.ran_again()
    assert checks.ran_again(name="b")
    assert checks.ran_again("exit 0")


def test_a_failure_is_no_pass(checks: Checks) -> None:
    assert checks.ran_again("exit 3")
    assert checks.ran_again("exit 3")


def test_files_that_change_meanwhile_have_not_passed(checks: Checks) -> None:
    assert checks.ran_again("echo >>read/a.py")
    assert checks.ran_again("echo >>read/a.py")


def test_a_pass_holds_for_a_week(checks: Checks) -> None:
    assert checks.ran_again()
    (passed,) = checks.passed.iterdir()
    os.utime(passed, times=(0, time.time() - A_WEEK_S - 24 * 3600))
    assert checks.ran_again()


def test_anew_checks_in_any_case(checks: Checks) -> None:
    assert checks.ran_again()
    assert checks.ran_again(ANEW="1")


def test_a_dry_run_passes_nothing(checks: Checks) -> None:
    """make carries out its recursive lines also then."""
    assert checks.ran_again(MAKEFLAGS="n -j6")
    assert checks.ran_again(MAKEFLAGS="--no-print-directory")
    assert not checks.ran_again()
    assert checks.ran_again(MAKEFLAGS="n")
