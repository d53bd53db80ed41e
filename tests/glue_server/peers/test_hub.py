"""Whoever comes, in any order, is joined; who vanishes hurts his own run alone."""

from __future__ import annotations

import signal
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import pytest

from env_adapters.classic.gridworld import GridWorld
from glue_server.peers import hub
from glue_server.peers.hub import ROLES, Hub
from glue_server.processes.interrupts import uninterrupted
from glue_server.rpc import GlueServer
from glue_server.timeouts import Timeouts
from reglue.agents.agent import Agent
from reglue.environments.environment import Environment
from reglue.environments.slot_worlds import Worlds
from reglue.errors import (
    AgentFault,
    EnvironmentFault,
    OutOfDomain,
    OutOfOrder,
    SessionLost,
    UnknownKey,
)
from reglue.examples.random_agent import RandomAgent
from reglue.experiments.experiment import Experiment
from reglue.net.grpc_settings import grpc
from reglue.net.join_string import Transport
from tests.error_facts import raises
from tests.glue_server.hubs import PATIENCE_S, Start, a_hub, corridor
from tests.glue_server.playing import SOLVED, Follower, Scripted, still
from tests.glue_server.rpc.peers import RawAgent
from tests.glue_server.rpc.proxies import TRANSPORTS, proxy_to
from tests.waiting import until
from tests.worlds import Corridor, Faulty

LONG_S = 3600.0  # nobody waits so long


def start_peers(
    start: Start,
    server: GlueServer,
    agent: Agent | None = None,
    environment: Environment | None = None,
) -> Future[str]:
    """Both join; of the agent the reason is returned for which it left."""
    start(environment or corridor(), server.address, server.tokens["environment"])
    return start(agent or Follower(), server.address, server.tokens["agent"])


def program_of(server: GlueServer, **more: Any) -> Experiment:
    return Experiment(server.address, server.tokens["experiment"], **more)


def test_a_program_plays_the_agent_and_the_environment_that_have_come(start: Start) -> None:
    with a_hub() as (server, said):
        agent = start(Follower(), server.address, server.tokens["agent"], name="follower")
        environment = start(
            corridor(), server.address, server.tokens["environment"], name="corridor"
        )
        with program_of(server, name="program") as rl:
            assert rl.init().horizon == 5
            assert rl.episode(0)
            assert (rl.num_steps(), rl.num_episodes()) == (5, 1)
            assert rl.return_() == pytest.approx(5.0, abs=1.0)
            rl.cleanup()
        assert agent.result(PATIENCE_S) == "the run is over: the experiment has left"
        assert environment.result(PATIENCE_S) == "the run is over: the experiment has left"
    assert said[0] == "waiting for an agent, an environment and an experiment"
    assert "run 1 begins: agent follower, environment corridor, experiment program" in said


@pytest.mark.parametrize(
    ("raised", "why"),
    [
        (KeyboardInterrupt(), "the experiment was interrupted"),
        (SystemExit(143), "the experiment was interrupted"),
        (SystemExit(1), "the experiment has left"),
    ],
)
def test_who_plays_with_a_program_is_told_whether_it_was_interrupted(
    start: Start, raised: BaseException, why: str
) -> None:
    with a_hub() as (server, _):
        agent = start_peers(start, server)
        with pytest.raises(type(raised)):
            _begin_and_raise(raised, server)
        assert agent.result(PATIENCE_S) == f"the run is over: {why}"


def _begin_and_raise(raised: BaseException, server: GlueServer) -> None:
    with program_of(server) as rl:
        rl.init()
        raise raised


