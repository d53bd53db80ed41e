"""The C client: its own tests, the protocol's rules, and the wrong uses that it refuses."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import numpy as np
import pytest

from env_adapters.classic.gridworld import GridWorld
from glue_server.rpc import GlueServer
from reglue import Agent, Cell, Discrete, Phase, TaskSpec, TensorSpec
from reglue.client import connect
from reglue.environments.slot_worlds import Worlds
from reglue.errors import BadReply
from reglue.examples.tabular_q import TabularQ
from reglue.experiments.experiment import Experiment
from reglue.messages.agent_messages import (
    NO_ENDS,
    NO_STEPS,
    Actions,
    AgentInit,
    Refusal,
    RoutineDone,
    Starts,
    TextMessage,
    Turn,
)
from reglue.messages.environment_messages import (
    EnvironmentInit,
    EnvironmentReady,
    GetRandomSeed,
    GetState,
    Play,
    Played,
)
from reglue.net.join_string import Transport
from reglue_bench import evaluate
from tests.agent_clients.client_programs import (
    built,
    measures_as_python,
    playing,
    run,
    started,
)
from tests.glue_server.hubs import a_hub
from tests.glue_server.rpc.proxies import TRANSPORTS
from tests.leftovers import nothing_left

PATIENCE_S = 30.0

pytestmark = pytest.mark.timeout(600)  # the first test compiles the client


def test_its_own_tests_pass() -> None:
    assert "PASSED" in run(str(built("c", "reglue_c_tests", "tests/reglue_c_tests")))


def test_an_agent_of_no_abilities_has_those_that_other_clients_default_to() -> None:
    with misusing("agent") as port:
        hello, usual = port.hello, Agent()
    assert hello.partial_turns == usual.partial_turns
    assert hello.adapts == usual.adapts
    assert hello.episodic == usual.episodic
    assert hello.max_slots == usual.max_slots


@contextmanager
def misusing(role: str, printed: str = "") -> Iterator[Any]:
    """The glue's end of a session with the program of wrong uses, which finds all refused."""
    command = (str(built("c", "misuse", "tests/misuse")), role)
    with (
        nothing_left(),
        GlueServer(places={role: 1}) as hall,
        started(command, hall.address, hall.token) as process,
    ):
        port: Any = hall.next(role, PATIENCE_S)
        assert port is not None
        yield port
        port.close("that was all")
        _, error_output = process.communicate(timeout=PATIENCE_S)
        assert (process.returncode, error_output) == (0, printed), error_output


def answers(port: Any, *calls: object) -> list[Any]:
    """The program's answer to each call."""
    received = []
    for call in calls:
        port.send(call)
        received.append(port.receive(PATIENCE_S))
    return received


def test_wrong_uses_by_an_agent_are_refused_and_its_session_goes_on() -> None:
    seen, done = TensorSpec("seen", "float64"), TensorSpec("done", "float32", (2,))
    spec = TaskSpec((seen,), (done,), extra="three doors")
    starts = Starts(np.array([0], np.uint32), np.array([1], np.uint64))
    turn = Turn(Phase.TRAIN, NO_ENDS, NO_STEPS, starts, np.zeros(0), {"seen": np.array([0.5])})
    printed = "three doors\nlogged: reply 3 was refused: got less, wanted more\n"
    with misusing("agent", printed) as port:
        init, acted, message = answers(port, AgentInit(spec), turn, TextMessage("hello"))
        port.refuse(BadReply("WRONG_SIZE", got="less", wanted="more"))
    assert isinstance(init, RoutineDone)
    assert isinstance(acted, Actions)
    assert acted.arrays["done"].tolist() == [[0.0, 0.0]]
    assert message == TextMessage("hello")


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_an_agent_that_waits_leaves_when_a_signal_tells_it_to(transport: Transport) -> None:
    program = built("c", "stopped", "tests/stopped")
    with nothing_left(), GlueServer(places={"agent": 1}, transport=transport) as hall:
        where = os.environ | {"REGLUE_ADDRESS": hall.address, "REGLUE_TOKEN": hall.token}
        with subprocess.Popen([program], env=where, stderr=subprocess.PIPE, text=True) as process:
            try:
                port = hall.next("agent", PATIENCE_S)
                assert port is not None
                port.send(TextMessage("hello"))
                assert port.receive(PATIENCE_S) == TextMessage("")
                process.send_signal(signal.SIGTERM)
                _, error_output = process.communicate(timeout=PATIENCE_S)
            finally:
                process.kill()
    assert (process.returncode, error_output) == (0, "the program has stopped the session\n")


def test_wrong_uses_by_an_environment_are_refused_and_its_session_goes_on() -> None:
    cells = {slot: Cell("walk", 0, 1, 0, Phase.TRAIN) for slot in (0, 1)}
    steps = Play(np.array([1], np.uint32), {"done": np.array([2])}, {})
    starts = Play(np.zeros(0, np.uint32), {}, cells)
    calls = (EnvironmentInit(2), steps, starts, GetState(0), GetRandomSeed(0), TextMessage("hello"))
    with misusing("environment") as port:
        ready, _, played, no_state, no_seeds, message = answers(port, *calls)
    assert message == TextMessage("hello")
    assert isinstance(ready, EnvironmentReady)
    assert ready.spec == TaskSpec(
        (TensorSpec("seen", "float64"),),
        (TensorSpec("done", "int64", (), Discrete(3)),),
        slots=2,
        extra="three doors",
    )
    assert (ready.variants, ready.restores, ready.seeds) == ({"walk": 1}, True, False)
    assert isinstance(played, Played)
    assert played.faults == {0: "it broke"}
    assert isinstance(no_state, Refusal)
    assert (no_state.code, no_state.got) == ("OUT_OF_ORDER", "no episode")
    assert isinstance(no_seeds, Refusal)
    assert (no_seeds.code, no_seeds.got) == ("NOT_SUPPORTED", "env_get_random_seed")


def test_rl_benchmark_in_c_measures_what_it_measures_in_python() -> None:
    measures_as_python(str(built("c", "rl_benchmark", "rl_benchmark")))


def returns(environment: AbstractContextManager[object], server: GlueServer) -> list[float]:
    """Of ten episodes of learning."""
    with environment, Experiment(server.address, server.tokens["experiment"]) as rl:
        rl.init(slots=3, seed=5)
        return [(rl.episode(1000, [2]), rl.return_(slot=2))[1] for _ in range(10)]


def test_the_gridworld_in_c_is_the_gridworld_of_python() -> None:
    program = built("c", "gridworld", "gridworld")
    with ThreadPoolExecutor(2) as pool, a_hub() as (server, _):

        def join(role: str, peer: object) -> Future[str]:
            return pool.submit(connect, peer, server.address, server.tokens[role])

        left = [join("agent", TabularQ()), join("environment", Worlds(GridWorld()))]
        wanted = returns(nullcontext(), server)
        left.append(join("agent", TabularQ()))
        in_c = playing(program, server.address, server.tokens["environment"])
        assert returns(in_c, server) == wanted
        for each in left:
            assert each.result(PATIENCE_S) == "the run is over: the experiment has left"
    assert len(set(wanted)) > 1


def test_a_small_agent_in_c_drives_the_car_out_of_the_valley() -> None:
    pump = str(built("c", "pump", "pump"))
    result = evaluate("online:mountain-car", agent="", agent_cmd=pump, runs=1, episodes=3)
    assert result.performance is not None
    assert result.performance > -200  # the steepest way takes about 100 steps
