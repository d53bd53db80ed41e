"""The plans of a phase."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from env_adapters import SuiteName
from reglue.errors import UsageError
from reglue_bench.benchmark.benchmark import make_plan
from reglue_bench.runs.environment_code import code_sha256
from reglue_competition.phases import PlannedBenchmark, Secrets, entry_secret, plan_phase
from tests.error_facts import raises
from tests.reglue_competition.competitions import definition, phase

WORLD = """
from tests.worlds import Corridor


class Hidden(Corridor):
    def __init__(self) -> None:
        super().__init__(solved={"walk": [1, 0]})
"""


@pytest.fixture
def secrets(tmp_path: Path) -> Secrets:
    return Secrets.create(tmp_path / "secrets")


def drawn(
    secrets: Secrets,
    folder: Path,
    benchmark: str = "MT1:reach-v3",
    *,
    name: str = "public",
    options: dict[str, Any] | None = None,
    cells: str = "shared",
    **tables: Any,
) -> PlannedBenchmark:
    """The one benchmark of a phase."""
    entry = {"benchmark": benchmark, "options": options or {}}
    whole = definition(phase(name, benchmarks=[entry], cells=cells), **tables)
    (found,) = plan_phase(whole, whole.phases[0], secrets, folder)
    return found


def goals(drawn: PlannedBenchmark) -> object:
    return drawn.plan.suite.config["goals"]


def test_a_phase_is_drawn_the_same_each_time(secrets: Secrets, tmp_path: Path) -> None:
    assert drawn(secrets, tmp_path) == drawn(secrets, tmp_path)


def test_an_entrys_own_goals_and_cells_follow_from_the_phases_salt(
    secrets: Secrets, tmp_path: Path
) -> None:
    of_phase, salt = drawn(secrets, tmp_path), secrets.salt("public")
    names = [("s1", 1), ("s1", 2), ("s2", 1), ("s1", 1)]
    secrets_of_entries = [entry_secret(salt, *each) for each in names]
    *plans, again = [
        make_plan(of_phase.settings.model_copy(update={"secret": each}))
        for each in secrets_of_entries
    ]
    assert plans[0] == again
    plans.append(of_phase.plan)
    assert len({str(each.suite.config["goals"]) for each in plans}) == 4
    assert len({each.cells for each in plans}) == 4


def test_phases_and_competitions_draw_other_goals_and_cells(
    secrets: Secrets, tmp_path: Path
) -> None:
    other = Secrets.create(tmp_path / "other")
    found = [drawn(of, tmp_path, name=name) for of in (secrets, other) for name in ("a", "b")]
    assert len({str(goals(each)) for each in found}) == len(found)
    assert len({each.cell_key for each in found}) == len(found)


def test_a_run_has_time_by_its_episodes_unless_the_file_says(
    secrets: Secrets, tmp_path: Path
) -> None:
    """A tenth of step_s for each turn, besides init, first turn and bank."""
    play = {"step_s": 10.0, "first_step_s": 100.0, "bank_s": 60.0}
    for slots, turns in ((1, 20 * 500 + 500), (10, 20 * 500 / 10 + 500)):
        found = drawn(secrets, tmp_path, options={"num_episodes": 20, "slots": slots}, play=play)
        assert found.settings.run_budget == found.place_s == 2 * 100 + 60 + turns
    online = {"runs": 3, "episodes": 50, "episode_limit": 200}
    found = drawn(secrets, tmp_path, "online:mountain-car", options=online, play=play)
    assert found.settings.run_budget == 2 * 100 + 60 + 50 * 200 + 200
    assert found.place_s == 3 * found.settings.run_budget
    steps = drawn(secrets, tmp_path, "online:mountain-car", options={"steps": 900}, play=play)
    assert steps.settings.run_budget == 2 * 100 + 60 + 900 + 900


def test_the_limit_of_ten_million_steps_is_no_end(secrets: Secrets, tmp_path: Path) -> None:
    """An agent would hold its place for years."""
    with raises(UsageError, "options.episode_limit", "play.run_s"):
        drawn(secrets, tmp_path, "online:mountain-car")
    found = drawn(secrets, tmp_path, "online:mountain-car", play={"run_s": 60.0})
    assert found.settings.run_budget == 60.0


def test_returns_are_not_added_to_other_scores_without_a_scale(
    secrets: Secrets, tmp_path: Path
) -> None:
    success: dict[str, Any] = {"benchmark": "MT1:reach-v3"}
    returns: dict[str, Any] = {
        "benchmark": "evaluate:mountain-car",
        "options": {"num_episodes": 2, "episode_limit": 100},
    }
    for entries in ([success, returns], [returns, returns | {"weight": 2}]):
        whole = definition(phase(benchmarks=entries))
        with raises(UsageError, "evaluate:mountain-car", "scale = [WORST, BEST]", "mean rank"):
            plan_phase(whole, whole.phases[0], secrets, tmp_path)
        scaled = [each | {"scale": [-100, -50]} if each != success else each for each in entries]
        whole = definition(phase(benchmarks=scaled))
        assert len(plan_phase(whole, whole.phases[0], secrets, tmp_path)) == 2
        ranking = {"total": "mean rank", "choose": "last", "ties": "score"}
        whole = definition(phase(benchmarks=entries), ranking=ranking)
        assert len(plan_phase(whole, whole.phases[0], secrets, tmp_path)) == 2
    drawn(secrets, tmp_path, "evaluate:mountain-car", options=returns["options"])  # alone it may


def test_returns_need_a_worst_performance(secrets: Secrets, tmp_path: Path) -> None:
    """Else a submission that fails has no score at all."""
    endless = {"episode_limit": 100}
    name = "evaluate:tests.reglue_bench.procedures.test_evaluate:Steps"
    with raises(UsageError, f"phase public, benchmark 1 ({name})", "options.worst_performance"):
        drawn(secrets, tmp_path, name, options=endless)
    given = drawn(secrets, tmp_path, name, options=endless | {"worst_performance": -2000.0})
    assert given.plan.parameters["worst_performance"] == -2000.0


def test_the_files_limits_are_those_of_its_runs(secrets: Secrets, tmp_path: Path) -> None:
    limits = {"step_s": 3.0, "first_step_s": 40.0, "bank_s": 5.0, "run_s": 600.0}
    limits |= {"turn_grid_s": 0.05}
    settings = drawn(secrets, tmp_path, play=limits).settings
    assert (settings.timeouts.step_s, settings.timeouts.first_step_s) == (3.0, 40.0)
    assert (settings.timeouts.bank_s, settings.timeouts.run_s) == (5.0, 600.0)
    assert settings.timeouts.turn_every_s == 0.05
    assert settings.timeouts.plays_defaults
    assert settings.keep_rewards


def test_a_file_may_have_a_late_step_end_a_run(secrets: Secrets, tmp_path: Path) -> None:
    timeouts = drawn(secrets, tmp_path, play={"late": "fault"}).settings.timeouts
    assert (timeouts.plays_defaults, timeouts.turn_every_s) == (False, 0.0)


def test_environments_in_files_are_the_folders(secrets: Secrets, tmp_path: Path) -> None:
    (tmp_path / "tasks").mkdir()
    file = tmp_path / "tasks" / "hidden.py"
    file.write_text(WORLD)
    found = drawn(secrets, tmp_path, "multi-task:tasks/hidden.py:Hidden")
    before = found.code
    file.write_text(WORLD + "# changed\n")
    assert len(before) == 64
    assert found.code != before


def test_the_code_of_a_package_is_hashed_and_reglues_own_is_not(
    secrets: Secrets, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "hidden_tasks"
    package.mkdir()
    (package / "__init__.py").write_text(WORLD)
    (package / "maps.py").write_text("SIZE = 8\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    found = drawn(secrets, tmp_path)
    assert found.code == ""
    plan = replace(found.plan, suite=SuiteName("hidden_tasks:Hidden", {}))
    before = code_sha256(plan, found.settings)
    (package / "maps.py").write_text("SIZE = 9\n")
    assert code_sha256(plan, found.settings) != before


def test_agents_see_tasks_only_if_the_file_says_so(secrets: Secrets, tmp_path: Path) -> None:
    with raises(UsageError, "(MT1:reach-v3)", "agents_see.tasks", "one_hot = false"):
        drawn(secrets, tmp_path, options={"one_hot": True})
    with raises(UsageError, "(MT1:reach-v3)", "agents_see.tasks", "instruction"):
        drawn(secrets, tmp_path, options={"instruction": True})
    assert drawn(secrets, tmp_path, agents_see={"tasks": True}).plan.privileged == ("tasks",)


@pytest.mark.parametrize(
    ("benchmark", "hides"), [("MT1:reach-v3", True), ("online:cart-pole", False)]
)
def test_rewards_are_hidden_from_who_does_not_learn_from_them(
    secrets: Secrets, tmp_path: Path, benchmark: str, hides: bool
) -> None:
    assert drawn(secrets, tmp_path, benchmark).plan.hides_rewards == hides
    assert not drawn(secrets, tmp_path, benchmark, agents_see={"rewards": True}).plan.hides_rewards


def test_an_end_tells_no_success_unless_the_file_says_so(secrets: Secrets, tmp_path: Path) -> None:
    assert drawn(secrets, tmp_path).settings.hide_success_ends
    told = drawn(secrets, tmp_path, agents_see={"success_ends": True})
    assert not told.settings.hide_success_ends


def test_a_benchmarks_file_is_drawn(secrets: Secrets, tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text('procedure = "online"\nenvironment = "cart-pole"\n')
    plan = drawn(secrets, tmp_path, "own.toml").plan
    assert (plan.procedure, plan.hides_rewards) == ("online", False)


def test_a_benchmark_that_cannot_be_played_is_named(secrets: Secrets, tmp_path: Path) -> None:
    with raises(UsageError, "phase public, benchmark 1 (MT1:reach-v3): runs"):
        drawn(secrets, tmp_path, options={"runs": 3})


def test_an_environment_that_is_not_repeatable_is_played_on_cells_of_each_submissions_own(
    secrets: Secrets, tmp_path: Path
) -> None:
    noisy = "evaluate:tests.reglue_bench.many_slots:Noise"
    asked: Any = {"options": {"worst_performance": -9.0, "episode_limit": 9}}
    with raises(UsageError, "phase public, benchmark 1", "not repeatable", "cells"):
        drawn(secrets, tmp_path, noisy, **asked)
    assert drawn(secrets, tmp_path, noisy, cells="own", **asked).plan.procedure == "evaluate"


WIDE = """
from dataclasses import replace

from tests.worlds import Corridor


class Wide(Corridor):
    def __init__(self) -> None:
        super().__init__(solved={"walk": [1, 0]})
        (action,) = self.spec.actions
        wide = replace(action, shape=(1 << 18,))  # 1 MiB
        self.spec = replace(self.spec, actions=(wide,))
"""


def test_actions_that_the_server_does_not_take_are_refused(
    secrets: Secrets, tmp_path: Path
) -> None:
    """Before anybody plays: 4 MiB are taken, with all that is in a message."""
    (tmp_path / "wide.py").write_text(WIDE)
    place = "phase public, benchmark 1 (multi-task:wide.py:Wide): options.slots"
    with raises(UsageError, place, "4 slots", 1 << 20, 3, 4 << 20):
        drawn(secrets, tmp_path, "multi-task:wide.py:Wide", options={"slots": 4})
    assert drawn(secrets, tmp_path, "multi-task:wide.py:Wide", options={"slots": 3}).plan.slots == 3