@pytest.mark.parametrize("window_s", [0.0, PATIENCE_S])
def test_who_is_sent_away_joins_again_if_it_can_and_else_is_told_to(
    start: Start, window_s: float
) -> None:
    here: list[list[str]] = []
    with GlueServer(places=dict.fromkeys(ROLES, 1), reconnect_window_s=window_s) as server:
        hub = Hub(
            server,
            timeouts=Timeouts(),
            announce=lambda _: None,
            tell=lambda roles: here.append([*roles]),
        )
        with ThreadPoolExecutor(1) as threads:
            threads.submit(hub.serve)
            agent = start(Follower(), server.address, server.tokens["agent"])
            until(lambda: here == [["agent"]], "it is here")
            hub.send_away("environment")  # nobody
            hub.send_away("agent")
            if window_s:
                until(lambda: here == [["agent"], [], ["agent"]], "it is here again")
            else:
                assert "join again" in agent.result(PATIENCE_S)
            hub.close()


def test_it_says_what_it_still_waits_for(start: Start) -> None:
    with a_hub() as (server, said):
        left = start(corridor(), server.address, server.tokens["environment"], name="corridor")
        until(lambda: len(said) == 2, "it says what it waits for")
        assert said[1] == "waiting for an agent and an experiment; here: environment corridor"
    assert left.result(PATIENCE_S) == "the hub has closed"


def test_it_names_a_few_of_those_who_wait(start: Start) -> None:
    with a_hub() as (server, said):
        for role, peer in (("agent", Follower), ("environment", corridor)):
            for place in range(4):
                start(peer(), server.address, server.tokens[role], name=f"{role[0]}{place}")
        until(lambda: said[-1].endswith(", 2 more"), "all eight are here")
        assert said[-1].count(", ") == 6


def test_what_is_refused_is_refused_by_the_same_errors_as_in_one_process(start: Start) -> None:
    with a_hub() as (server, _):
        start(RandomAgent(), server.address, server.tokens["agent"])
        start(GridWorld(), server.address, server.tokens["environment"])
        with program_of(server) as rl:
            with raises(OutOfOrder, "RL_step", "RL_init"):
                rl.step()
            rl.init()
            with raises(OutOfOrder, "RL_step", "slot 0", "RL_start"):
                rl.step()
            with raises(OutOfDomain, got="slot 9", wanted="0 to 0"):
                rl.start([9])
            with pytest.raises(UnknownKey):
                rl.set_state("guess")
            with raises(OutOfDomain, got="RL_return(0.9)"):
                rl.return_(0.9)
            rl.start()
            assert rl.num_steps() == 1


def test_the_program_of_many_slots_gets_rows(start: Start) -> None:
    with a_hub() as (server, _):
        start_peers(start, server)
        with program_of(server, slots=32, seed=3) as rl:
            assert rl.init().slots == 32
            started = rl.start()
            assert started.slots == tuple(range(32))
            assert started.actions["action"].shape == (32, 1)
            stepped = rl.step()
            assert stepped.rewards.shape == (32,)
            assert rl.episode(4) is False
            assert rl.episode()
            assert [rl.num_episodes(slot=slot) for slot in range(32)] == [1] * 32


def test_a_faulty_agent_is_told_of_and_the_others_play_on(start: Start) -> None:
    class Tired(Follower):
        def agent_step(self, rewards: Any, observations: Any, steps: Any) -> Any:
            raise RuntimeError("tired")

    with a_hub() as (server, _):
        bad = start_peers(start, server, Tired())
        with program_of(server) as rl:
            rl.init()
            rl.start()
            with raises(AgentFault, "RuntimeError: tired"):
                rl.step()
        with pytest.raises(RuntimeError):
            bad.result(PATIENCE_S)
        start_peers(start, server)
        with program_of(server) as rl:
            rl.init()
            assert rl.episode()


def test_peers_need_no_name() -> None:
    with a_hub() as (server, said), grpc.insecure_channel(server.address) as channel:
        agent = RawAgent(channel, server.tokens["agent"], agent="")
        here = "waiting for an environment and an experiment; here: agent without a name"
        until(lambda: here in said, "the agent is here")
        agent.vanish()


