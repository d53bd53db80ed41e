"""A gateway's link to the process of a run."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from glue_server.rpc import GlueServer
from glue_server.rpc.gateways.run_link import RunLink
from reglue.v1 import lobby_pb2


def test_a_link_that_is_closed_leads_to_its_run_no_more() -> None:
    with GlueServer(transport="grpc") as server:
        process: Any = SimpleNamespace(join_string=server.join_string("agent"))
        link = RunLink(process)
        assert link.ask(lobby_pb2.ROLE_AGENT, "one") is not None
        link.close()
        assert link.ask(lobby_pb2.ROLE_AGENT, "another") is None
