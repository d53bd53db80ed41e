"""The examples in C++ that play a network which PyTorch trained: by LibTorch, by ONNX Runtime."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from reglue_bench import evaluate
from reglue_bench.runs.ledger import LedgerReader
from tests.agent_clients.client_programs import ROOT, built, run

NETWORKS = ROOT / "agent_clients/cpp/examples/networks"
SUFFIXES = {"libtorch": "pt", "onnxruntime": "onnx"}

pytestmark = pytest.mark.timeout(600)  # the first test compiles the client


@pytest.fixture(scope="module")
def policies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One network as policy.pt and policy.onnx, in this folder."""
    folder = tmp_path_factory.mktemp("policies")
    paths = [str(folder / f"policy.{suffix}") for suffix in SUFFIXES.values()]
    run(sys.executable, str(NETWORKS / "train.py"), *paths)
    return folder


@pytest.fixture(scope="module", params=SUFFIXES)
def library(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(scope="module")
def program(library: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The agent that plays by this library, compiled."""
    build = tmp_path_factory.mktemp(library)
    client = built("cpp", "reglue", "libreglue++.a").parent
    run(
        *("cmake", "-S", str(NETWORKS / library), "-B", str(build), "-G", "Ninja"),
        f"-Dreglue_DIR={client}",
        f"-DCMAKE_PREFIX_PATH={where_it_is(library)}",
        "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror",
    )
    run("cmake", "--build", str(build))
    return build / f"{library}_agent"


def where_it_is(library: str) -> str:
    """For CMake."""
    if library == "libtorch":
        words = run(sys.executable, "-c", "import torch; print(torch.utils.cmake_prefix_path)")
        return words.strip()
    folder = ROOT / "build/onnxruntime"
    if not (folder / "lib/libonnxruntime.so").exists():
        pytest.fail("ONNX Runtime for C++ is missing: run `make onnxruntime`", pytrace=False)
    return str(folder)


@pytest.mark.filterwarnings("ignore:`torch.jit.load` is deprecated")  # LibTorch still reads it
def test_it_acts_as_the_network_does_in_python(
    library: str, program: Path, policies: Path, tmp_path: Path
) -> None:
    command = shlex.join([str(program), str(policies / f"policy.{SUFFIXES[library]}")])
    in_cpp = actions_played(tmp_path / "cpp", agent="", agent_cmd=command)
    in_python = actions_played(tmp_path / "python", agent=best(policies / "policy.pt"))
    assert in_cpp == in_python


def test_a_task_that_it_cannot_play_is_refused(library: str, program: Path, policies: Path) -> None:
    command = shlex.join([str(program), str(policies / f"policy.{SUFFIXES[library]}")])
    swing = "evaluate:gymnasium:Pendulum-v1"
    result = evaluate(swing, agent="", agent_cmd=command, num_episodes=1, raise_faults=False)
    assert result.ended_early is not None
    assert result.ended_early.what == (
        "got 1 observation(s), the first of float32, and 1 action(s), the first not discrete; "
        "wanted one observation of float32 and one discrete action"
    )


def test_a_network_that_is_not_there_is_named(program: Path, tmp_path: Path) -> None:
    command = shlex.join([str(program), str(tmp_path / "none")])
    pole = "evaluate:gymnasium:CartPole-v1"
    result = evaluate(pole, agent="", agent_cmd=command, num_episodes=1, raise_faults=False)
    assert result.ended_early is not None
    assert f"{tmp_path}/none" in result.ended_early.what
    assert "\n" not in result.ended_early.what


def actions_played(out: Path, **agent: Any) -> list[bytes]:
    """Those of each episode of CartPole, all of which must be perfect."""
    episodes = 7  # in 3 slots: some have ended while others go on
    result = evaluate(
        "evaluate:gymnasium:CartPole-v1", out=out, num_episodes=episodes, slots=3, **agent
    )
    assert (result.complete, result.mean_return) == (True, 500.0), result.ended_early
    with LedgerReader(out) as ledger:
        return [ledger.actions(row.unit, row.attempt, row.k) for row in ledger.rows()]


def best(policy: Path) -> Callable[[npt.NDArray[np.float32]], npt.NDArray[np.int64]]:
    """Of each row of observations, the action with the highest score."""
    import torch

    network = torch.jit.load(policy)

    def choose(observations: npt.NDArray[np.float32]) -> npt.NDArray[np.int64]:
        with torch.inference_mode():
            chosen: npt.NDArray[np.int64] = (
                network(torch.from_numpy(observations)).argmax(1).numpy()
            )
        return chosen

    return choose
