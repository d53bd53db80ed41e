"""Errors about legacy programs that break the protocol, hang or leave."""

from __future__ import annotations

import logging
import socket
import struct
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import reglue
from glue_server import Glue
from reglue.bridges.rl_glue.legacy_agent import LegacyAgent
from reglue.bridges.rl_glue.legacy_environment import LegacyEnvironment
from reglue.bridges.rl_glue.legacy_experiment import answer_routines
from reglue.bridges.rl_glue.legacy_frames import MOST_TEXT, code_name
from reglue.bridges.rl_glue.legacy_program import Kind, LegacyProgram, Place
from reglue.errors import (
    AgentFault,
    BadArgument,
    EnvironmentFault,
    EnvironmentLost,
    NotCapable,
    NotSupported,
    OutOfDomain,
    OutOfOrder,
    ProgramFault,
    UsageError,
)
from reglue.experiments.routines import Routines
from tests.error_facts import raises
from tests.reglue.bridges.wire_peers import (
    CONNECTIONS,
    WirePeer,
    WirePeers,
    connection_to,
    port_in,
)

TASK = (
    "VERSION RL-Glue-3.0 PROBLEMTYPE episodic DISCOUNTFACTOR 1 OBSERVATIONS DOUBLES (0 1) "
    "ACTIONS INTS (0 1) REWARDS (0 UNSPEC) EXTRA"
)
LEGACY: dict[str, tuple[Any, type[Exception]]] = {
    "agent": (LegacyAgent, AgentFault),
    "environment": (LegacyEnvironment, EnvironmentFault),
}
"""The bridge of a kind, and the error for a fault of its program."""
PATIENT_S, QUICK_S = 30.0, 0.5  # how long a program may take; and where it takes too long
LATE = f"{QUICK_S:g} s"  # named by the error of one that is too late

Plays = Callable[[WirePeer], object]


def text(words: str) -> bytes:
    return struct.pack("!i", len(words)) + words.encode()


def numbers(ints: list[int], doubles: list[float], chars: bytes = b"") -> bytes:
    """An abstract type."""
    form = f"!iii{len(ints)}i{len(doubles)}d"
    return struct.pack(form, len(ints), len(doubles), len(chars), *ints, *doubles) + chars


SEEN, CHOSEN = numbers([], [0.5]), numbers([1], [])


def still() -> reglue.Agent:
    """An agent that always chooses 0."""
    return reglue.Policy(lambda seen: np.zeros(len(seen), np.int32))


def answer(code: int, content: bytes = b"") -> Plays:
    return lambda peer: peer.send(code, content)


def raw(data: bytes) -> Plays:
    return lambda peer: peer.send_raw(data)


def leave(peer: WirePeer) -> None:
    peer.close()


def leave_in_a_header(peer: WirePeer) -> None:
    peer.send_raw(b"\0\0")
    peer.close()


def hang(peer: WirePeer) -> None:
    """Say nothing, until the bridge gives up."""


def of_any(code: int) -> dict[str, tuple[Plays, tuple[object, ...]]]:
    """Wrong answers to any call, each with the parts of its error."""
    head = struct.Struct("!ii").pack
    return {
        "another kind": (answer(2), ("agent_connection",)),
        "a wrong code": (answer(code + 1, b""), ()),
        "an unknown code": (answer(77), ("code 77",)),
        "a length of -1": (raw(head(code, -1)), (-1,)),
        "a length of 2**31": (raw(struct.pack("!iI", code, 2**31)), (-(2**31),)),
        "a length of 2**31 - 1": (raw(head(code, 2**31 - 1)), (2**31 - 1,)),
        "half a header": (raw(b"\0\0"), (LATE,)),
        "half a header, then it leaves": (leave_in_a_header, ("left", 2, 8)),
        "it leaves": (leave, ("left",)),
        "it hangs": (hang, (LATE,)),
    }


