"""Every routine calls what RL-Glue 3.04 was seen to call, in its order and with its numbers."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from glue_server import LocalEnvironmentPort, LocalPort, StateMachine, Timeouts
from glue_server.agent.agent_port import AgentPort
from glue_server.rpc import GlueServer
from reglue import Agent, connect
from reglue.errors import OutOfOrder
from reglue.experiments.routines import Routines
from reglue.messages.experiment_messages import ExperimentCall
from tests.glue_server.routines.rlglue_toys import (
    ToyAgent,
    ToyEnvironment,
    acted,
    direct,
    observed,
    said,
    stepped,
    text,
    wire,
)

pytestmark = pytest.mark.slow

CASES = json.loads(Path(__file__).with_name("rlglue_traces.json").read_text(encoding="utf-8"))
PATIENT = Timeouts(first_step_s=30.0, step_s=30.0, environment_s=30.0)

Join = Callable[[Agent], AgentPort]


class Program(Routines):
    """A benchmark program over a machine in this process."""

    def __init__(self, machine: StateMachine) -> None:
        super().__init__(slots=1, seed=0)
        self._machine = machine

    def _call(self, call: ExperimentCall) -> object:
        return self._machine.run(call)


class Traced:
    """The toys, joined; `lines` is what all have said."""

    def __init__(self, join: Join, words: Callable[..., list[str]], length: int = 3) -> None:
        self.lines: list[str] = []

        def log(*routine: Any) -> None:
            self.lines.extend(words(*routine))

        on_wire = words is wire
        agent = ToyAgent(log, (lambda text: f"A:{text}") if on_wire else lambda text: "A")
        environment = ToyEnvironment(
            log,
            (lambda text: f"E:{text}") if on_wire else lambda text: "" if text == "null" else "E",
            length,
        )
        port = LocalEnvironmentPort(environment, "toy")
        self.rl = Program(StateMachine(port, join(agent), timeouts=PATIENT))

    def say(self, line: str) -> None:
        self.lines.append(line)

    def refused(self, routine: Callable[[], object], before: str) -> None:
        with pytest.raises(OutOfOrder) as refused:
            routine()
        self.say(f"{before}refused: {refused.value}")

    def counts(self) -> None:
        rl = self.rl
        self.say(f"  = return {rl.return_():g} steps {rl.num_steps()} episodes {rl.num_episodes()}")


@pytest.fixture
def over_grpc() -> Iterator[Join]:
    """Joins an agent through a real server."""
    with GlueServer() as server, ThreadPoolExecutor(1) as threads:

        def join(agent: Agent) -> AgentPort:
            threads.submit(connect, agent, server.address, server.token)
            port: AgentPort | None = server.next("agent", 30.0)
            assert port is not None
            ports.append(port)
            return port

        ports: list[AgentPort] = []
        yield join
        for port in ports:
            port.close("that was all")


@pytest.fixture(params=["in process", "over gRPC"])
def join(request: pytest.FixtureRequest) -> Join:
    if request.param == "in process":
        return lambda agent: LocalPort(agent, "toy")
    over: Join = request.getfixturevalue("over_grpc")
    return over


# Compiled into one program.


def direct_full(traced: Traced) -> None:
    rl = traced.rl
    traced.say("RL_init")
    rl.init()
    traced.say("  ->'TS'")
    traced.counts()
    traced.say("RL_start")
    first = rl.start()
    seen, chosen = first.observations["ints"].item(), first.actions["ints"].item()
    traced.say(f"  -> o={seen} a={chosen}")
    traced.counts()
    for _ in range(3):
        traced.say("RL_step")
        step = rl.step()
        words = f"  -> r={step.rewards.item():g} o={step.observations['ints'].item()}"
        over = bool(step.terminated.item())
        chosen = step.actions["ints"].item()
        traced.say(f"{words} t={int(over)}" + ("" if over else f" a={chosen}"))
        traced.counts()
    traced.say("RL_step past terminal")
    traced.refused(rl.step, "  ")
    traced.counts()
    traced.say("RL_start")
    rl.start()
    traced.counts()
    traced.say("RL_cleanup")
    rl.cleanup()
    traced.counts()


def direct_episodes(traced: Traced) -> None:
    traced.rl.init()
    for limit in range(6):
        traced.say(f"RL_episode({limit})")
        ended = traced.rl.episode(limit)
        traced.say(f"  ->{int(ended)}")
        traced.counts()
    traced.say("RL_init again")
    traced.rl.init()
    traced.counts()


def direct_messages(traced: Traced) -> None:
    for shown, message in (("hi", "hi"), ("NULL", ""), ("null reply", "null")):
        traced.say(f"RL_env_message({shown})")
        reply = traced.rl.env_message(message)
        traced.say(f"  ->{reply!r}")
    traced.say("RL_agent_message")
    reply = traced.rl.agent_message("")
    traced.say(f"  ->{reply!r}")


def direct_queries(traced: Traced) -> None:
    traced.say("queries")
    traced.counts()


def direct_step_before_start(traced: Traced) -> None:
    traced.say("RL_init")
    traced.rl.init()
    traced.say("RL_step")
    traced.refused(traced.rl.step, "  ")
    traced.counts()


def direct_start_before_init(traced: Traced) -> None:
    traced.say("RL_start")
    traced.refused(traced.rl.start, "  ")
    traced.counts()


# Over sockets.


class Socket:
    """The program's end of them, with its lines."""

    def __init__(self, traced: Traced) -> None:
        self._traced = traced

    def call(
        self, code: int, payload: bytes, routine: Callable[[], Any], answer: Callable[[Any], bytes]
    ) -> None:
        self._traced.say(said("experiment", "send", code, payload))
        returned = routine()
        self._traced.say(said("experiment", "recv", code, answer(returned)))

    def init(self) -> None:
        self.call(20, b"", self._traced.rl.init, lambda _: text("TS"))

    def start(self) -> None:
        self.call(
            21,
            b"",
            self._traced.rl.start,
            lambda first: (
                observed(first.observations["ints"].item()) + acted(first.actions["ints"].item())
            ),
        )

    def step(self) -> None:
        self.call(22, b"", self._traced.rl.step, _answered)

    def episode(self, limit: int) -> None:
        ended = self._traced.rl.episode
        self.call(27, _int(limit), lambda: ended(limit), lambda over: _int(int(over)))


