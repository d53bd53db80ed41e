"""Legacy programs get from the bridges, byte for byte, what RL-Glue 3.04's hub was seen to send."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from glue_server import Glue
from reglue.bridges.rl_glue.legacy_agent import LegacyAgent
from reglue.bridges.rl_glue.legacy_environment import LegacyEnvironment
from reglue.bridges.rl_glue.legacy_experiment import answer_routines
from reglue.bridges.rl_glue.legacy_program import Kind, Place
from reglue.task_spec_string import task_spec_to_string
from tests.glue_server import routines
from tests.glue_server.routines.rlglue_toys import SPEC, text
from tests.reglue.bridges.wire_peers import CONNECTIONS, WirePeer, WirePeers

TRACES = Path(*routines.__path__, "rlglue_traces.json")
CASES: dict[str, Any] = json.loads(TRACES.read_text(encoding="utf-8"))["cases"]

Line = tuple[str, int, bytes]

_IN_TRACES = {"environment": "env"}


@pytest.mark.parametrize("case", ["rg_wire_full", "rg_wire_len1_first_step_terminal"])
def test_every_program_hears_the_originals_bytes(case: str) -> None:
    """Beside the action where an episode has ended: we send none, the original the one before."""
    programs = {who: WirePeers() for who in CONNECTIONS}
    peers = {who: each.add(who, player(lines_of(case, who))) for who, each in programs.items()}
    environment = LegacyEnvironment(**programs["environment"].place)
    agent = LegacyAgent(**programs["agent"].place)
    program = Place(Kind.EXPERIMENT, **programs["experiment"].place).program()
    with Glue(environment=environment, agent=agent) as rl:
        answer_routines(program, rl)
    environment.close()
    agent.close()
    program.close()
    for who, peer in peers.items():
        peer.ended()
        wanted = lines_of(case, who)
        assert peer.lines[: len(wanted)] == wanted, who
        assert (peer.lines[-1] == ("recv", 35, b"")) == (who != "experiment")


def lines_of(case: str, who: str) -> list[Line]:
    """The lines that a program receives and sends, with a valid task spec string."""
    task = text(task_spec_to_string(SPEC))
    lines = []
    for line in CASES[case]["ours"]:
        name, direction, code, *payload = line.split()
        content = bytes.fromhex("".join(payload))
        if name == _IN_TRACES.get(who, who):
            lines.append((direction, int(code), task if content == text("TS") else content))
    return lines


def player(lines: list[Line]) -> Callable[[WirePeer], None]:
    """Says its part; then, unless it is the experiment, answers the calls of the end."""

    def play(peer: WirePeer) -> None:
        for direction, code, content in lines:
            if direction == "recv":
                peer.receive()
            else:
                peer.send(code, content)
        while lines[0][0] == "recv" and (called := peer.receive()[0]) != 35:
            peer.send(called)

    return play