def of_numbers(code: int, before: bytes = b"") -> dict[str, tuple[Plays, tuple[object, ...]]]:
    """Wrong answers where numbers are wanted; `before` precedes the numbers."""
    return {
        "text for numbers": (answer(code, text("fourteen words")), ()),
        "nothing for numbers": (answer(code), ()),
        "too few counts": (answer(code, before + b"\0" * 11), ()),
        "other counts": (answer(code, before + numbers([], [], b"1234")), (4,)),
        "huge counts": (answer(code, before + struct.pack("!iii", 2**31 - 1, -1, 2**31 - 1)), ()),
        "a number too many": (answer(code, before + numbers([1, 2], [0.5, 0.5])), ()),
    }


EARNED = {
    "a reward of NaN": (answer(13, struct.pack("!id", 0, np.nan) + SEEN), ("nan",)),
    "an infinite reward": (answer(13, struct.pack("!id", 0, np.inf) + SEEN), ("inf",)),
    "a strange end": (answer(13, struct.pack("!id", 7, 0.0) + SEEN), (7,)),
}

STARTS = of_any(12) | of_numbers(12)
STEPS = of_any(13) | of_numbers(13, struct.pack("!id", 0, 1.0)) | EARNED
INITS = of_any(11) | {
    "no text": (answer(11), ()),
    "a text of another size": (answer(11, struct.pack("!i", 99) + b"short"), (99,)),
    "a text that is too long": (raw(struct.pack("!ii", 11, MOST_TEXT + 1)), (MOST_TEXT,)),
    "no task spec string": (answer(11, text("VERSION 7")), ("column",)),
}
ACTIONS = of_any(5) | of_numbers(5)


@pytest.fixture
def programs() -> Iterator[WirePeers]:
    programs = WirePeers()
    yield programs
    for peer in programs.started:
        peer.join(30.0)
        assert not peer.is_alive()


AGENTS_ANSWERS = {4: b"", 5: CHOSEN, 6: CHOSEN, 7: b"", 8: b"", 10: text("hello")}
EARNED_ONE = struct.pack("!id", 0, 1.0) + SEEN
ANSWERS = AGENTS_ANSWERS | {11: text(TASK), 12: SEEN, 13: EARNED_ONE, 14: b"", 19: text("hello")}
"""Of a good agent and a good environment, by the call."""


def answering(fails: Plays = hang, at: int = -1) -> Plays:
    """Answers until the call `at`, and then fails; waits until the bridge has left."""

    def play(peer: WirePeer) -> None:
        while (code := peer.receive()[0]) != 35:
            if code == at:
                fails(peer)
                peer.drain()
                return
            peer.send(code, ANSWERS[code])

    return play


BAD_ANSWERS = {
    ("environment", 11): INITS,
    ("environment", 12): STARTS,
    ("environment", 13): STEPS,
    ("agent", 5): ACTIONS,
}
"""By the program's kind and the call."""


@pytest.mark.parametrize(
    ("kind", "at", "case"), [(*call, case) for call, cases in BAD_ANSWERS.items() for case in cases]
)
def test_a_bad_answer_is_a_fault_of_the_programs_kind(
    kind: str, at: int, case: str, programs: WirePeers
) -> None:
    fails, named = BAD_ANSWERS[kind, at][case]
    bridge, fault = LEGACY[kind]
    programs.add(kind, answering(fails, at))
    timeout_s = QUICK_S if LATE in named else PATIENT_S
    peers: dict[str, Any] = {"environment": "mountain-car", "agent": still()}
    peers[kind] = bridge(**programs.place, timeout_s=timeout_s)
    tracemalloc.start()
    try:
        with Glue(**peers) as rl:
            with raises(fault, f"legacy {kind}", code_name(at), *named):
                rl.init()
                rl.start()
                rl.step()
            assert tracemalloc.get_traced_memory()[1] < 1 << 26, "a size is no reason to allocate"
    finally:
        tracemalloc.stop()
        peers[kind].close()


def test_an_action_that_is_none_of_the_tasks_is_the_agents_fault(programs: WirePeers) -> None:
    programs.add("agent", answering(answer(5, numbers([7], [])), 5))
    agent = LegacyAgent(**programs.place)
    with Glue(environment="mountain-car", agent=agent) as rl:
        rl.init()
        with pytest.raises(AgentFault, match="7"):
            rl.start()
    agent.close()


