"""A result.json says which version it is of."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reglue.errors import UsageError
from reglue_bench.results.result import read_result
from tests.reglue_bench.made_results import make_result


def test_another_version_is_refused_by_its_number(tmp_path: Path) -> None:
    path = make_result().write(tmp_path)
    assert read_result(tmp_path).schema_version == 1
    written = json.loads(path.read_text())
    written["schema_version"] = 2
    del written["score"]  # what a later version may have elsewhere
    path.write_text(json.dumps(written))
    with pytest.raises(UsageError, match=r"result\.json: got version 2 of a result, wanted 1: "):
        read_result(tmp_path)
