"""A bake-off: agents in processes of their own, over one plan."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from glue_server.rpc import GlueServer, PrivateLobby
from reglue.errors import CannotLoad, PlanDiffers, RunExists, UsageError
from reglue_bench.formatting import p_value, points
from reglue_bench.measures.compare import compare_all
from reglue_bench.results.result import Result, read_result
from tests.error_facts import raises
from tests.leftovers import nothing_left
from tests.reglue_bench.bakeoffs import (
    BENCHMARK,
    agent,
    bake,
    surroundings,
    write,
)
from tests.reglue_bench.conftest import Say
from tests.reglue_bench.toys import cells, joining, rows

pytestmark = pytest.mark.slow

ONLINE = """
[benchmark]
name = "online:tests.worlds:Corridor"
environment_args = { solved = { walk = [0] } }
runs = 2
episodes = 4
workers = 1
"""
IN_WORKERS = BENCHMARK.replace("workers = 0", "workers = 1")
STILL = '[agents.still]\nagent = "constant"\n'


@pytest.fixture
def run(say: Say) -> Say:
    """`reglue bakeoff` of a file, into the folder `out` beside it."""
    return lambda path, *more: say("bakeoff", path, "--out", path.parent / "out", *more)


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Agents' programs import what this process can."""
    monkeypatch.setenv("PYTHONPATH", surroundings()["PYTHONPATH"])


@pytest.mark.parametrize("at_once", [1, 3])
def test_every_agent_plays_the_same_plan_in_a_process_of_its_own(
    tmp_path: Path, at_once: int
) -> None:
    program = f'[agents.program]\nagent_cmd = "{joining("Seeded")}"\n'
    path = write(tmp_path, agent("seeded"), program, STILL, benchmark=IN_WORKERS)
    with nothing_left():
        results = bake(path, at_once=at_once)
    assert [*results] == ["seeded", "program", "still"]
    assert len({result.plan_sha256 for result in results.values()}) == 1
    assert all(result.complete and not result.faults for result in results.values())
    assert rows(results["seeded"]) != rows(results["program"])  # as start seeds are each one's own
    assert rows(results["seeded"]) != rows(results["still"])


def test_the_table_and_the_page_are_those_of_the_report(say: Say, run: Say, tmp_path: Path) -> None:
    path = write(tmp_path, agent("seeded"), STILL, agent("raises", "Raises"))
    done = run(path, "--json")
    assert done.returncode == 1, done.stderr
    folders = [tmp_path / "out" / name for name in ("seeded", "still", "raises")]
    again = say("report", *folders, "--json", "--out", tmp_path / "again.html")
    assert again.returncode == 0
    assert done.stdout == again.stdout
    pairs = json.loads(done.stdout)["comparisons"]
    assert {each["reference"] for each in pairs} == {"seeded", "still"}
    page = (tmp_path / "out" / "report.html").read_bytes()
    assert page == (tmp_path / "again.html").read_bytes()
    results = [read_result(folder) for folder in folders]
    found = compare_all(results)
    for place in (1, 2):
        each = found[place, 0]
        assert each.interval95 is not None
        assert each.p_holm is not None
        for figure in (
            points(each.difference),
            " to ".join(map(points, each.interval95)),
            p_value(each.p_holm),
        ):
            assert figure in done.stderr
            assert figure in page.decode()


def test_an_agent_that_fails_does_not_stop_the_others(run: Say, tmp_path: Path) -> None:
    broken = '[agents.absent]\nagent = "nothing.py:Nobody"\n'
    program = '[agents.leaves]\nagent_cmd = "false"\n'
    path = write(tmp_path, agent("exits", "Exits"), broken, program, agent("seeded"))
    done = run(path)
    assert done.returncode == 1, done.stderr
    assert "exit code 3" in done.stdout
    assert "out of coffee" in done.stdout
    assert "absent has no run: there is no file nothing.py" in done.stdout
    assert "exit code 1 before it joined" in done.stdout
    assert sum(line.endswith("PARTIAL") for line in map(str.rstrip, done.stdout.splitlines())) == 2
    assert read_result(tmp_path / "out" / "seeded").complete
    for name in ("exits", "leaves"):
        result = read_result(tmp_path / "out" / name)
        assert not result.complete
        assert result.ended_early is not None


