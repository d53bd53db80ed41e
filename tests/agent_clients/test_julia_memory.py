"""The owner of the memory of arrays of Julia's agents and environments."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from glue_server.agent.agent_port import AgentPort
from reglue import Phase, TaskSpec, TensorSpec
from reglue.messages.agent_messages import (
    NO_ENDS,
    NO_STEPS,
    Actions,
    AgentInit,
    Starts,
    TextMessage,
    Turn,
)
from reglue_bench import evaluate
from tests.agent_clients.client_programs import JULIA
from tests.agent_clients.julia import PATIENCE_S, joined

pytestmark = pytest.mark.timeout(900)  # the first test compiles the C library

TURNS = 50
GRIDS = TaskSpec(
    (TensorSpec("cell", "int64", (40, 10)),), (TensorSpec("move", "float64", (40, 10)),)
)

# Keeps what it is given, and copies of it; says how many are no longer equal.
KEEPING = """\
using Reglue
struct Keeping <: Agent
    kept::Vector{Any}
    copies::Vector{Any}
end
function Reglue.agent_start!(a::Keeping, actions, observations, starts)
    actions[] .= 2
    push!(a.kept, observations[], actions[])
    push!(a.copies, copy(observations[]), copy(actions[]))
end
Reglue.agent_step!(::Keeping, actions, rewards, observations, steps) = nothing
Reglue.agent_message(a::Keeping, text) = string(count(a.kept .!= a.copies), " of ", length(a.kept))
Reglue.main(Keeping([], []))
"""

# Writes into all that it ever was given, and collects garbage.
SCRIBBLING = """\
using Reglue
struct Scribbling <: Agent
    kept::Vector{Any}
end
function Reglue.agent_start!(a::Scribbling, actions, observations, starts)
    actions[] .= 2
    foreach(kept -> kept .= -1, a.kept)
    push!(a.kept, observations[], actions[])
    length(a.kept) % 10 == 0 && GC.gc()
end
Reglue.agent_step!(::Scribbling, actions, rewards, observations, steps) = nothing
Reglue.agent_message(a::Scribbling, text) = string(length(a.kept))
Reglue.main(Scribbling([]))
"""

# Balances by how the angle has changed since the last observation.
TWO_FRAMES = """\
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
Reglue.max_slots(::TwoFrames) = 1
Reglue.main(TwoFrames(nothing))
"""


def test_arrays_that_an_agent_keeps_stay_what_they_were(
    libreglue: Mapping[str, str], tmp_path: Path
) -> None:
    (tmp_path / "agent.jl").write_text(KEEPING)
    assert played(tmp_path / "agent.jl", libreglue) == f"0 of {2 * TURNS}"


def test_an_agent_may_write_into_arrays_of_earlier_turns(
    libreglue: Mapping[str, str], tmp_path: Path
) -> None:
    (tmp_path / "agent.jl").write_text(SCRIBBLING)
    assert played(tmp_path / "agent.jl", libreglue) == str(2 * TURNS)


@pytest.mark.parametrize("frame", ["observations[]", "copy(observations[])"])
def test_an_agent_of_two_frames_balances_the_pole(
    libreglue: Mapping[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, frame: str
) -> None:
    for name, value in libreglue.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "agent.jl").write_text(TWO_FRAMES.replace("FRAME", frame))
    command = shlex.join([*JULIA, str(tmp_path / "agent.jl")])
    result = evaluate(
        "evaluate:gymnasium:CartPole-v1",
        agent="",
        agent_cmd=command,
        num_episodes=20,
        seed=0,
        slots=1,
    )
    assert result.complete
    assert result.mean_return is not None
    assert result.mean_return > 400


def played(script: Path, libreglue: Mapping[str, str]) -> str:
    """Start an episode time and again, with a growing observation; returns the agent's reply."""
    with joined(script, libreglue) as (process, port):
        ask(port, AgentInit(GRIDS))
        for k in range(TURNS):
            starts = Starts(np.array([0], np.uint32), np.array([k], np.uint64))
            grid = {"cell": np.full((1, 40, 10), k, np.int64)}
            acted = ask(port, Turn(Phase.TRAIN, NO_ENDS, NO_STEPS, starts, np.zeros(0), grid))
            assert isinstance(acted, Actions)
            assert (acted.arrays["move"] == 2).all()
        reply = ask(port, TextMessage("how many?"))
        port.close("that was all")
        assert process.wait(PATIENCE_S) == 0
    return str(reply.text)  # type: ignore[attr-defined]


def ask(port: AgentPort, call: object) -> object:
    port.send(call)  # type: ignore[arg-type]
    return port.receive(PATIENCE_S)
