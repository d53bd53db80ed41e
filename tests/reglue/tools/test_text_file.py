"""Users' text files: with a mark at their beginning, in another encoding, or not to be read."""

from __future__ import annotations

import codecs
import json
from pathlib import Path

import pytest

from env_adapters.configured import read_config
from env_adapters.curricula.schedule_file import read_schedule
from reglue.errors import BadArgument, UsageError
from reglue.net.join_string import join_string
from reglue.tools.text_file import read_text
from reglue_bench.bakeoff import read_bakeoff
from reglue_bench.benchmark.toml_file import TomlFile
from tests.error_facts import raises

BAKEOFF = """
[benchmark]
name = "MT10"
[agents.one]
agent = "random"
[agents.far]
wait = true
token_file = "far.token"
"""


def marked(path: Path, text: str) -> Path:
    """A file as some editors of Windows write it."""
    path.write_bytes(codecs.BOM_UTF8 + text.replace("\n", "\r\n").encode())
    return path


def test_a_benchmarks_file_may_begin_with_a_mark(tmp_path: Path) -> None:
    file = TomlFile.read(marked(tmp_path / "mine.toml", 'procedure = "evaluate"\n'))
    assert file.tables == {"procedure": "evaluate"}


def test_a_bakeoffs_file_and_its_token_may_begin_with_a_mark(tmp_path: Path) -> None:
    marked(tmp_path / "far.token", "sixteen-letters-1\n")
    _, far = read_bakeoff(marked(tmp_path / "bakeoff.toml", BAKEOFF), {})
    assert far.token == "sixteen-letters-1"


@pytest.mark.parametrize("ending", ["toml", "json"])
def test_a_schedule_may_begin_with_a_mark(tmp_path: Path, ending: str) -> None:
    schedule = [["gymnasium:CartPole-v1", 3]]
    text = json.dumps({"schedule": schedule}) if ending == "json" else f"schedule = {schedule}"
    path = marked(tmp_path / f"mine.{ending}", text)
    assert read_schedule(path)["schedule"]


def test_a_config_may_begin_with_a_mark(tmp_path: Path) -> None:
    path = marked(tmp_path / "mine.json", '{"env": "gymnasium:CartPole-v1"}')
    assert read_config(str(path)) == {"env": "gymnasium:CartPole-v1"}


def test_a_join_string_may_begin_with_a_mark(monkeypatch: pytest.MonkeyPatch) -> None:
    """As `$(cat file)` passes it on."""
    monkeypatch.setenv("REGLUE_ADDRESS", "\ufeffreglue://127.0.0.1:9?token=secret\r\n")
    assert join_string().address == "127.0.0.1:9"


def test_another_encoding_is_named(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_bytes("procedure".encode("utf-16"))
    with raises(BadArgument, path, "UTF-8"):
        read_text(path)


def test_a_file_that_cannot_be_read_says_why(tmp_path: Path) -> None:
    with raises(UsageError, tmp_path, "Is a directory"):
        read_text(tmp_path)