@pytest.mark.parametrize("at_once", [1, 2])
def test_an_agent_that_cannot_play_has_no_run_and_no_rank(
    run: Say, tmp_path: Path, at_once: int
) -> None:
    """The same of one that cannot be started, and of one whose hello says so."""
    absent = '[agents.absent]\nagent = "nothing.py:Nobody"\n'
    tables = (agent("seeded"), agent("endless", "Endless"), absent)
    benchmark = BENCHMARK.replace("workers = 0", "workers = 1")
    path = write(tmp_path, *tables, benchmark=benchmark)
    done = run(path, "--json", "--at-once", str(at_once))
    assert done.returncode == 1, done.stderr
    assert "endless has no run: Endless cannot play this: " in done.stderr
    assert [each["name"] for each in json.loads(done.stdout)["runs"]] == ["seeded"]
    for name in ("endless", "absent"):
        assert not (tmp_path / "out" / name / "result.json").exists()
        assert name not in (tmp_path / "out" / "report.html").read_text()


def test_agents_of_which_none_can_play_are_wrong_usage(run: Say, tmp_path: Path) -> None:
    done = run(write(tmp_path, agent("endless", "Endless"), agent("single", "Endless")))
    assert done.returncode == 2, done.stderr
    assert "takes no end of an episode" in done.stderr + done.stdout
    assert not (tmp_path / "out" / "report.html").exists()


def test_what_was_missing_is_played_when_the_agent_is_there(tmp_path: Path) -> None:
    late = f'[agents.late]\nagent = "{tmp_path / "late.py"}:Late"\n'
    path = write(tmp_path, agent("seeded"), late)
    first = bake(path)
    assert "late" not in first
    (tmp_path / "late.py").write_text("from tests.reglue_bench.agents import Seeded as Late\n")
    again = bake(path, resume=True)
    assert again["late"].complete
    assert rows(again["seeded"]) == rows(first["seeded"])
    assert cells(again["late"]) == cells(again["seeded"])


def test_an_agent_that_is_added_plays_the_plan_of_the_others(tmp_path: Path) -> None:
    first = bake(write(tmp_path, agent("seeded"), STILL))
    again = bake(write(tmp_path, agent("seeded"), STILL, agent("more")), resume=True)
    assert again["more"].plan_sha256 == first["seeded"].plan_sha256
    assert cells(again["more"]) == cells(first["seeded"])


def test_agents_that_learn_are_compared_too(run: Say, tmp_path: Path) -> None:
    here = ONLINE.replace("workers = 1", "workers = 0")
    path = write(tmp_path, agent("learner", "Learner"), STILL, benchmark=here)
    done = run(path)
    assert done.returncode == 0, done.stderr
    assert "performance" in done.stdout
    assert "Learning curve" in (tmp_path / "out" / "report.html").read_text()


def test_runs_that_are_there_are_left_as_they_are(tmp_path: Path) -> None:
    path = write(tmp_path, agent("seeded"), STILL)
    bake(path)
    before = (tmp_path / "out" / "seeded" / "result.json").read_bytes()
    with raises(RunExists, tmp_path / "out" / "seeded", settings={"out", "resume"}):
        bake(path)
    assert (tmp_path / "out" / "seeded" / "result.json").read_bytes() == before


def test_a_run_s_copies_of_an_agent_play_at_the_same_time(tmp_path: Path) -> None:
    """A log each, and the rows of one process."""

    def played(folder: str, copies: int) -> dict[str, Result]:
        (where := tmp_path / folder).mkdir()
        met = 'agent_args = {{ folder = "{}", copies = {} }}'
        tables = [agent(name, "Meets", met.format(where / name, copies)) for name in names]
        results = bake(write(where, *tables, benchmark=ONLINE), processes=copies, at_once=2)
        for name in names:
            assert len([*(where / "out" / name).glob("agent*.log")]) == copies
        return results

    names = ("one", "other")
    alone, both = played("alone", 1), played("both", 2)
    assert all(result.complete and not result.faults for result in both.values())
    for name in names:
        assert rows(alone[name]) == rows(both[name])