def test_a_wrong_action_ends_its_episode_and_the_run_goes_on(start: Start) -> None:
    agent = Scripted(lambda turn: still(turn) if len(turn.starts) else still(turn) * float("nan"))
    with a_hub() as (server, _):
        start_peers(start, server, agent)
        with program_of(server) as rl:
            rl.init()
            rl.start()
            with raises(AgentFault, "'action' = [nan]", "slot 0"):
                rl.step()
            with raises(OutOfOrder, "RL_step", "slot 0", "RL_start"):
                rl.step()
            rl.start()


def test_a_faulty_environment_is_told_of(start: Start) -> None:
    with a_hub() as (server, _):
        start_peers(start, server, environment=Worlds(Faulty(faults=["raises"])))
        with program_of(server) as rl:
            rl.init()
            with raises(EnvironmentFault, "slot 0", "the floor gave way"):
                rl.episode()
            rl.start()


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("role", ROLES)
def test_who_vanishes_while_waiting_is_forgotten(
    start: Start, role: str, transport: Transport
) -> None:
    """Those who come afterwards find no Unix socket where their ticket says, and use gRPC."""
    offered: Transport = "auto" if transport == "unix" else "grpc"
    with (
        ExitStack() as closing,
        a_hub(reconnect_window_s=0.2, transport=offered) as (server, said),
        proxy_to(server, role) as way,
    ):
        if role == "experiment":
            program = Experiment(way.address, server.tokens[role], name="ghost")
            closing.callback(program.close)
            gone: Future[Any] = closing.enter_context(ThreadPoolExecutor(1)).submit(program.init)
        else:
            peer = Follower() if role == "agent" else corridor()
            gone = start(peer, way.address, server.tokens[role], name="ghost")
        until(lambda: any(f"{role} ghost" in words for words in said), "it has come")
        way.close()
        until(lambda: f"{role} ghost" not in said[-1], "it is forgotten")
        start_peers(start, server)
        with program_of(server, name="alive") as rl:
            rl.init()
            assert rl.episode()
        with pytest.raises(SessionLost):
            gone.result(PATIENCE_S)


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_program_comes_back_and_every_routine_is_carried_out_once(
    start: Start, transport: Transport
) -> None:
    with (
        a_hub(reconnect_window_s=PATIENCE_S, transport=transport) as (server, _),
        proxy_to(server, "experiment") as way,
    ):
        start_peers(start, server, environment=Worlds(Corridor(solved=SOLVED, horizon=500)))
        with Experiment(way.address, server.tokens["experiment"]) as rl:
            rl.init()
            rl.start()
            for step in range(200):
                if step % 20 == 10:
                    way.cut()
                stepped = rl.step()
                assert stepped.observations["observation"][0, 0] == step + 1
            assert rl.num_steps() == 201
    assert way.cuts >= 5


def endless() -> Worlds:
    """Their walk never ends by itself."""
    return Worlds(Corridor(solved={"walk": [0]}, horizon=10**9))


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_an_episode_without_end_ends_with_its_program(start: Start, transport: str) -> None:
    with a_hub(reconnect_window_s=PATIENCE_S, transport=transport) as (server, said):
        agent = start_peers(start, server, environment=endless())
        rl = program_of(server)
        rl.init()
        rl._asking._timeout_s = 0.5  # not before: RL_init may take a while
        with raises(SessionLost, "longer than its"):
            rl.episode()
        rl.close()
        assert "the experiment has left" in agent.result(PATIENCE_S)
        until(lambda: "run 1 is over: the experiment has left" in said, "the run is over")


def test_an_episode_without_end_does_not_keep_the_hub(start: Start) -> None:
    class Stepping(Follower):
        has_stepped = threading.Event()

        def agent_step(self, rewards: Any, observations: Any, steps: Any) -> Any:
            self.has_stepped.set()
            return super().agent_step(rewards, observations, steps)

    with a_hub(reconnect_window_s=PATIENCE_S) as (server, _):
        agent = start_peers(start, server, Stepping(), endless())
        rl = program_of(server)
        rl.init()
        threads = ThreadPoolExecutor(1)
        playing = threads.submit(rl.episode)
        assert Stepping.has_stepped.wait(PATIENCE_S)
    assert "the hub has closed" in agent.result(PATIENCE_S)
    with pytest.raises((OutOfOrder, SessionLost)):
        playing.result(PATIENCE_S)
    rl.close()
    threads.shutdown()