def _answered(step: Any) -> bytes:
    over = bool(step.terminated.item())
    return stepped(step.rewards.item(), step.observations["ints"].item(), over) + acted(
        None if over else step.actions["ints"].item()
    )


def _int(number: int) -> bytes:
    return struct.pack(">i", number)


def wire_full(traced: Traced) -> None:
    rl, socket = traced.rl, Socket(traced)
    socket.init()
    socket.start()
    for _ in range(3):
        socket.step()
    socket.call(24, b"", rl.return_, lambda total: struct.pack(">d", total))
    socket.call(25, b"", rl.num_steps, _int)
    socket.call(26, b"", rl.num_episodes, _int)
    socket.episode(2)
    socket.episode(0)
    socket.call(33, text("hi"), lambda: rl.agent_message("hi"), text)
    socket.call(34, text(""), lambda: rl.env_message(""), text)
    socket.call(23, b"", rl.cleanup, lambda _: b"")


def wire_first_step_terminal(traced: Traced) -> None:
    socket = Socket(traced)
    socket.init()
    socket.start()
    socket.step()


def wire_step_before_start(traced: Traced) -> None:
    Socket(traced).init()
    traced.say(said("experiment", "send", 22))
    traced.refused(traced.rl.step, "")


def wire_start_before_init(traced: Traced) -> None:
    traced.say(said("experiment", "send", 21))
    traced.refused(traced.rl.start, "")


PROGRAMS = {
    "rg_direct_full": direct_full,
    "rg_direct_episodes": direct_episodes,
    "rg_direct_msg_before_init": direct_messages,
    "rg_direct_queries_before_init": direct_queries,
    "rg_direct_step_before_start": direct_step_before_start,
    "rg_direct_start_before_init": direct_start_before_init,
    "rg_wire_full": wire_full,
    "rg_wire_len1_first_step_terminal": wire_first_step_terminal,
    "rg_wire_step_before_start": wire_step_before_start,
    "rg_wire_start_before_init": wire_start_before_init,
}


def test_every_case_has_a_program() -> None:
    assert PROGRAMS.keys() == CASES["cases"].keys()


@pytest.mark.parametrize("case", PROGRAMS)
def test_calls_are_the_originals(case: str, join: Join) -> None:
    words = wire if "wire" in case else direct
    traced = Traced(join, words, length=1 if "len1" in case else 3)
    PROGRAMS[case](traced)
    assert traced.lines == CASES["cases"][case]["ours"]


@pytest.mark.parametrize("case", PROGRAMS)
def test_ours_and_the_originals_lines_differ_where_we_say_so(case: str) -> None:
    """The first line that differs is a refusal, a terminal step's action, or the end."""
    ours, original = CASES["cases"][case]["ours"], CASES["cases"][case]["original"]
    pairs = zip(ours, original, strict=False)
    first = next((pair for pair in pairs if pair[0] != pair[1]), ("the end", ""))
    assert any(words in first[0] for words in ("refused", "r=3 o=3 t=1", "recv 22", "the end"))


# Later implementations.


def coursera(routine: str, given: tuple[Any, ...], answer: tuple[Any, ...]) -> list[Any]:
    match routine:
        case "env_start" | "agent_end":
            return [[routine, *given]]
        case "env_step":
            return [[routine, *given]]
        case _:
            return [[routine, *given, *answer]]


def andnp(*call: Any) -> list[Any]:
    [[routine, *words]] = coursera(*call)
    return [[routine.replace("agent_", "a.").replace("env_", ""), *words]]


@pytest.mark.parametrize(
    ("name", "words"), [("coursera-rl-glue", coursera), ("andnp RlGlue 2.0.1", andnp)]
)
def test_an_episodes_calls_are_those_of_later_implementations(
    name: str, words: Callable[..., list[Any]]
) -> None:
    traced = Traced(lambda agent: LocalPort(agent, "toy"), words)
    traced.rl.init()
    traced.lines.clear()
    traced.rl.start()
    sums, episodes = [], []
    for _ in range(3):
        traced.rl.step()
        sums.append(traced.rl.return_())
        episodes.append(traced.rl.num_episodes())
    theirs = CASES["others"][name]
    assert traced.lines == theirs["calls"]
    assert (sums, episodes) == (theirs["returns"], theirs["episodes"])
