"""Agents that break the protocol's rules hurt their own team alone, and the log names it."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from glue_server.rpc.gateways.agent_gateway import AgentGateway
from reglue.errors import Refused
from reglue.net.grpc_settings import HUB_MESSAGE_BYTES, grpc
from reglue.net.join_string import JoinString, split_address
from reglue.net.lobby import open_channel
from tests.error_facts import raises
from tests.glue_server.rpc.peers import RawAgent, refusal
from tests.glue_server.rpc.test_connections import PREFACE
from tests.reglue_bench.agents import Pausing, Seeded
from tests.reglue_competition.competitions import phase
from tests.reglue_competition.runs import malicious
from tests.reglue_competition.runs.corridor_submissions import joined, of_folder
from tests.reglue_competition.runs.hosting import Hosting, corridor, hosting
from tests.waiting import PATIENCE_S, until

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("cleared")]

SHORT = phase(benchmarks=[corridor(num_episodes=2)])
PLAY = {"places": 12, "first_step_s": 8.0, "step_s": 8.0}

FAILS = {
    malicious.floods: "agent_disconnected: the agent's connection is gone",
    malicious.sends_too_much: "agent_disconnected: the agent's connection is gone",
    malicious.says_nothing: "agent_timeout: the agent did not answer within 8 s",
    malicious.leaves: "agent_disconnected: the agent's connection is gone",
    malicious.answers_garbage: "agent_error",
}
PLAYS = (malicious.answers_twice, malicious.answers_out_of_order)
LIES = (malicious.lies_about_its_slots,)


class Threads:
    """Agents, each in a thread of its own."""

    def __init__(self) -> None:
        self._threads: list[threading.Thread] = []

    def start(self, work: Callable[[], object]) -> None:
        self._threads.append(threading.Thread(target=work))
        self._threads[-1].start()

    def join(self) -> None:
        for thread in self._threads:
            thread.join(60.0)
            assert not thread.is_alive(), "an agent is still there"


def raw(where: JoinString, twist: malicious.Twist) -> str:
    with open_channel(where, HUB_MESSAGE_BYTES) as channel:
        return malicious.play_raw(channel, where.token, twist)


def reconnects(where: JoinString) -> None:
    """Come back again and again, and answer nothing, until it is refused."""
    with open_channel(where, HUB_MESSAGE_BYTES) as channel:
        ticket = None
        with suppress(grpc.RpcError, StopIteration):
            while True:
                with malicious.left(RawAgent(channel, where.token, ticket=ticket)) as agent:
                    ticket, message = agent.ticket, agent.hear()
                if message.WhichOneof("call") == "farewell":
                    return


def drips(gateway: AgentGateway, over: threading.Event) -> None:
    """Send a byte of a request now and then, for as long as anybody listens."""
    with socket.create_connection(split_address(gateway.address)) as line, suppress(OSError):
        for byte in PREFACE + b"\0\0\x20\x01\4\0\0\0\1" + b"\x82" * 1000:
            line.sendall(bytes([byte]))
            if over.wait(0.05):
                return


def test_whoever_breaks_the_rules_fails_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """All at once, beside an honest team; each gets a typed reason, and its team is in the log."""
    caplog.set_level(logging.INFO, "reglue")
    over, threads = threading.Event(), Threads()
    with ExitStack() as closing:
        closing.callback(threads.join)  # once the server is closed: who says nothing hears no more
        closing.callback(over.set)
        server = closing.enter_context(hosting(tmp_path, SHORT, play=PLAY))
        closing.enter_context(joined(server.team("honest"), Seeded()))
        threads.start(lambda: drips(server.gateway, over))
        for twist in (*FAILS, *PLAYS, *LIES):
            where = server.team(twist.__name__)
            threads.start(lambda where=where, twist=twist: raw(where, twist))  # type: ignore[misc]
        again = server.team("reconnects")
        threads.start(lambda: reconnects(again))
        finish = ["honest", *(each.__name__ for each in (*PLAYS, *LIES))]
        fail = [*(each.__name__ for each in FAILS), "reconnects"]
        server.runs_until_status("finished", *finish)
        server.runs_until_status("failed", *fail)
        check_honest(server, tmp_path / "alone", ["honest", *(each.__name__ for each in PLAYS)])
        details = {team: server.submission(team).detail for team in fail}
        for twist, why in FAILS.items():
            assert details[twist.__name__].startswith(why), details
        assert details["reconnects"].startswith("agent_")
        (lies,) = server.store.runs(server.submission(LIES[0].__name__).id)
        assert lies.score == 0.0
        said = [each for each in caplog.records if " is failed: " in each.getMessage()]
        assert {vars(each)["team"] for each in said} == {*fail}


def check_honest(server: Hosting, folder: Path, teams: list[str]) -> None:
    """Each has the rows that it gets alone."""
    for team in teams:
        submission = server.submission(team)
        here = of_folder(server.folder(submission), 1)
        assert here == server.alone(folder / team, Seeded(), submission), team


def test_a_second_session_of_a_run_is_refused_and_disturbs_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Nor does a team's own quota let it in as another."""
    with hosting(tmp_path, SHORT, quotas={"at_once": 1}) as server, ExitStack() as closing:
        where = server.team("ours")
        agent = closing.enter_context(joined(where, Pausing(), name="raw"))
        server.runs_until_status("playing", "ours")
        until(lambda: "raw" in [each.name for each in server.store.submissions()], "it is entered")
        with open_channel(where, HUB_MESSAGE_BYTES) as channel:
            with pytest.raises(grpc.RpcError) as refused:
                RawAgent(channel, where.token)
            assert refusal(refused.value)[0] == "ALREADY_EXISTS"
        with (
            joined(where, Seeded(), name="other") as other,
            raises(Refused, 1),
        ):
            other.result(PATIENCE_S)
        server.runs_until_status("finished", "ours")
        check_honest(server, tmp_path / "alone", ["ours"])
        server.runs_until(agent.done, "it is told")
        words = [each for each in caplog.records if "a join was refused" in each.getMessage()]
        assert vars(words[0])["submission"] == server.submission("ours").id
        assert vars(words[-1])["team"] == "ours"
