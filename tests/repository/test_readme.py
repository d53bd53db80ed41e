"""What README.md shows can be done."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from reglue_bench import evaluate

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


def block(language: str, begins: str) -> str:
    """The only block in that language that begins so."""
    blocks = re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    (found,) = (each for each in blocks if each.startswith(begins))
    return str(found)


def test_the_benchmark_of_ones_own_is_played(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(block("toml", 'name = "mine"'))
    result = evaluate(str(tmp_path / "mine.toml"), agent="random")
    assert result.complete
    assert set(result.success_rate_per_task) == {"easy", "hard"}


def test_the_curriculum_has_its_frames(tmp_path: Path) -> None:
    program = block("python", "from env_adapters.arcade import make_config")
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True, timeout=60)
    assert (tmp_path / "frames.png").is_file()


def test_a_goal_can_be_asked_for() -> None:
    program = block("python", "from env_adapters.goals import")
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_the_agent_and_the_environment_play(tmp_path: Path) -> None:
    for name in ("my_agent.py", "my_env.py"):
        (tmp_path / name).write_text(block("python", f"# {name}"))
    reaching = evaluate("MT1:reach-v3", agent=f"{tmp_path / 'my_agent.py'}:MyAgent", num_episodes=2)
    assert reaching.mean_success_rate == 1.0
    world = f"online:{tmp_path / 'my_env.py'}:MyWorld"
    for size in ({}, {"size": 8}):
        assert evaluate(world, agent="random", runs=2, episodes=3, environment_args=size).complete
