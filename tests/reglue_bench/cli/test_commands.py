"""The commands as a user runs them: what they print, and how they leave."""

from __future__ import annotations

import contextlib
import json
import re
import signal
import sqlite3
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from glue_server.commands.command import Command
from reglue_bench.cli.shared_flags import new_folder
from reglue_bench.results.result import read_result
from reglue_bench.results.scores import PerformanceScore
from reglue_bench.run_folder import LEDGER, WORKER_LOG
from tests.reglue_bench.benching import commanded
from tests.reglue_bench.conftest import Say
from tests.reglue_bench.made_results import make_result
from tests.reglue_bench.toys import AGENTS, Interrupts

pytestmark = pytest.mark.slow

REACH = ["MT1:reach-v3", "--num-episodes", "2", "--episode-horizon", "20", "--workers", "1"]
EXPERT = ["--agent", "expert", "--agent-arg", "task=reach-v3"]
POLE = ["multi-task:cart-pole", "--num-episodes", "2", "--episode-limit", "20", "--workers", "0"]


def reglue(*arguments: str) -> CompletedProcess[str]:
    """A command in a process of its own."""
    command = [sys.executable, "-m", "reglue", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def test_runs_that_begin_together_have_folders_of_their_own() -> None:
    assert len({new_folder("MT10-random") for _ in range(50)}) == 50


@pytest.fixture
def reach(say: Say, tmp_path: Path) -> CompletedProcess[str]:
    """A finished run of Meta-World's expert, in the folder `run`."""
    return say("bench", *REACH, *EXPERT, "--out", "run", "--seed", "3", folder=tmp_path)


def test_bench_plays_a_plan_writes_a_result_and_leaves_it_as_it_is(
    reach: CompletedProcess[str], say: Say
) -> None:
    assert reach.returncode == 0, reach.stderr
    assert reach.stdout.startswith("loading MT1:reach-v3")  # before what takes seconds
    assert "2 of 2 episodes" in reach.stdout
    before = Path("run/result.json").read_bytes()
    result = json.loads(before)
    assert result["seed"] == 3
    assert result["agent"]["name"] == "ExpertAgent"
    played = read_result(Path("run")).episodes
    assert [(row.unit, row.k, row.attempt, row.steps) for row in played] == [
        (0, 0, 0, 20),
        (1, 0, 0, 20),
    ]
    again = say("bench", *REACH, *EXPERT, "--out", "run")
    assert again.returncode == 2
    assert "--resume" in again.stderr
    assert Path("run/result.json").read_bytes() == before
    resumed = say("bench", "--resume", "run")
    assert resumed.returncode == 0, resumed.stderr
    assert "mean over tasks" in resumed.stdout


def test_bench_begins_a_folder_of_its_own_in_runs(say: Say, tmp_path: Path) -> None:
    done = say("bench", *POLE, "--agent", "random", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    (folder,) = (tmp_path / "runs").iterdir()
    assert read_result(folder).complete


def test_an_agent_of_a_file_gets_its_arguments_and_its_checkpoint_is_hashed(
    say: Say, tmp_path: Path
) -> None:
    (tmp_path / "w.npz").write_bytes(b"weights")
    (tmp_path / "still.py").write_text(
        "import numpy as np, reglue\n"
        "class Still(reglue.Agent):\n"
        "    def __init__(self, checkpoint, gain=0.0):\n"
        "        print('gain', gain, open(checkpoint).read())\n"
        "    def agent_start(self, observations, starts): return np.zeros(len(starts), int)\n"
        "    def agent_step(self, rewards, observations, steps): return np.zeros(len(steps), int)\n"
    )
    arguments = ["--agent", "still.py:Still", "--agent-arg", "checkpoint=w.npz"]
    arguments += ["--agent-arg", "gain=0.5", "--label", "still 0.5", "--training-seed", "7"]
    done = say("bench", *POLE, *arguments, "--out", "run", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    agent = read_result(tmp_path / "run").agent
    assert (agent.name, agent.label, agent.training_seed) == ("Still", "still 0.5", 7)
    assert agent.checkpoint_sha256 is not None
    assert "gain 0.5 weights" in (tmp_path / "run" / "agent.log").read_text()


def test_bench_leaves_with_1_when_the_agent_failed(say: Say, tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text(
        "import reglue\n"
        "class Broken(reglue.Agent):\n"
        "    def agent_start(self, observations, starts): raise KeyError('weights')\n"
        "    def agent_step(self, rewards, observations, steps): pass\n"
    )
    arguments = ["--agent", "broken.py:Broken", "--label", "a [/b] name", "--slots", "1"]
    done = say("bench", *POLE, *arguments, "--out", "run", folder=tmp_path)
    assert done.returncode == 1, done.stderr
    assert "PARTIAL: 1 agent_error, 1 missing" in done.stdout
    assert "1 × agent_error: KeyError: 'weights'" in done.stdout
    assert f"a [/b] name on {POLE[0]}" in done.stdout


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_has_a_result_that_says_so(tmp_path: Path, stop: signal.Signals) -> None:
    """Ctrl-C, or a scheduler's word, while it waits for its agent."""
    command = [sys.executable, "-u", "-m", "reglue", "bench", *POLE, "--agent", "wait"]
    with subprocess.Popen(
        [*command, "--out", str(tmp_path / "run")], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert any("reglue join" in line for line in process.stdout)
        process.send_signal(stop)
        assert "ended early, interrupted" in process.stdout.read()
    assert process.returncode == 130
    ended = read_result(tmp_path / "run").ended_early
    assert ended is not None
    assert ended.status == "interrupted"


def test_nothing_is_left_running_after_a_run(tmp_path: Path) -> None:
    words = [*POLE, "--workers", "1", "--agent", "random"]
    with commanded(["bench", *words, "--out", str(tmp_path / "run")]) as command:
        code, said = command.ended()
        assert code == 0, said
        assert not command.left_behind()


ONLINE = [
    "online:tests.worlds:Corridor",
    *("--environment-arg", 'solved={"walk": [0]}', "--workers", "0"),
]
LEARNER = ["--agent", f"{AGENTS}:Learner"]


def test_bench_plays_runs_of_an_agent_that_learns_and_draws_them(say: Say, tmp_path: Path) -> None:
    folder = str(tmp_path / "run")
    few = ["--runs", "2", "--episodes", "4", "--metric", "final:2"]
    done = say("bench", *ONLINE, *LEARNER, *few, "--out", folder)
    assert done.returncode == 0, done.stderr
    assert "performance: mean return over the last 2 episodes of a run" in done.stdout
    assert "each run has an agent process of its own" in done.stdout
    online = read_result(tmp_path / "run").score_as(PerformanceScore)
    assert online is not None
    assert online.performance == pytest.approx(5.125)
    assert say("report", folder).returncode == 0
    assert "Learning curve" in (tmp_path / "run" / "report.html").read_text()


def test_bench_leaves_with_1_when_a_run_was_lost(say: Say, tmp_path: Path) -> None:
    fuse = tmp_path / "fuse"
    fuse.touch()
    arguments = ["--agent", f"{AGENTS}:FailsOnce", "--agent-arg", f"fuse={fuse}"]
    arguments += ["--agent-arg", "how=exits", "--runs", "2", "--episodes", "3"]
    done = say("bench", *ONLINE, *arguments, "--out", str(tmp_path / "run"))
    assert done.returncode == 1, done.stderr
    assert "not played to their end: 1 agent_disconnected, of 2 runs" in done.stdout
    assert "no score: the agent's own fault ended 1 of 2 runs" in done.stdout
    assert "the 1 completed run alone: " in done.stdout


def test_a_program_reads_one_json_document(say: Say, tmp_path: Path) -> None:
    tried = say("try", *ONLINE, *LEARNER, "--json")
    assert json.loads(tried.stdout)["ready"] is True
    assert "ready: reglue bench" in tried.stderr
    assert "played 120 short episodes in 2 runs, 1 at once" in tried.stderr
    short = ["--runs", "1", "--episodes", "2", "--out", str(tmp_path / "run")]
    played = say("bench", *ONLINE, *LEARNER, "--json", *short)
    assert json.loads(played.stdout) == json.loads((tmp_path / "run/result.json").read_text())


PRINTS = """
import os
import gymnasium, numpy as np

print("banner of a simulator")

class Prints(gymnasium.Env):
    observation_space = action_space = gymnasium.spaces.Discrete(2)

    def reset(self, **_):
        print("reset")
        return 0, {}

    def step(self, action):
        print("step", flush=True)
        os.write(1, b"raw")
        return 0, 1.0, True, False, {}

def still(seen):
    print("thinking")
    return np.zeros(len(seen), np.int64)
"""


@pytest.mark.parametrize("workers", ["0", "1"])
def test_what_user_code_prints_does_not_spoil_the_document(
    say: Say, tmp_path: Path, workers: str
) -> None:
    file = tmp_path / "prints.py"
    file.write_text(PRINTS)
    words = [f"evaluate:{file}:Prints", "--agent", f"{file}:still", "--workers", workers, "--json"]
    played = say("bench", *words, "--num-episodes", "2", "--out", tmp_path / "run")
    assert json.loads(played.stdout)["complete"] is True
    assert "banner" in played.stderr
    assert json.loads(say("try", *words).stdout)["ready"] is True
    told = say("benchmarks", f"evaluate:{file}:Prints", "--json")
    assert json.loads(told.stdout)["name"] == f"evaluate:{file}:Prints"


CRASHES = """
import ctypes

from gymnasium.envs.classic_control import CartPoleEnv


class Crashes(CartPoleEnv):
    def step(self, action):
        ctypes.string_at(0)
"""


@pytest.mark.parametrize("wrote", [True, False], ids=["", "before the ledger had its unit"])
def test_a_crash_in_this_process_names_its_lines_and_is_resumed_in_workers(
    tmp_path: Path, *, wrote: bool
) -> None:
    file, run = tmp_path / "crashes.py", tmp_path / "run"
    file.write_text(CRASHES)
    words = [f"evaluate:{file}:Crashes", "--agent", "random", "--num-episodes", "1"]
    played = reglue("bench", *words, "--out", str(run))
    assert played.returncode == -signal.SIGSEGV
    assert "Segmentation fault" in played.stderr
    assert f'"{file}", line 9 in step' in played.stderr
    assert "Thread 0x" not in played.stderr, "no other thread crashed"
    if not wrote:
        with contextlib.closing(sqlite3.connect(run / LEDGER)) as ledger, ledger:
            ledger.execute("DELETE FROM begun")
    resumed = reglue("bench", "--resume", str(run))
    assert resumed.returncode == 1
    assert f'"{file}", line 9 in step' in (run / WORKER_LOG).read_text()
    [row] = read_result(run).episodes
    assert row.status == "crashed"


def test_help_shows_ten_flags_that_most_people_need_first(say: Say) -> None:
    for command in ("bench", "try"):
        text = say(command, "--help").stdout
        first, *panels = text.partition("─ Options ─")[2].split("\n╭─ ")
        assert len(re.findall(r"^│ +--(?!help)", first, re.MULTILINE)) <= 10
        assert {panel.partition(" ─")[0] for panel in panels} >= {
            "Time limits (an agent that exceeds one fails)",
            "Hosting: who may connect, and how",
        }


@pytest.mark.parametrize("command", [each.name for each in entry_points(group="reglue.commands")])
def test_every_command_says_its_exit_codes(say: Say, command: str) -> None:
    assert re.search(r"exit codes: ?0", " ".join(say(command, "--help").stdout.split()), re.I)


def test_the_help_of_every_command_and_of_every_group_has_an_example(say: Say) -> None:
    helps = {"reglue": say("--help").stdout}
    for point in entry_points(group="reglue.commands"):
        command = point.load()
        if isinstance(command, Command):
            helps |= helps_of(f"reglue {point.name}", command.click)
        else:
            helps[f"reglue {point.name}"] = say(point.name, "--help").stdout.partition("\n\n")[2]
    assert [words for words, text in helps.items() if not re.search(rf"\b{words}\b", text)] == []
    assert len(helps) > 60


def helps_of(words: str, command: Any) -> dict[str, str]:
    """The help of a command and of those below it, by its words."""
    below = getattr(command, "commands", {})
    helps = [helps_of(f"{words} {name}", each) for name, each in below.items()]
    return {words: command.help} | {name: text for each in helps for name, text in each.items()}


def test_try_is_interrupted_and_says_nothing_of_the_agent(
    say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reglue_bench.terminal.progress.watcher", lambda _: Interrupts(2))
    done = say("try", *ONLINE, *LEARNER)
    assert (done.returncode, done.stdout) == (130, "")


def test_try_says_what_would_fail_and_why(say: Say, tmp_path: Path) -> None:
    (tmp_path / "short.py").write_text(
        "import numpy as np, reglue\n"
        "class Short(reglue.Agent):\n"
        "    def agent_start(self, observations, starts): return np.zeros((len(starts), 3))\n"
        "    def agent_step(self, rewards, observations, steps): return np.zeros((len(steps), 3))\n"
    )
    done = say("try", "MT1:reach-v3", "--agent", "short.py:Short", "--slots", "10", folder=tmp_path)
    assert done.returncode == 1
    assert "got shape (10, 3), wanted (10, 4): one row for each slot" in done.stdout
    assert "the run would fail" in done.stdout


def test_try_plays_a_meta_learner_through_a_wave(say: Say) -> None:
    words = ["ML1:reach-v3", "--agent", "reach_adapt", "--meta-batch-size", "2", "--workers", "0"]
    done = say("try", *words)
    assert done.returncode == 0, done.stdout
    assert "played 6 short episodes in 1 wave, 2 at once" in done.stdout


def test_a_run_that_is_named_twice_is_drawn_once(say: Say, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    make_result().write(tmp_path / "run")
    done = say("report", "run", str(tmp_path / "run"), folder=tmp_path)
    assert done.returncode == 0, done.stderr
    said, page = done.stdout.splitlines()
    assert said == "a folder was given twice: its run is drawn once"
    assert "Compared with" not in (tmp_path / page).read_text()
