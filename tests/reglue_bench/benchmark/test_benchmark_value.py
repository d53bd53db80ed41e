"""A benchmark is a value: made once, without a secret and without an environment."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from reglue.errors import UsageError
from reglue_bench.benchmark.benchmark import Benchmark, source_of
from reglue_bench.settings import read_settings
from tests.error_facts import raises
from tests.reglue_bench.benchmark.settings_walk import ROOT, returns, walk

SECRET = "a secret of sixteen characters or more"
FILE = 'procedure = "online"\nepisodes = 5\nenvironment = "nowhere.py:Nothing"\n'


@pytest.mark.parametrize("name", ["MT10", "online:nowhere.py:Nothing", "online:wait", "it.toml"])
def test_a_benchmark_may_be_logged_and_compared(name: str, tmp_path: Path) -> None:
    (tmp_path / "it.toml").write_text(FILE, encoding="utf-8")
    one, other = (
        Benchmark.of(read_settings(benchmark=name, directory=str(tmp_path), secret=secret))
        for secret in (SECRET, None)
    )
    assert one == other
    assert SECRET not in repr(one)
    assert one.source.procedure == ("multi-task" if name == "MT10" else "online")


def test_a_resolved_benchmark_says_its_spec_and_a_secret_changes_its_plan_alone() -> None:
    benchmark = Benchmark.of(read_settings(benchmark="online:mountain-car"))
    public, keyed = benchmark.resolve(), benchmark.resolve(SECRET)
    assert public.spec == keyed.spec is not None
    assert public.plan.cells != keyed.plan.cells
    assert dict(public.plan.variants) == dict(benchmark.facts().variants)


def test_an_environment_that_connects_needs_no_workers() -> None:
    with raises(UsageError, "online:wait", settings={"workers"}):
        Benchmark.of(read_settings(benchmark="online:wait", workers=2))


def test_one_class_is_called_benchmark() -> None:
    called = re.compile(r"^class Benchmark\b", re.MULTILINE)
    folders = (ROOT / name for name in ("benchmarks", "competition", "env_adapters", "glue_server"))
    sources = [file.read_text(encoding="utf-8") for each in folders for file in each.rglob("*.py")]
    assert sum(len(called.findall(text)) for text in sources) == 1


def test_settings_walk_to_a_plan_without_wandering() -> None:
    stays = walk("MT10")
    assert len(stays) <= 25
    assert returns(stays) <= 8


@pytest.mark.parametrize(
    ("name", "calls"),
    [
        ("evaluate:openenv:http://127.0.0.1:1", True),
        ("online:dm-env-rpc:127.0.0.1:1", True),
        ("MT1:reach-v3", False),
        ("online:mountain-car", False),
        ("online:file.py:Class", False),
        ("all.toml", True),
        ("tasks.toml", True),
        ("local.toml", False),
    ],
)
def test_whether_facts_wait_for_another_programs_server_is_known_before(
    tmp_path: Path, name: str, calls: bool
) -> None:
    """Also of benchmarks' files, of whose tasks one may be such a server's."""
    server = "openenv:http://127.0.0.1:1"
    for file, environments in (
        ("all.toml", f'environment = "{server}"'),
        (
            "tasks.toml",
            'environment = "mountain-car"\n[tasks.a]\n[tasks.b]\n' + f'environment = "{server}"',
        ),
        ("local.toml", 'environment = "mountain-car"'),
    ):
        (tmp_path / file).write_text(f'procedure = "online"\n{environments}\n')
    settings = read_settings(benchmark=name, directory=str(tmp_path))
    assert source_of(settings).calls_server is calls