@pytest.mark.parametrize(
    ("asked", "named", "settings"),
    [
        ({"processes": 2}, ["processes=2", 1], {"agents", "processes"}),
        (
            {"engine": "ray", "connect_timeout": 3.0},
            ["127.0.0.1:1", "ray start --head"],
            {"engine"},
        ),
        (
            {"environments": "ray", "connect_timeout": 3.0},
            ["127.0.0.1:1", "ray start --head"],
            {"environments"},
        ),
    ],
)
def test_processes_that_no_run_could_have_are_refused_once(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    asked: dict[str, Any],
    named: list[object],
    settings: set[str],
) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")
    with raises(UsageError, *named, settings=settings):
        bake(write(tmp_path, agent("seeded"), STILL, benchmark=IN_WORKERS), **asked)
    assert not (tmp_path / "out").exists()


def test_a_run_of_another_plan_is_not_gone_on_with(tmp_path: Path) -> None:
    bake(write(tmp_path, agent("seeded"), STILL))
    other = write(
        tmp_path, agent("new"), agent("seeded"), benchmark=BENCHMARK.replace("seed = 7", "seed = 8")
    )
    with raises(PlanDiffers, tmp_path / "out" / "seeded", "seed", "7 before", "8 now"):
        bake(other, resume=True)
    assert not (tmp_path / "out" / "new").exists()


def test_only_an_agent_that_dials_in_may_come_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that was started here is not waited for once its connection is gone."""
    windows, private_lobby = [], GlueServer.private_lobby

    def note(server: GlueServer, role: str, **terms: Any) -> PrivateLobby:
        windows.append(terms["reconnect_window_s"])
        return private_lobby(server, role, **terms)

    monkeypatch.setattr(GlueServer, "private_lobby", note)
    path = write(tmp_path, agent("seeded"), "[agents.away]\nwait = true\n")
    bake(path, reconnect_window=7.0, connect_timeout=0.1)
    assert windows == [0.0, 7.0]


def test_a_run_that_cannot_be_begun_leaves_none_behind(tmp_path: Path) -> None:
    lacking = 'agent_args = { checkpoint = "none.npz" }'
    with raises(CannotLoad, f"checkpoint={tmp_path / 'none.npz'}"):
        bake(write(tmp_path, agent("seeded"), agent("lacking", more=lacking)))
    assert not [*(tmp_path / "out").rglob("ledger.sqlite")]


def test_environments_of_one_process_are_not_shared_by_threads(tmp_path: Path) -> None:
    with raises(UsageError, "workers=0", "workers=1", settings={"at_once", "workers"}):
        bake(write(tmp_path, agent("seeded"), STILL), at_once=2)


def test_a_file_of_one_s_own_is_played_as_it_says_and_its_first_frames_are_shown(
    run: Say, tmp_path: Path
) -> None:
    (tmp_path / "games.toml").write_text(
        'procedure = "multi-task"\nnum_episodes = 1\nslots = 2\nhorizon = 3\n'
        '[tasks.pong]\nenvironment = "arcade:pong"\n[tasks.maze]\nenvironment = "arcade:maze"\n'
    )
    benchmark = '[benchmark]\nname = "games.toml"\nworkers = 0\n'
    path = write(tmp_path, '[agents.other]\nagent = "random"\n', STILL, benchmark=benchmark)
    assert run(path).returncode == 0
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    for caption in ("pong, variant 0", "maze, variant 0"):
        assert page.count(f'alt="{caption}"') == 2
    result = read_result(tmp_path / "out" / "still")
    assert (result.benchmark, result.slots, len(rows(result))) == ("games", 2, 2)
