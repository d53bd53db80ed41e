"""A run's folder may come from anywhere: what it names is not run without being asked to."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from env_adapters import SuiteName
from env_adapters.suite_names import Family
from env_adapters.suites import FAMILIES
from reglue_bench import evaluate
from reglue_bench.evaluation import plan_and_start
from reglue_bench.runs.ledger import LedgerReader
from reglue_bench.runs.observer import NullObserver
from reglue_bench.runs.trust import foreign
from reglue_bench.settings import read_settings
from tests.reglue_bench.conftest import Say
from tests.reglue_bench.ledgers import change_fact
from tests.reglue_bench.replay.replay_recordings import with_suite
from tests.reglue_bench.toys import Interrupts

SHORT: dict[str, Any] = {
    "runs": 1,
    "episodes": 1,
    "episode_limit": 5,
    "workers": 0,
    "processes": 1,
}
COMMANDS = {"watch": ["--episode", "0"], "report": ["--pictures"], "bench": ["--resume"]}

Told = Callable[..., tuple[int, str]]


@pytest.fixture
def told(say: Say) -> Told:
    """A command on a folder: its exit code, and what it says."""

    def run(name: str, folder: Path, *words: str) -> tuple[int, str]:
        done = say(name, *words, *COMMANDS[name], folder)
        return done.returncode, done.stdout + re.sub(r"\s+", " ", done.stderr)

    return run


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[], None]:
    """Makes this another user's machine."""
    return lambda: monkeypatch.setenv("REGLUE_CACHE_DIR", str(tmp_path / "another cache"))


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an environment of one's own, which says when it is made, with a run of it
    whose second half is left.
    """
    folder = tmp_path_factory.mktemp("mine")
    (folder / "mine.py").write_text(
        "from pathlib import Path\n"
        "from env_adapters.gymnasium import Gymnasium\n"
        "class Mine(Gymnasium):\n"
        "    def __init__(self):\n"
        "        super().__init__('Acrobot-v1', render_mode='rgb_array')\n"
        "        with Path(__file__).with_name('times').open('a') as file:\n"
        "            file.write('x')\n"
    )
    asked = SHORT | {"runs": 2, "agent": "random", "watcher": Interrupts(2)}
    with pytest.raises(KeyboardInterrupt):
        evaluate(f"online:{folder / 'mine.py'}:Mine", out=folder / "run", **asked)
    return folder


@pytest.fixture
def times(played: Path) -> Path:
    """A file that is there once the environment is made."""
    (played / "times").unlink(missing_ok=True)
    return played / "times"


@pytest.fixture
def mine(played: Path, tmp_path: Path) -> Path:
    """That run, copied."""
    return shutil.copytree(played / "run", tmp_path / "run")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_stranger_s_run_runs_nothing_of_its_own(
    command: str, mine: Path, times: Path, told: Told, elsewhere: Callable[[], None]
) -> None:
    elsewhere()
    code, said = told(command, mine)
    assert code == 2
    assert f"{times.with_name('mine.py')}:Mine" in said
    assert "--trust-code" in said
    assert not times.exists()


@pytest.mark.parametrize("command", COMMANDS)
def test_who_trusts_a_stranger_s_run_runs_it(
    command: str, mine: Path, times: Path, told: Told, elsewhere: Callable[[], None]
) -> None:
    elsewhere()
    assert told(command, mine, "--trust-code")[0] == 0
    assert times.exists()


@pytest.mark.parametrize("command", COMMANDS)
def test_runs_that_were_begun_here_need_no_word(command: str, mine: Path, told: Told) -> None:
    assert told(command, mine)[0] == 0


@pytest.mark.parametrize("command", COMMANDS)
def test_reglue_s_own_environments_are_made_of_any_run(
    command: str, tmp_path: Path, told: Told, elsewhere: Callable[[], None]
) -> None:
    folder = tmp_path / "run"
    arguments = {"max_episode_steps": 4}
    evaluate("online:acrobot", agent="random", out=folder, environment_args=arguments, **SHORT)
    elsewhere()
    code, said = told(command, folder)
    assert code == 0, said


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of mountain car."""
    folder = tmp_path_factory.mktemp("recorded") / "run"
    evaluate("online:mountain-car", agent="random", out=folder, **SHORT)
    return folder


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    "named",
    [
        SuiteName("os:system", {"command": "touch made"}),
        SuiteName("env_adapters.mujoco:import_module", {"name": "made"}),
        SuiteName("MT1:Made", {}),
        SuiteName("gymnasium:make", {"id": "Acrobot-v1"}),
        SuiteName("env_adapters.gymnasium:Gymnasium", {"id": "made:Made-v0"}),
        SuiteName("env_adapters.gymnasium:Gymnasium", {"id": "arcade:Made-v0"}),
        SuiteName("env_adapters.gymnasium:Gymnasium", {"id": "Ant-v5", "xml_file": "/made.xml"}),
        SuiteName("env_adapters.gymnasium:Gymnasium", {"id": "Ant-v5", "xml_file": "made.xml"}),
        SuiteName("env_adapters.gymnasium:Gymnasium", {"id": "Ant-v5", "xml_file": "~/made"}),
        SuiteName("env_adapters.curricula.suite:Schedule", {"schedule": [["os:mkdir", 1]]}),
        SuiteName("env_adapters.curricula.suite:Schedule", {"schedule": [["made.json", 1]]}),
        SuiteName(
            "env_adapters.composed:Composed",
            {"suites": [{"factory": "os:system", "config": {"command": "x"}}], "tasks": {}},
        ),
    ],
)
def test_a_plan_that_was_changed_runs_nothing(
    command: str,
    named: SuiteName,
    recorded: Path,
    tmp_path: Path,
    told: Told,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shutil.copytree(recorded, tmp_path / "run")
    with_suite(tmp_path / "run", named, by_its_user=False)
    for module in ("made", "MT1", "arcade"):
        (tmp_path / f"{module}.py").write_text("from pathlib import Path; Path('made').touch()\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    code, said = told(command, tmp_path / "run")
    assert code == 2
    assert "--trust-code" in said
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("named", [{"agent": "made:Agent"}, {"agent_cmd": "touch made"}])
def test_a_stranger_s_agent_is_not_started(
    tmp_path: Path,
    named: dict[str, str],
    told: Told,
    elsewhere: Callable[[], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "made.py").write_text(
        "from reglue.examples.random_agent import RandomAgent as Agent\n"
        "from pathlib import Path; Path('made').touch()\n"
    )
    folder, [(what, agent)] = tmp_path / "run", named.items()
    program = f"{sys.executable} -m reglue join made:Agent"
    asked = {"agent": agent} if what == "agent" else {"agent_cmd": program}
    settings = read_settings(benchmark="online:mountain-car", **asked, **SHORT)
    plan_and_start(folder, settings, NullObserver())
    (tmp_path / "made").unlink()
    elsewhere()
    code, said = told("bench", folder)
    assert (code, (tmp_path / "made").exists()) == (2, False)
    assert (agent if what == "agent" else program) in said


@pytest.mark.usefixtures("other_families")
@pytest.mark.parametrize(
    "name",
    ["mountain-car", "MT10", "MT1:push-v3", "gymnasium:CartPole-v1", "arcade:pong", "known:7"],
)
def test_environments_whose_families_import_and_read_nothing_are_trusted(name: str) -> None:
    assert [*foreign(name)] == []


@pytest.mark.usefixtures("other_families")
@pytest.mark.parametrize(
    "name",
    [
        "gymnasium:made:Made-v0",  # Gymnasium imports `made`
        "MT1:/made.toml",
        "known:~/made.toml",
        "stranger:7",
        "mountain-car:made",
        "made.py:Made",
        "made:Made",
        "/made.toml",
    ],
)
def test_any_other_name_is_a_strangers(name: str) -> None:
    assert [*foreign({"env": [name]})] == [name]


@pytest.fixture
def other_families(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two of other packages, of which one says that its factory is safe with any plan."""
    stranger = Family(lambda _: SuiteName("made:Made", {}), "of a package", "<size>")
    known = replace(stranger, trusted=("made:Made",))
    monkeypatch.setattr(FAMILIES, "_others", {})
    families = {**FAMILIES.built_in, "stranger": stranger, "known": known}
    monkeypatch.setattr(FAMILIES, "built_in", families)


def test_a_cache_that_keeps_nothing_leaves_runs_to_play(
    mine: Path, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REGLUE_CACHE_DIR", "")
    assert told("watch", mine)[0] == 2
    assert told("watch", mine, "--trust-code")[0] == 0


@pytest.mark.parametrize("command", COMMANDS)
def test_what_a_stranger_wrote_into_a_run_commands_no_terminal(
    command: str, tmp_path: Path, told: Told
) -> None:
    """The ledger's digests can be computed by anybody."""
    folder = tmp_path / "run"
    evaluate("online:mountain-car", agent="random", out=folder, **SHORT)
    (folder / "result.json").unlink()
    strange = "\x1b]0;owned\x07\x1b[31mred\x9b1m"
    with LedgerReader(folder) as ledger:
        about = ledger.about
    plan = json.loads(about["plan"]) | {"benchmark": strange}
    change_fact(folder, "plan", json.dumps(plan))
    for name in about:
        if "name" in name or name.startswith(("version", "machine")):
            change_fact(folder, name, strange)
    _, said = told(command, folder)
    assert "red" in said
    assert not {"\x1b", "\x07", "\x9b"} & {*said}
