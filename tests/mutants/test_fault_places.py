"""Faults are put where code decides something, and nowhere else."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.mutants.__main__ import ROOT
from tests.mutants.fault_places import draw

REAL = "glue_server/routines"


def faults_of(folder: Path, body: str) -> set[str]:
    """The faults of a function's lines, each by its kind."""
    text = "def f(a, b=None):\n" + "".join(f"    {line}\n" for line in body.splitlines())
    (folder / "module.py").write_text(text)
    return {f"{fault.kind}: {fault.after}" for fault in draw(folder, ".", 99, seed=1)}


@pytest.mark.parametrize(
    ("body", "faults"),
    [
        ("a < b", {"comparison: (a <= b)"}),
        ("a is not b", {"comparison: (a is b)"}),
        ("a or b", {"and/or: (a and b)"}),
        ("while a: pass", {"condition negated: (not (a))"}),
        ("not a", {"not dropped: (a)"}),
        ("a + b", {"arithmetic: (a - b)"}),
        ("a = 2, True", {"constant: 3", "constant: False"}),
        ("a(b)", {"call dropped: pass"}),
        ("c = a(b=b)", {"keyword dropped: (a())"}),
        ("c = a(b, c)", {"arguments swapped: (a(c, b))"}),
        ("raise a(not b)", {"raise dropped: pass"}),
        ("return a", {"return None: return None"}),
        ("while a():\n    break", {"condition negated: (not (a()))", "jump dropped: pass"}),
    ],
)
def test_each_kind_of_fault(tmp_path: Path, body: str, faults: set[str]) -> None:
    assert faults_of(tmp_path, body) == faults


@pytest.mark.parametrize(
    "body",
    [
        '"""A docstring."""',
        "a: Literal[2]",
        "assert a, b - 1",
        "a = f'{b + 1} of them'",
        "a = 'text' + b",
        "log.warning('%d', a + 1)",
        "self._say('so', a + 1)",
        "return None",
        "c = a(*b, c)",
    ],
)
def test_texts_types_and_what_is_told_stay(tmp_path: Path, body: str) -> None:
    assert faults_of(tmp_path, body) == set()


def test_faults_of_methods_and_of_lines_with_other_letters_are_in_their_place(
    tmp_path: Path,
) -> None:
    text = "class C:\n    def g(self):\n        self.λ = ('é', self.λ +\n            1)  # é\n"
    (tmp_path / "module.py").write_text(text)
    found = draw(tmp_path, ".", 99, seed=1)
    assert {(fault.function, fault.line, fault.after): each for fault, each in found.items()} == {
        ("C.g", 3, "(self.λ - 1)"): text.replace("self.λ +\n            1", "(self.λ - 1)"),
        ("C.g", 4, "2"): text.replace("1)", "2)"),
    }


def test_a_seed_draws_the_same_faults_of_real_code() -> None:
    drawn = draw(ROOT, REAL, 40, seed=7)
    assert len(drawn) == 40
    assert drawn == draw(ROOT, REAL, 40, seed=7)
    assert drawn.keys() != draw(ROOT, REAL, 40, seed=8).keys()
    for fault, wrong in drawn.items():
        right = (ROOT / fault.path).read_text(encoding="utf-8")
        assert ast.dump(ast.parse(wrong)) != ast.dump(ast.parse(right)), fault.name
