"""The results of the pages' examples."""

from __future__ import annotations

import re
from itertools import chain
from pathlib import Path

from reglue_bench import evaluate
from tests.repository.pages import blocks


def write(page: str, title: str, folder: Path) -> Path:
    """The block of that title, as a file."""
    (text,) = (block.text for block in blocks(page) if block.title == title)
    path = folder / title
    path.write_text(text, encoding="utf-8")
    return path


def test_the_benchmark_of_ones_own_has_its_tasks(tmp_path: Path) -> None:
    file = write("docs/how-to/own-benchmark.md", "mine.toml", tmp_path)
    result = evaluate(str(file), agent="random")
    assert result.complete
    assert set(result.success_rate_per_task) == {"easy", "hard"}


def test_the_agent_of_the_readme_reaches_every_goal(tmp_path: Path) -> None:
    file = write("README.md", "my_agent.py", tmp_path)
    result = evaluate("MT1:reach-v3", agent=f"{file}:MyAgent", num_episodes=2)
    assert result.mean_success_rate == 1.0


def test_the_readme_is_short() -> None:
    text = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 150


def test_the_map_of_the_code_names_what_exists() -> None:
    root = Path(__file__).parents[2]
    text = (root / "docs/explanation/code.md").read_text(encoding="utf-8")
    paths = re.findall(r"`([\w.]+/[\w./]*)`", text)
    assert len(paths) > 20
    for path in paths:
        assert (root / path).exists() or (root / "agent_clients/python" / path).exists(), path


def test_every_environment_variable_is_listed() -> None:
    """Those that the packages read."""
    root = Path(__file__).parents[2]
    packages = ("agent_clients/python/reglue", "benchmarks/reglue_bench", "env_adapters")
    sources = chain(*((root / each).rglob("*.py") for each in (*packages, "glue_server")))
    found = {
        name
        for path in sources
        for name in re.findall(r"[\"$](REGLUE_[A-Z_]+[A-Z])\b", path.read_text(encoding="utf-8"))
    }
    page = (root / "docs/reference/environment-variables.md").read_text(encoding="utf-8")
    assert found - {"REGLUE_TOKEN_FAR"} <= set(re.findall(r"`(REGLUE_\w+)`", page))