def test_after_a_routine_that_was_interrupted_nothing_more_is_asked(start: Start) -> None:
    """Its answer would be taken for the next one's."""
    may_answer, has_answered = threading.Event(), threading.Event()

    class Slow(Follower):
        def agent_message(self, message: str) -> str:
            assert may_answer.wait(PATIENCE_S)
            has_answered.set()
            return f"answer to {message}"

    with a_hub(reconnect_window_s=PATIENCE_S) as (server, _):
        start_peers(start, server, Slow())
        with program_of(server, timeout_s=0.1) as rl:
            with pytest.raises(SessionLost):
                rl.agent_message("one")
            may_answer.set()
            assert has_answered.wait(PATIENCE_S)
            with raises(SessionLost, "longer than its"):
                rl.agent_message("two")


def test_a_message_that_nobody_would_take_is_refused_and_hurts_nobody(start: Start) -> None:
    with a_hub() as (server, _):
        start_peers(start, server)
        with program_of(server) as rl:
            rl.init()
            with raises(OutOfDomain, "70000012 bytes", 2**26):
                rl.agent_message("x" * 70_000_000)
            assert rl.episode()


def test_a_program_says_what_task_and_variant_it_plays(start: Start) -> None:
    with a_hub() as (server, _):
        start_peers(start, server, environment=Worlds(Corridor(solved=SOLVED, show=True)))
        with program_of(server, task="run", variant=3) as rl:
            rl.init()
            assert rl.start().observations["observation"][0, 2:].tolist() == [1.0, 3.0]
        start_peers(start, server)
        with (
            program_of(server, task="swim") as rl,
            raises(OutOfDomain, "walk", "run", got="task 'swim'"),
        ):
            rl.init()


def test_a_hub_that_is_interrupted_does_not_wait_for_a_peer_that_thinks(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing but the interrupt ends this in time, and the program's call ends with it."""
    monkeypatch.setattr(hub, "_ROUTINE_S", LONG_S)
    thinking, over = threading.Event(), threading.Event()

    class Thinker(Follower):
        def agent_step(self, *_: Any) -> Any:
            thinking.set()
            over.wait(LONG_S)

    def play(server: GlueServer) -> None:
        with program_of(server) as rl:
            rl.init()
            rl.episode(0)

    with ThreadPoolExecutor(1) as threads:
        with (
            uninterrupted(then_raise=False),
            a_hub(reconnect_window_s=LONG_S) as (server, said),
        ):
            start_peers(start, server, Thinker())
            told = threads.submit(play, server)
            assert thinking.wait(PATIENCE_S)
            signal.raise_signal(signal.SIGINT)
        over.set()
        with pytest.raises((AgentFault, SessionLost)):
            told.result(PATIENCE_S)
    assert "run 1 is over: the hub has closed" in said


def test_a_run_that_begins_while_the_hub_closes_lets_its_peers_go(start: Start) -> None:
    """It has its peers by then, and the hub does not know of it yet."""
    said: list[str] = []

    def announce(words: str) -> None:
        said.append(words)
        if words.startswith("run 1 begins"):
            closing.close()

    with GlueServer(places=dict.fromkeys(ROLES, 1)) as server:
        closing = Hub(server, timeouts=Timeouts(), announce=announce)
        peers = [
            start(Follower(), server.address, server.tokens["agent"]),
            start(corridor(), server.address, server.tokens["environment"]),
        ]
        with (
            ThreadPoolExecutor(1) as threads,
            program_of(server) as rl,
        ):
            serving = threads.submit(closing.serve)
            with raises(SessionLost, "the hub has closed"):
                rl.init()
            serving.result(PATIENCE_S)
            assert said[-1] == "run 1 is over: the hub has closed"
            for peer in peers:
                assert "the hub has closed" in peer.result(PATIENCE_S)
