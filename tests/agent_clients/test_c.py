"""The C client: its own tests, the protocol's rules, and what it refuses its author."""

from __future__ import annotations

import subprocess
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
import pytest

from glue_server.conformance.checks import CHECKS
from glue_server.rpc import GlueServer
from reglue import Phase, TaskSpec, TensorSpec
from reglue.client import connect
from reglue.environments.environment import Worlds
from reglue.experiments.experiment import Experiment
from reglue.messages.agent import (
    NO_ENDS,
    NO_STEPS,
    Actions,
    AgentInit,
    RoutineDone,
    Starts,
    TextMessage,
    Turn,
)
from reglue_bench import evaluate
from tests.agent_clients.programs import built, keeps_the_rules, run
from tests.glue_server.hubs import a_hub
from tests.glue_server.playing import SOLVED, Follower
from tests.leftovers import nothing_left
from tests.worlds import Corridor

PATIENCE_S = 30.0

pytestmark = pytest.mark.timeout(600)  # the first test compiles the client


def test_its_own_tests_pass() -> None:
    assert "PASSED" in run(str(built("c", "reglue_c_tests", "tests/reglue_c_tests")))


@pytest.mark.parametrize("transport", ["grpc", "unix"])
@pytest.mark.parametrize("role", CHECKS)
def test_a_program_in_c_keeps_the_rules(role: str, transport: str) -> None:
    name = f"conformance_{role}_c"
    keeps_the_rules(role, str(built("c", name, name)), transport)


def test_what_is_not_legal_is_refused_and_the_session_goes_on() -> None:
    program = built("c", "misuse", "tests/misuse")
    spec = TaskSpec((TensorSpec("seen", "float64"),), (TensorSpec("done", "float32", (2,)),))
    starts = Starts(np.array([0], np.uint32), np.array([1], np.uint64))
    seen = {"seen": np.array([0.5])}
    turn = Turn(Phase.TRAIN, NO_ENDS, NO_STEPS, starts, np.zeros(0), seen)
    with nothing_left(), GlueServer(places={"agent": 1}) as hall:
        where = {"REGLUE_ADDRESS": hall.address, "REGLUE_TOKEN": hall.token}
        with subprocess.Popen([program], env=where, stdout=subprocess.PIPE, text=True) as process:
            try:
                port = hall.next("agent", PATIENCE_S)
                assert port is not None
                answers = []
                for call in (AgentInit(spec), turn, TextMessage("hello")):
                    port.send(call)
                    answers.append(port.receive(PATIENCE_S))
                port.close("that was all")
                said, _ = process.communicate(timeout=PATIENCE_S)
            finally:
                process.kill()
    done, acted, answered = answers
    assert isinstance(done, RoutineDone)
    assert isinstance(acted, Actions)
    assert acted.arrays["done"].tolist() == [[0.0, 0.0]]
    assert answered == TextMessage("hello")
    assert (process.returncode, said) == (0, "that was all\n")


def peers(pool: ThreadPoolExecutor, server: GlueServer) -> list[Future[str]]:
    """An agent and an environment, which join."""
    there = {"agent": Follower(), "environment": Worlds(Corridor(solved=SOLVED))}
    return [
        pool.submit(connect, each, server.address, server.tokens[role])
        for role, each in there.items()
    ]


def test_a_benchmark_program_in_c_is_refused_what_is_not_legal_or_takes_too_long() -> None:
    program = built("c", "misuse_experiment", "tests/misuse_experiment")
    with ThreadPoolExecutor(2) as pool, a_hub() as (server, _):
        left = peers(pool, server)
        where = {"REGLUE_ADDRESS": server.address, "REGLUE_TOKEN": server.tokens["experiment"]}
        run(str(program), environment=where)
        for each in left:
            assert each.result(PATIENCE_S) == "the run is over: the experiment has left"


def test_rl_benchmark_in_c_measures_what_it_measures_in_python() -> None:
    program = built("c", "rl_benchmark", "rl_benchmark")
    runs, episodes = 3, 4
    with ThreadPoolExecutor(4) as pool, a_hub() as (server, _):
        left = peers(pool, server)
        where = {"REGLUE_ADDRESS": server.address, "REGLUE_TOKEN": server.tokens["experiment"]}
        measured = float(run(str(program), str(runs), str(episodes), environment=where))
        left += peers(pool, server)
        with Experiment(server.address, server.tokens["experiment"]) as rl:
            sums = []
            for seed in range(runs):
                rl.init(seed=seed)
                returns = [(rl.episode(10_000_000), rl.return_())[1] for _ in range(episodes)]
                rl.cleanup()
                sums.append(sum(returns) / episodes)
        for each in left:
            assert each.result(PATIENCE_S) == "the run is over: the experiment has left"
    assert measured == pytest.approx(sum(sums) / runs, rel=1e-15)
    assert measured != 0


def test_a_small_agent_in_c_drives_the_car_out_of_the_valley() -> None:
    pump = str(built("c", "pump", "pump"))
    result = evaluate("online:mountain-car", agent="", agent_cmd=pump, runs=1, episodes=3)
    assert result.online is not None
    assert result.online.performance is not None
    assert result.online.performance > -200  # the steepest way takes about 100 steps