def test_of_several_programs_only_the_one_at_fault_is_ended(programs: WirePeers) -> None:
    good = programs.add("agent", answering())
    bad = programs.add("agent", answering(answer(5, numbers([], [])), 5))
    agent = LegacyAgent(**programs.place)
    agent.max_slots = 2
    with Glue(environment="mountain-car", agent=agent, slots=2) as rl:
        rl.init()
        with raises(AgentFault, "agent_start", "0 ints"):
            rl.start()
        bad.ended()
        assert good.is_alive()
        agent.close()
        good.ended()


class Lost(Routines):
    """A glue whose routines nobody may call."""

    def __init__(self) -> None:
        super().__init__(slots=1, seed=0)

    def _call(self, call: Any) -> object:
        raise AssertionError(call)


BAD_CALLS = {
    name: of_any(20)[name]
    for name in (
        "another kind",
        "an unknown code",
        "a length of -1",
        "half a header",
        "half a header, then it leaves",
    )
} | {
    "a half step": (answer(36), ("code 36",)),
    "no limit of an episode": (answer(27), ("rl_episode",)),
    "no text of a message": (answer(33, b"\0\0"), ("rl_agent_message",)),
    "a call that is too long": (raw(struct.pack("!ii", 33, MOST_TEXT + 1)), (MOST_TEXT,)),
}


@pytest.mark.parametrize("case", BAD_CALLS)
def test_a_bad_experiment_is_a_programs_fault(case: str, programs: WirePeers) -> None:
    fails, named = BAD_CALLS[case]

    def play(peer: WirePeer) -> None:
        fails(peer)
        peer.drain()

    peer = programs.add("experiment", play)
    timeout_s = QUICK_S if LATE in named else PATIENT_S
    program = Place(Kind.EXPERIMENT, timeout_s=timeout_s, **programs.place).program()
    with raises(ProgramFault, "legacy experiment", *named):
        answer_routines(program, Lost())
    if not case.endswith("leaves"):
        peer.ended()
        assert peer.lines[-1] == ("recv", 35, b""), "it is told, not only left alone"


def test_a_routine_that_is_refused_ends_the_program(programs: WirePeers) -> None:
    """RL-Glue's protocol has no frame for an error."""

    def play(peer: WirePeer) -> None:
        peer.send(22)
        peer.drain()

    peer = programs.add("experiment", play)
    program = Place(Kind.EXPERIMENT, **programs.place).program()
    with Glue(environment="mountain-car", agent=still()) as rl, pytest.raises(OutOfOrder):
        answer_routines(program, rl)
    program.close()
    peer.ended()
    assert peer.lines[-1] == ("recv", 35, b"")


