"""Pictures and instructions of Meta-World's benchmarks: settings, plans and rows."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from reglue.errors import BadArgument, UsageError
from reglue_bench.benchmark.benchmark import make_plan
from reglue_bench.plans.plan import Plan
from reglue_bench.runs.ledger import Ledger
from reglue_bench.settings import read_settings
from tests.error_facts import raises
from tests.programs import run_python

pytestmark = pytest.mark.images  # the camera is tried when the benchmark is made

REACH = "MT1:reach-v3"
CAMERA = {"camera": "corner2", "camera_size": "32x24"}

PROGRAM = """
import hashlib, json, sys
import reglue
from reglue.examples.expert import ExpertAgent

class Watched(ExpertAgent):
    def __init__(self):
        super().__init__("reach-v3")
        self.seen = []

    def _act(self, observations, slots):
        for row in range(len(slots)):
            whole = b"".join(observations[name][row].tobytes() for name in sorted(observations))
            self.seen.append(hashlib.sha256(whole).hexdigest())
        return super()._act(observations, slots)

if __name__ == "__main__":
    told = []
    for options in json.loads(sys.argv[1]):
        agent = Watched()
        result = reglue.evaluate(
            "MT1:reach-v3", agent=agent, num_episodes=2, episode_horizon=5, **options
        )
        rows = [[e.variant, e.steps, e.return_, e.success, e.status] for e in result.episodes]
        told.append([sorted(rows), sorted(agent.seen)])
    print(json.dumps(told))
"""


HASHED = """
import hashlib, json, os, signal, sys
import numpy as np
import reglue

class Hashes(reglue.Agent):
    \"\"\"Its actions depend on every bit that it sees.\"\"\"

    steps = 0

    def agent_start(self, observations, starts):
        return self.chosen(observations)

    def agent_step(self, rewards, observations, steps):
        self.steps += 1
        if self.steps == int(os.environ.get("END_AT", "0")):
            os.kill(os.getpid(), int(os.environ["END_BY"]))
        return self.chosen(observations)

    def chosen(self, observations):
        assert set(observations) == {"observation", "image", "depth", "instruction"}
        rows = zip(*(observations[name] for name in sorted(observations)), strict=True)
        hashes = [hashlib.sha256(b"".join(each.tobytes() for each in row)) for row in rows]
        return np.array([[*each.digest()[:4]] for each in hashes], np.float32) / 127.5 - 1

def played(folder, **options):
    result = reglue.evaluate(
        "MT1:reach-v3", agent=Hashes(), num_episodes=3, episode_horizon=4, slots=1, workers=0,
        camera="corner2", camera_size=(20, 16), camera_depth=True, instruction=True, out=folder,
        **options,
    )
    return [[each.variant, each.steps, each.return_.hex(), each.status] for each in result.episodes]

folder = sys.argv[1]
"""


def planned(benchmark: str = REACH, **options: Any) -> Plan:
    return make_plan(read_settings(benchmark=benchmark, **options))


def test_rows_and_pictures_depend_on_neither_slots_nor_workers(tmp_path: Any) -> None:
    camera = {**CAMERA, "camera_depth": True}
    ways = [{}, {**camera, "workers": 0}, {**camera, "workers": 1, "slots": 1}]
    script = tmp_path / "watched.py"
    script.write_text(PROGRAM)
    code = f"import runpy, sys; runpy.run_path({str(script)!r}, run_name='__main__')"
    done = run_python(code, json.dumps(ways), unset=("MUJOCO_GL", "DISPLAY", "WAYLAND_DISPLAY"))
    plain, here, worker = json.loads(done.stdout.splitlines()[-1])
    assert [row[-1] for row in plain[0]] == ["ok", "ok"]
    assert plain[0] == here[0] == worker[0]
    assert here[1] == worker[1]
    assert len(set(here[1])) == 10
    assert not set(plain[1]) & set(here[1])


def test_a_run_with_pictures_that_was_interrupted_or_killed_resumes_to_the_same_rows(
    tmp_path: Path,
) -> None:
    program = """
try:
    played(folder + "/ctrl-c")
except KeyboardInterrupt:
    del os.environ["END_AT"]
names = ("/whole", "/ctrl-c", "/killed")
print(json.dumps([played(folder + name, resume=name != "/whole") for name in names]))
"""
    unset = ("MUJOCO_GL", "DISPLAY", "WAYLAND_DISPLAY")
    kills = {"END_AT": "6", "END_BY": str(int(signal.SIGKILL))}
    with pytest.raises(subprocess.CalledProcessError) as killed:
        run_python(HASHED + "played(folder + '/killed')", str(tmp_path), unset=unset, **kills)
    assert killed.value.returncode == -signal.SIGKILL
    interrupts = {"END_AT": "7", "END_BY": str(int(signal.SIGINT))}
    done = run_python(HASHED + program, str(tmp_path), unset=unset, **interrupts)
    whole, *resumed = json.loads(done.stdout.splitlines()[-1])
    assert [row[1:2] + row[3:] for row in whole] == [[4, "ok"]] * 3
    assert resumed == [whole, whole]
    for name in ("ctrl-c", "killed"):
        with Ledger(tmp_path / name) as ledger:
            assert max(outcome.attempt for outcome in ledger.rows()) > 0, "in mid-episode"


def test_the_camera_is_in_the_plan() -> None:
    plan = planned(**CAMERA)
    assert plan.parameters["camera"] == "corner2"
    assert plan.parameters["camera_size"] == "32x24"
    assert "camera_depth" not in plan.parameters
    assert plan.sha256 == planned(camera="corner2", camera_size=(32, 24)).sha256
    others = [
        planned(),
        planned(camera="corner2"),
        planned(camera="corner", camera_size="32x24"),
        planned(**CAMERA, camera_depth=True),
        planned(**CAMERA, instruction=True),
    ]
    assert len({plan.sha256, *(each.sha256 for each in others)}) == 6
    assert planned(camera="corner2").parameters["camera_size"] == "84x84"


def test_environment_arguments_make_the_same_suite() -> None:
    arguments = {"seed": 0, "camera": "corner2", "camera_size": [32, 24]}
    plan = planned(f"online:{REACH}", environment_args=arguments)
    assert plan.parameters["camera_size"] == "32x24"
    assert planned(f"online:{REACH}", environment_args={"seed": 0}).sha256 != plan.sha256
    without = planned(f"online:{REACH}", environment_args={"camera": "corner2"})
    assert without.parameters["camera_size"] == "84x84"


def test_with_a_camera_a_benchmark_has_ten_slots() -> None:
    assert planned().slots == 50
    assert planned(**CAMERA).slots == 10


@pytest.mark.parametrize(("benchmark", "privileged"), [("ML1:reach-v3", ("tasks",)), (REACH, ())])
def test_an_instruction_tells_the_task_where_agents_must_find_it(
    benchmark: str, privileged: tuple[str, ...]
) -> None:
    assert planned(benchmark, instruction=True).privileged == privileged
    assert planned(benchmark).privileged == ()


def test_only_metaworlds_benchmarks_take_a_camera() -> None:
    with raises(UsageError, settings={"camera", "environment_args"}):
        planned("online:mountain-car", camera="corner2")


@pytest.mark.parametrize(("size", "got"), [((1, 2, 3), "'1x2x3'"), (84, "'84'")])
def test_a_size_without_width_and_height_is_refused(size: object, got: str) -> None:
    with raises(BadArgument, f"camera_size {got}", "84x84"):
        planned(camera="corner2", camera_size=size)
