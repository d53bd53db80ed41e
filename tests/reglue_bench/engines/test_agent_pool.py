"""A run goes on with the code that began it."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest

from reglue.errors import PlanDiffers
from reglue_bench.evaluation import resume
from reglue_bench.runs.observer import NullObserver
from reglue_bench.runs.run import Request, begin, check_same
from reglue_bench.settings import Settings
from tests.error_facts import raises
from tests.reglue_bench.toys import corridor_plan

CODE = b"raise SystemExit('not to be run')"


@pytest.mark.parametrize(
    ("agent", "file", "fact"),
    [
        ({"agent": "mine.py:Mine"}, "mine.py", "mine.py"),
        ({"agent": "package.inner:Mine"}, "package/inner.py", "package.inner"),
        ({"agent_cmd": "bin/program --fast"}, "bin/program", "bin/program"),
        ({"agent_cmd": "python3 mine.py weights.bin"}, "mine.py", "mine.py"),
    ],
)
def test_an_agent_whose_file_was_changed_does_not_go_on(
    tmp_path: Path, agent: dict[str, str], file: str, fact: str
) -> None:
    for name in ("mine.py", "bin/program", "package/__init__.py", "package/inner.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(CODE)
    settings = Settings(benchmark="corridor", directory=str(tmp_path), **agent)
    begin(tmp_path / "run", Request(settings, corridor_plan())).close()
    (tmp_path / file).write_bytes(b"pass")
    digests = [sha256(code).hexdigest()[:16] for code in (CODE, b"pass")]
    with raises(PlanDiffers, f"agent file {fact}", *digests):
        resume(tmp_path / "run", NullObserver())


def test_a_file_of_the_agent_that_is_new_since_is_not_to_change_from_then_on(
    tmp_path: Path,
) -> None:
    settings = Settings(benchmark="corridor", directory=str(tmp_path), agent_cmd="true mine.py")
    request = Request(settings, corridor_plan())
    with begin(tmp_path / "run", request) as ledger:
        (tmp_path / "mine.py").write_bytes(CODE)
        check_same(ledger, request)
        (tmp_path / "mine.py").write_bytes(b"pass")
        with raises(PlanDiffers, "agent file mine.py"):
            check_same(ledger, request)


def test_what_a_program_writes_meanwhile_is_not_its_code(tmp_path: Path) -> None:
    settings = Settings(
        benchmark="corridor", directory=str(tmp_path), agent_cmd="true --log out.txt"
    )
    (tmp_path / "out.txt").touch()
    with begin(tmp_path / "run", Request(settings, corridor_plan())) as ledger:
        assert not [name for name in ledger.about if name.startswith("agent file")]
