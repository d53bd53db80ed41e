"""The messages to an agent depend on nothing that it must not know.

The same agent plays the same run under two sets of secrets, and all bytes that it is sent are
compared; tests/reglue_bench/procedures/test_procedure_secrets.py does so with procedures.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pytest

from env_adapters import Cell
from glue_server import EpisodeRunner, NextOrder, Order, Timeouts
from glue_server.agent.agent_port import MoreTime
from glue_server.rpc.peer_codecs import AgentCodec
from glue_server.rpc.stream_port import StreamPort
from reglue import Agent, Phase, TaskSpec
from reglue.agents.agent import hello, play
from reglue.errors import BadReply
from reglue.messages.agent_messages import UNLIMITED, AgentInit, Budget, Call, Reply
from reglue.v1 import agent_pb2 as pb
from reglue.wire.agent_encoding import decode_call, encode_reply
from tests.glue_server.playing import Follower, local
from tests.glue_server.rpc.peers import LocalStream
from tests.waiting import PATIENCE_S
from tests.worlds import Corridor


@dataclass(frozen=True)
class Secrets:
    """The driver's knowledge: where each cell of a run lies, and the benchmark's seeds."""

    solved: Mapping[str, Sequence[int]]
    cells: Sequence[tuple[str, int]]  # task and variant, in the order of the plan
    seed: int


# Steps to success, in the order of both plans: 2, 0 (never), 4, 1, 3.
KITCHEN = Secrets(
    solved={"kitchen": (2, 0), "attic": (4, 1, 3)},
    cells=[("kitchen", 0), ("kitchen", 1), ("attic", 0), ("attic", 1), ("attic", 2)],
    seed=42,
)
CELLAR = Secrets(
    solved={"a-much-longer-name-of-a-cellar": (9, 9, 9, 3, 1), "yard": (4, 0, 9, 2)},
    cells=[
        ("yard", 3),
        ("yard", 1),
        ("yard", 0),
        ("a-much-longer-name-of-a-cellar", 4),
        ("a-much-longer-name-of-a-cellar", 3),
    ],
    seed=2**63 - 1,
)
SAME_AT_FIRST = Secrets(
    solved={"kitchen": (2, 0, 4), "attic": (9, 1, 3)},
    cells=[("kitchen", 0), ("kitchen", 1), ("kitchen", 2), ("attic", 1), ("attic", 2)],
    seed=42,
)


class Tap:
    """An agent behind the encoding of a real stream; `sent` is every byte that it gets."""

    is_away = False
    away_s = 0.0
    reconnect_window_s = 0.0

    def __init__(self, agent: Agent) -> None:
        self.hello = hello(agent, "tapped")
        self.sent: list[bytes] = []
        self.waited_s = 0.0
        self._agent = agent
        self._port = StreamPort(self.hello, AgentCodec(2**26))
        self._line = LocalStream()
        self._port.attach(0, self._line.stream)
        self._spec: TaskSpec | None = None

    def send(self, call: Call, budget: Budget = UNLIMITED) -> None:
        self._port.send(call, budget)
        message = self._pass_on()
        numbered = decode_call(message, self._spec)
        if isinstance(numbered.call, AgentInit):
            self._spec = numbered.call.spec
        reply = play(self._agent, numbered.call)
        assert reply is not None
        self.arrive(encode_reply(numbered.seq, reply, self._spec))

    def arrive(self, reply: pb.AgentReply) -> None:
        self._line.say(reply)

    def receive(self, timeout_s: float, more_s: MoreTime | None = None) -> Reply | None:
        return self.taken(PATIENCE_S)  # it is here once the stream's own thread has taken it in

    def taken(self, timeout_s: float) -> Reply | None:
        reply: Reply | None = self._port.receive(timeout_s)
        return reply

    @property
    def owed(self) -> int:
        return self._port.owed

    def filenos(self) -> Sequence[int]:
        """The answer is there."""
        return ()

    def refuse(self, refused: BadReply) -> None:
        self._port.refuse(refused)
        self._pass_on()

    def close(self, reason: str) -> None:
        self._port.close(reason)
        self._pass_on()

    def _pass_on(self) -> pb.AgentCall:
        message: bytes = next(self._line.heard)
        self.sent.append(message)
        return pb.AgentCall.FromString(message)


class Refused(Follower):
    """Plays out of bounds now and then, and once what is not a number."""

    def agent_step(self, rewards, observations, steps):  # type: ignore[no-untyped-def]
        actions = super().agent_step(rewards, observations, steps)
        if self.phase is Phase.EVALUATE and observations["observation"][0, 0] == 3:
            actions[0] = float("nan")
        return actions


def sent_under(secrets: Secrets, *, show: bool) -> list[bytes]:
    """A whole run in three slots: a wave that adapts, then an evaluation."""
    tap = Tap(Refused())
    pool = local(Corridor(solved=secrets.solved, show=show), 3)
    timeouts = Timeouts(first_step_s=1.0, step_s=1.0)
    clock = itertools.count()
    glue = EpisodeRunner(tap, pool, timeouts=timeouts, clock=lambda: float(next(clock)))
    glue.init()
    glue.adapt_begin()
    list(glue.play(orders(secrets, Phase.ADAPT), Phase.ADAPT))
    glue.adapt()
    glue.freeze()
    list(glue.play(orders(secrets, Phase.EVALUATE), Phase.EVALUATE))
    glue.cleanup()
    tap.close("the run is over")
    return tap.sent


def orders(secrets: Secrets, phase: Phase) -> NextOrder:
    """The plan's cells in turn; seeds and repeats are secrets, start seeds are the run's."""
    planned: Iterator[Order] = iter(
        [
            Order(k, k, Cell(task, variant, secrets.seed, secrets.seed % 7, phase), 1000 + k)
            for k, (task, variant) in enumerate(secrets.cells)
        ]
    )
    return lambda slot: next(planned, None)


def calls(sent: Sequence[bytes]) -> list[str | None]:
    return [pb.AgentCall.FromString(each).WhichOneof("call") for each in sent]


def test_all_bytes_are_equal_where_the_dynamics_ignore_the_secrets() -> None:
    assert sent_under(KITCHEN, show=False) == sent_under(CELLAR, show=False)


def test_the_run_that_is_compared_uses_every_kind_of_call() -> None:
    """Guards the test above: bytes that are not sent cannot differ."""
    kinds = {*calls(sent_under(KITCHEN, show=False))}
    assert kinds == {
        *("init", "turn", "adapt_begin", "adapt", "freeze", "cleanup"),
        *("refusal", "farewell"),
    }


@pytest.mark.parametrize("secret", ["kitchen", "attic", "yard", "cellar"])
def test_no_task_is_named_in_any_byte(secret: str) -> None:
    sent = sent_under(KITCHEN, show=True) + sent_under(CELLAR, show=True)
    assert not any(secret.encode() in each for each in sent)


def test_all_bytes_are_equal_up_to_the_first_observation_that_differs() -> None:
    one, two = sent_under(KITCHEN, show=True), sent_under(SAME_AT_FIRST, show=True)
    first = next(
        place for place, pair in enumerate(zip(one, two, strict=False)) if len({*pair}) == 2
    )
    turn, other = (pb.AgentCall.FromString(sent[first]).turn for sent in (one, two))
    assert 2 in turn.start_slots  # the third cell is the first that lies elsewhere
    assert turn.observations != other.observations


def test_the_first_turn_that_differs_differs_in_its_observation_alone() -> None:
    one, two = sent_under(KITCHEN, show=True), sent_under(SAME_AT_FIRST, show=True)
    differing = next(pair for pair in zip(one, two, strict=False) if len({*pair}) == 2)
    messages = [pb.AgentCall.FromString(each) for each in differing]
    for message in messages:
        del message.turn.observations[:]
    assert messages[0] == messages[1]


def test_a_different_start_seed_is_a_different_byte() -> None:
    """The comparison sees what there is to see."""
    spec = Corridor(solved={"a": (1,)}).spec
    tap = Tap(Follower())
    tap.send(AgentInit(spec))
    glue = EpisodeRunner(tap, local(Corridor(solved={"a": (1,)}), 1), timeouts=Timeouts())
    for seed in (1, 2):
        order = iter([Order(0, 0, Cell("a", 0, 0, 0, Phase.EVALUATE), seed)])
        list(glue.play(lambda slot, order=order: next(order, None), Phase.EVALUATE))  # type: ignore[misc]
    tap.close("that was all")
    starts = [pb.AgentCall.FromString(each).turn for each in (tap.sent[1], tap.sent[3])]
    assert starts[0] != starts[1]