def test_strangers_before_a_program_keep_it_out_no_longer_than_their_hello(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reglue.bridges.rl_glue.legacy_program._HELLO_S", 0.2)
    strangers: list[socket.socket] = []
    peers = [
        WirePeer(CONNECTIONS[kind], lambda peer: peer.drain()) for kind in ("environment", "agent")
    ]

    def say(text: str) -> None:
        """Connect, the agent last: the bridge accepts in this order."""
        strangers.extend(connection_to(port_in(text)) for _ in range(2))
        strangers[0].sendall(b"\0\0")
        strangers[1].close()
        for peer in peers:
            peer.connect(port_in(text))

    Place(Kind.AGENT, port=0, say=say).program().close()
    strangers[0].close()
    for peer in peers:
        peer.ended()
    assert "environment_connection" in caplog.text
    assert len(caplog.records) == 3


# What cannot begin.


def test_a_port_of_rl_glues_variables_that_is_in_use_is_named_with_the_way_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        monkeypatch.setenv("RLGLUE_PORT", str(port))
        monkeypatch.setenv("RLGLUE_HOST", "localhost")
        with raises(UsageError, port, "localhost", 4096) as refused:
            Place(Kind.AGENT).program()
    assert "--port" in refused.value.with_flags()


def test_a_bridge_at_port_0_says_the_port(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setenv("RLGLUE_PORT", "0")
    with raises(AgentFault, "legacy agent", "0.1 s"):
        Place(Kind.AGENT, join_timeout_s=0.1, say=said.append).program()
    assert port_in(said[0]) > 0


def test_a_port_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RLGLUE_PORT", "many")
    with raises(BadArgument, got="port 'many'"):
        Place(Kind.AGENT)


def test_a_command_that_cannot_be_started_is_named() -> None:
    with raises(UsageError, "no-such-program"):
        Place(Kind.AGENT, cmd="no-such-program --fast").program()
    with raises(BadArgument):
        Place(Kind.AGENT, cmd="'").program()


def test_a_program_that_ends_before_it_connects_is_not_waited_for() -> None:
    with raises(AgentFault, "legacy agent", 3):
        Place(Kind.AGENT, cmd="sh -c 'exit 3'").program()


def test_a_host_that_others_reach_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    with raises(AgentFault):
        Place(Kind.AGENT, host="0.0.0.0", port=0, join_timeout_s=0.1).program()
    assert "0.0.0.0" in caplog.text


@pytest.mark.parametrize("name", ["timeout_s", "join_timeout_s"])
def test_timeouts_are_above_0(name: str) -> None:
    with raises(BadArgument, settings={name}):
        Place(Kind.AGENT, **{name: 0.0})  # type: ignore[arg-type]


# What RL-Glue lacks.


def test_a_task_that_rl_glue_cannot_express_is_none_for_a_legacy_agent() -> None:
    spec = reglue.TaskSpec(
        (reglue.TensorSpec("seen", "float64"),),
        (reglue.TensorSpec("key", "int64", (), reglue.Box((0.0,), (2.0**40,))),),
    )
    with raises(NotCapable, "key"):
        LegacyAgent().agent_init(spec)


def test_a_legacy_environment_has_no_states_seeds_and_second_slot(programs: WirePeers) -> None:
    programs.add("environment", answering())
    environment = LegacyEnvironment(**programs.place)
    with Glue(environment=environment, agent=still()) as rl:
        with pytest.raises(OutOfDomain):
            rl.init(slots=2)
        rl.init()
        rl.start()
        for routine in (rl.get_state, rl.get_random_seed, rl.standardize_randomness):
            with pytest.raises(NotSupported):
                routine()
    environment.close()


def test_a_legacy_agent_does_not_adapt(programs: WirePeers) -> None:
    programs.add("agent", answering())
    agent = LegacyAgent(**programs.place)
    with Glue(environment="mountain-car", agent=agent) as rl:
        rl.init()
        with pytest.raises(NotSupported):
            rl.adapt_begin()
    agent.close()


def test_freeze_is_a_message_if_there_is_one(
    programs: WirePeers, caplog: pytest.LogCaptureFixture
) -> None:
    peer = programs.add("agent", answering())
    agent = LegacyAgent(**programs.place, freeze_message="freeze learning")
    with Glue(environment="mountain-car", agent=agent) as rl:
        rl.init()
        rl.freeze()
    agent.close()
    assert ("recv", 10, text("freeze learning")) in peer.lines
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


def test_a_program_after_a_lost_one_has_not_had_its_messages(programs: WirePeers) -> None:
    """So that it might play another MDP, and a score be wrong: it is a fault."""
    programs.add("environment", answering(leave, 13))
    environment = LegacyEnvironment(**programs.place, join_timeout_s=0.2)
    with Glue(environment=environment, agent=still()) as rl:
        assert rl.env_message("MDP 3") == "hello"
        rl.init()
        rl.start()
        with raises(EnvironmentFault, "left"):
            rl.step()
        with raises(EnvironmentLost, "messages"):
            rl.start()
    environment.close()


def test_a_lost_program_is_replaced_by_the_next_that_connects(programs: WirePeers) -> None:
    programs.add("environment", answering(leave, 13))
    environment = LegacyEnvironment(**programs.place, join_timeout_s=30.0)
    with Glue(environment=environment, agent=still()) as rl:
        rl.init()
        rl.start()
        with raises(EnvironmentFault, "left"):
            rl.step()
        programs.add("environment", answering())
        rl.start()
        assert rl.step().rewards.tolist() == [1.0]
    environment.close()


def test_a_program_stays_lost(programs: WirePeers) -> None:
    programs.add("agent", lambda peer: peer.drain())
    program: LegacyProgram = Place(Kind.AGENT, **programs.place).program()
    program.close()
    assert program.is_lost
