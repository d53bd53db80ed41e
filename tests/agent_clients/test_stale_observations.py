"""`reglue try` notices agents that read an observation after the memory was reused."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from reglue_bench.rehearsal import STALE, rehearse
from reglue_bench.runs.observer import NullObserver
from reglue_bench.settings import read_settings
from tests.agent_clients.client_programs import JULIA, ROOT, built

pytestmark = pytest.mark.timeout(900)  # the first test compiles the clients

# Each balances a pole by how its angle has changed since the last observation.
PYTHON = """\
import reglue

class TwoFrames(reglue.Agent):
    def agent_start(self, observations, starts):
        self.before = observations["observation"]
        return [[0]]

    def agent_step(self, rewards, observations, steps):
        angle, before = observations["observation"][0, 2], self.before[0, 2]
        self.before = observations["observation"]
        return [int(angle + 12 * (angle - before) > 0)]
"""
TYPESCRIPT = """\
import { Agent, main } from "DIST/src/index.js";

class TwoFrames extends Agent {
  agentStart(observations) {
    this.before = observations["observation"].row(0);
    return [0];
  }

  agentStep(rewards, observations) {
    const [before, now] = [this.before, observations["observation"].row(0)];
    this.before = now;
    return [now[2] + 12 * (now[2] - before[2]) > 0 ? 1 : 0];
  }
}

await main(new TwoFrames());
"""
JULIA_AGENT = """\
using Reglue
mutable struct TwoFrames <: Agent
    before::Any
end
function Reglue.agent_start!(a::TwoFrames, actions, observations, starts)
    actions[] .= 0
    a.before = FRAME
end
function Reglue.agent_step!(a::TwoFrames, actions, rewards, observations, steps)
    angle, turned = observations[][3, 1], observations[][3, 1] - a.before[3, 1]
    actions[] .= angle + 12 * turned > 0
    a.before = FRAME
end
Reglue.zero_copy(::TwoFrames) = ZERO_COPY
Reglue.main(TwoFrames(nothing))
"""


def julia(folder: Path, *, frame: str, zero_copy: bool) -> list[str]:
    script = folder / "agent.jl"
    text = JULIA_AGENT.replace("FRAME", frame).replace("ZERO_COPY", str(zero_copy).lower())
    script.write_text(text)
    return [*JULIA, str(script)]


def program(language: str, way: str, folder: Path) -> list[str]:
    """The command of an agent that keeps an observation, or a copy of it."""
    copies = way == "copies"
    match language:
        case "python":
            (folder / "agent.py").write_text(PYTHON)
            return [sys.executable, "-m", "reglue", "join", f"{folder}/agent.py:TwoFrames"]
        case "typescript":
            dist = ROOT / "agent_clients/typescript/dist"
            (folder / "agent.mjs").write_text(TYPESCRIPT.replace("DIST", str(dist)))
            return ["node", str(folder / "agent.mjs")]
        case "julia":
            frame = "copy(observations[])" if copies else "observations[]"
            return julia(folder, frame=frame, zero_copy=True)
        case "julia's copies":
            return julia(folder, frame="observations[]", zero_copy=False)
        case _:
            two_frames = built(language, "two_frames", "tests/two_frames")
            return [str(two_frames), *(["copies"] if copies else [])]


@pytest.mark.parametrize(
    ("language", "way", "is_noticed"),
    [
        ("c", "keeps", True),
        ("c", "copies", False),
        ("cpp", "keeps", True),
        ("cpp", "copies", False),
        ("julia", "keeps", True),
        ("julia", "copies", False),
        ("julia's copies", "keeps", False),  # copies already
        ("python", "keeps", False),
        ("typescript", "keeps", False),
    ],
)
def test_a_rehearsal_notices_agents_that_read_a_stale_observation(
    language: str,
    way: str,
    is_noticed: bool,
    libreglue: Mapping[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in libreglue.items():
        monkeypatch.setenv(name, value)
    settings = read_settings(
        benchmark="evaluate:gymnasium:CartPole-v1",
        agent_cmd=shlex.join(program(language, way, tmp_path)),
        workers=0,
        slots=1,
    )
    failed = [check.what for check in rehearse(settings, NullObserver()) if check.passed is False]
    assert failed == [STALE] * is_noticed
