"""The whole program on a small tree: what is found, what survives, and what is left behind."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.leftovers import child_processes
from tests.mutants import __main__ as mutants
from tests.mutants.trials import FAST, Copy, Verdict

pytestmark = pytest.mark.sandbox

FILES = {
    "pyproject.toml": '[tool.pytest.ini_options]\npythonpath = [".", "lib"]\n'
    'markers = ["slow"]\naddopts = ["--import-mode=importlib"]\n',
    "lib/shop/prices.py": "def total(a, b):\n    return a + b\n\n\n"
    "def unused(a):\n    return not a\n",
    "tests/shop/test_prices.py": "from shop.prices import total\n\n\n"
    "def test_a_total():\n    assert total(2, 3) == 5\n\n\n"
    "def test_that_never_holds():\n    raise AssertionError\n",
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / "tree" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "tree" / name).write_text(text)
    subprocess.check_call(["git", "init", "--quiet"], cwd=tmp_path / "tree")
    return tmp_path / "tree"


def run(tree: Path, capsys: pytest.CaptureFixture[str], **options: Any) -> list[str]:
    """The program's output for one job."""
    out = tree.parent / "verdicts.jsonl"
    mutants.main(faults=9, seed=1, package="lib/shop", jobs=1, out=out, root=tree, **options)
    return capsys.readouterr().out.splitlines()


def test_faults_are_found_or_survive_once_and_for_all(
    tree: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A test that fails without a fault finds none. The tree itself stays as it is."""
    told = run(tree, capsys)
    at = "lib/shop/prices.py: unused: not dropped: not a → (a)"
    by = "tests/shop/test_prices.py::test_a_total"
    added = f"lib/shop/prices.py: total: arithmetic: a + b → (a - b) {by}"
    assert [line for line in told if added in line and ": found: " in line]
    assert [line for line in told if at in line and ": unconfirmed: " in line]
    row = "| lib/shop | 4 | 2 | {} | 0 | 0 | {} | 2 of {}: "
    assert row.format(2, 0, 4) in "\n".join(told)
    assert f"- survived: `{at}`" in told

    (tmp_path / "equivalent.txt").write_text(f"# By reading.\n{at}\n")
    monkeypatch.setattr(mutants, "EQUIVALENT", tmp_path / "equivalent.txt")
    kept = (tmp_path / "verdicts.jsonl").read_text()
    again = run(tree, capsys)
    assert again[0].startswith("| package")  # nothing was tried
    assert row.format(1, 1, 3) in "\n".join(again)
    assert f"- survived: `{at}`" not in again
    assert (tmp_path / "verdicts.jsonl").read_text() == kept
    for name, text in FILES.items():
        assert (tree / name).read_text() == text


def test_a_run_that_is_stopped_goes_on(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "| lib/shop | 4 | 0 | 0 | 0 | 4 |" in "\n".join(run(tree, capsys, minutes=0.0))
    assert "| lib/shop | 4 | 2 | 2 | 0 | 0 |" in "\n".join(run(tree, capsys))


def test_what_takes_too_long_is_not_judged_and_ended(tree: Path, tmp_path: Path) -> None:
    (tree / "tests/shop/test_prices.py").write_text(
        "import time\n\n\ndef test_that_never_ends():\n    time.sleep(3600)\n"
    )
    before = child_processes()
    copy = Copy(tree, tmp_path / "copy", [".", "lib"], limit_s=0.5)
    verdict = copy.judge("lib/shop/prices.py", "", ["tests/shop/test_prices.py"], FAST)
    assert verdict == Verdict("not judged")
    assert child_processes() <= before


def test_a_package_that_does_not_exist_is_named(tree: Path) -> None:
    with pytest.raises(Exception, match="got lib/shoe, wanted some of reglue, "):
        mutants.main(faults=1, package="lib/shoe", root=tree)
