"""The C++ client's agents, environments and benchmark programs keep the protocol's rules."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from env_adapters.suites import suite_name
from glue_server.conformance.checks import CHECKS
from reglue.agents.agent import Agent
from reglue.client import connect
from reglue.environments.environment import Worlds
from reglue.examples.expert import ExpertAgent
from reglue.examples.reach_adapt import ReachAdapt
from tests.agent_clients.programs import built, keeps_the_rules, run
from tests.glue_server.hubs import a_hub

pytestmark = pytest.mark.timeout(600)  # the first test compiles the client


@pytest.mark.parametrize("transport", ["grpc", "unix"])
@pytest.mark.parametrize("role", CHECKS)
def test_a_program_in_cpp_keeps_the_rules(role: str, transport: str) -> None:
    program = built("cpp", f"conformance_{role}", f"conformance/conformance_{role}")
    keeps_the_rules(role, str(program), transport)


@pytest.mark.parametrize(
    ("procedure", "environment", "arguments", "agent"),
    [
        ("multi-task", "MT10", {"one_hot": True}, ExpertAgent),
        ("meta-learning", "ML1:reach-wall-v3", {"split": "test"}, ReachAdapt),
    ],
)
def test_metaworlds_evaluations_in_cpp_succeed_where_those_in_python_do(
    procedure: str, environment: str, arguments: dict[str, Any], agent: type[Agent]
) -> None:
    name = "metaworld_evaluation"
    program = built("cpp", name, f"examples/{name}/{name}")
    numbers = ("1",) if procedure == "multi-task" else ("2", "1")
    rates = []
    for command in ([str(program)], [sys.executable, "-m", "reglue.examples.metaworld_evaluation"]):
        with ThreadPoolExecutor(2) as pool, a_hub() as (server, _):
            world = Worlds(suite_name(environment, arguments).build())
            for role, peer in (("environment", world), ("agent", agent())):
                pool.submit(connect, peer, server.address, server.tokens[role])
            where = {"REGLUE_ADDRESS": server.address, "REGLUE_TOKEN": server.tokens["experiment"]}
            rates.append(float(run(*command, procedure, *numbers, environment=where)))
    assert rates[0] == pytest.approx(rates[1], abs=1e-5)
