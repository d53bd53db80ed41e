"""Messages of the C++ client's sessions to their author, and their ends from outside."""

from __future__ import annotations

import re
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from glue_server.conformance.tcp_proxy import UnixProxy
from glue_server.rpc import GlueServer
from reglue.messages.agent_messages import AgentInit, RoutineDone, TextMessage
from reglue.net.join_string import Transport
from tests.agent_clients.client_programs import built, started
from tests.glue_server.playing import corridor_pool
from tests.glue_server.rpc.proxies import TRANSPORTS, cut_off, proxy_to
from tests.waiting import until

PATIENCE_S = 30.0
STOPS_S = 10.0  # gRPC gives up after 20
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"

pytestmark = [
    pytest.mark.timeout(600),  # the first test compiles the client
    pytest.mark.parametrize("transport", TRANSPORTS),
]


def test_a_lost_connection_is_a_line_and_each_call_another_if_it_is_wanted(
    transport: Transport,
) -> None:
    program = built("cpp", "conformance_agent", "conformance/conformance_agent")
    with (
        GlueServer(reconnect_window_s=PATIENCE_S, transport=transport) as server,
        proxy_to(server) as proxy,
        started([str(program)], proxy.address, server.token, REGLUE_TRACE="1") as process,
    ):
        port = server.next("agent", PATIENCE_S)
        assert port is not None
        port.send(AgentInit(corridor_pool().spec))
        assert isinstance(port.receive(PATIENCE_S), RoutineDone)
        with cut_off(proxy):
            port.send(TextMessage("hello"))
        assert isinstance(port.receive(PATIENCE_S), TextMessage)
        port.close("that was all")
        _, error_output = process.communicate(timeout=PATIENCE_S)
    seconds = r"\d+\.\d s"
    took = r"in \d+\.\d\d ms"
    lines = [
        rf"{TIME} reglue call init \d+ bytes, answered by \d+ bytes {took}",
        rf"{TIME} reglue warning: lost the connection, reconnecting for up to {seconds}: .+",
        rf"{TIME} reglue warning: connected again after {seconds}",
        rf"{TIME} reglue call message \d+ bytes, answered by \d+ bytes {took}",
        "conformance_agent: that was all",
    ]
    for line, wanted in zip(error_output.splitlines(), lines, strict=True):
        assert re.fullmatch(wanted, line)


def test_an_agent_that_waits_leaves_when_a_signal_tells_it_to(transport: Transport) -> None:
    program = built("cpp", "stopped_agent", "tests/stopped_agent")
    with (
        GlueServer(transport=transport) as server,
        started([str(program)], server.address, server.token) as process,
    ):
        port = server.next("agent", PATIENCE_S)
        assert port is not None
        port.send(AgentInit(corridor_pool().spec))
        assert isinstance(port.receive(PATIENCE_S), RoutineDone)
        process.send_signal(signal.SIGTERM)
        _, error_output = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, error_output) == (
        0,
        "stopped_agent: the program has stopped the session\n",
    )


@contextmanager
def silent(folder: Path, transport: Transport) -> Iterator[str]:
    """The address of a peer that accepts connections and sends nothing."""
    if transport == "grpc":
        with socket.create_server(("127.0.0.1", 0)) as listener:
            yield "127.0.0.1:{1}".format(*listener.getsockname())
        return
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "silent"))
        listener.listen()
        yield str(folder / "silent")


def test_an_agent_is_stopped_while_its_stream_is_being_opened(
    tmp_path: Path, transport: Transport
) -> None:
    program = built("cpp", "stopped_agent", "tests/stopped_agent")
    with (
        GlueServer(reconnect_window_s=PATIENCE_S, transport=transport) as server,
        proxy_to(server) as proxy,
        silent(tmp_path, transport) as nobody,
        started([str(program)], proxy.address, server.token) as process,
    ):
        assert server.next("agent", PATIENCE_S) is not None
        streams = proxy.unix_socket if isinstance(proxy, UnixProxy) else proxy
        before = streams.connections
        if isinstance(proxy, UnixProxy):
            proxy.unix_socket_target = nobody
        else:
            proxy.target = nobody
        proxy.cut()
        until(lambda: streams.connections > before, "it opens a stream")
        process.send_signal(signal.SIGTERM)
        _, error_output = process.communicate(timeout=STOPS_S)
    assert process.returncode == 0
    assert error_output.splitlines()[1:] == ["stopped_agent: the program has stopped the session"]


def test_an_agent_is_stopped_while_nobody_takes_its_answer(transport: Transport) -> None:
    program = built("cpp", "stopped_agent", "tests/stopped_agent")
    with (
        GlueServer(transport=transport) as server,
        proxy_to(server) as proxy,
        started([str(program)], proxy.address, server.token) as process,
    ):
        port = server.next("agent", PATIENCE_S)
        assert port is not None
        proxy.takes.clear()
        port.send(TextMessage("hello"))
        assert process.stderr is not None
        assert process.stderr.readline() == "answering\n"
        process.send_signal(signal.SIGTERM)
        _, error_output = process.communicate(timeout=STOPS_S)
    assert (process.returncode, error_output) == (
        0,
        "stopped_agent: the program has stopped the session\n",
    )


def test_an_agent_may_wait_in_slices_also_while_its_connection_is_lost(
    transport: Transport,
) -> None:
    program = built("cpp", "patient_agent", "tests/patient_agent")
    with (
        GlueServer(reconnect_window_s=PATIENCE_S, transport=transport) as server,
        proxy_to(server) as proxy,
        started([str(program)], proxy.address, server.token) as process,
    ):
        port = server.next("agent", PATIENCE_S)
        assert port is not None
        with cut_off(proxy):
            port.send(TextMessage("hello"))
        assert port.receive(PATIENCE_S) == TextMessage("I have waited")
        port.close("that was all")
        assert process.wait(PATIENCE_S) == 0
