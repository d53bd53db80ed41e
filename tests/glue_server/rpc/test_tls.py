"""TLS over loopback: who is let in, who is not trusted, and what each is told."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from glue_server import EpisodeRunner
from glue_server.rpc import GlueServer
from glue_server.rpc.tls.authority import own_certificate, private_authority
from glue_server.rpc.tls.server_certificate import ServerTls
from reglue import Phase, connect
from reglue.errors import BadArgument, UsageError, WrongTls, WrongToken
from reglue.net.join_string import JoinString, to_pem
from reglue.net.lobby import tls_trouble
from tests.error_facts import raises
from tests.glue_server.playing import (
    PATIENT,
    Follower,
    by_k,
    cells,
    corridor_pool,
    in_turn,
    played,
)
from tests.glue_server.rpc.peers import PATIENCE_S, seated
from tests.glue_server.rpc.tls_certificates import DAY, certificate, shown, written

Start = Callable[..., "Future[str]"]


@pytest.fixture
def start() -> Iterator[Start]:
    """Calls `connect` from a thread."""
    threads = ThreadPoolExecutor(1, thread_name_prefix="peer")
    yield lambda *arguments, **more: threads.submit(connect, *arguments, **more)
    threads.shutdown(wait=False, cancel_futures=True)


@pytest.fixture
def tls() -> ServerTls:
    return private_authority()


@pytest.fixture
def server(tls: ServerTls) -> Iterator[GlueServer]:
    with GlueServer(tls=tls) as server:
        yield server


def welcomed(server: GlueServer, agent: Future[str]) -> bool:
    port = seated(server)
    port.close("welcome")
    return agent.result(PATIENCE_S) == "welcome"


# Let in.


def test_a_join_string_is_all_that_an_agent_needs(server: GlueServer, start: Start) -> None:
    start(Follower(), str(server.join_string("agent")))
    port = seated(server)
    glue = EpisodeRunner(port, corridor_pool(3), timeouts=PATIENT)
    glue.init()
    rows = by_k(glue.play(in_turn(cells()), Phase.EVALUATE))
    assert rows == played(Follower(), corridor_pool(1), cells())


def test_a_join_string_may_come_from_the_environment(
    server: GlueServer, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REGLUE_ADDRESS", str(server.join_string("agent")))
    assert welcomed(server, start(Follower()))


def test_address_token_and_authority_may_come_one_by_one(
    server: GlueServer, start: Start, tls: ServerTls, tmp_path: Path
) -> None:
    """The certificate of a private authority is made out to the address as well."""
    file = written(tmp_path, ca=tls.authority)["ca"]
    assert welcomed(server, start(Follower(), server.address, server.token, ca=file))


def test_an_own_certificate_is_checked_by_its_name_at_any_address(
    start: Start, tmp_path: Path
) -> None:
    root = certificate("root")
    between = certificate("between", by=root)
    leaf = certificate("leaf", by=between, hosts=("hub.example.org",), kind="rsa")
    files = written(tmp_path, cert=leaf.pem + between.pem, key=leaf.key_pem(), ca=root.pem)
    tls = own_certificate(files["cert"], files["key"], files["ca"])
    with GlueServer(tls=tls) as server:
        assert welcomed(server, start(Follower(), str(server.join_string("agent"))))


@pytest.mark.parametrize("hosts", [("10.0.0.1",), ("*.example.org",)])
def test_a_certificate_for_an_address_or_for_many_hosts_will_do(
    start: Start, tmp_path: Path, hosts: tuple[str, ...]
) -> None:
    alone = certificate("alone", hosts=hosts)
    files = written(tmp_path, cert=alone.pem, key=alone.key_pem())
    with GlueServer(tls=own_certificate(files["cert"], files["key"])) as server:
        assert welcomed(server, start(Follower(), str(server.join_string("agent"))))


def test_of_several_authorities_one_is_enough(
    server: GlueServer, start: Start, tls: ServerTls
) -> None:
    several = certificate("a").pem + to_pem(tls.authority) + certificate("b").pem
    assert welcomed(server, start(Follower(), str(server.join_string("agent")), ca=several))


def test_a_glue_with_tls_that_comes_up_later_is_waited_for(start: Start, tls: ServerTls) -> None:
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{holder.getsockname()[1]}"
        where = JoinString(address, "secret", tls.authority, tls.name)
        agent = start(Follower(), str(where), connect_timeout_s=PATIENCE_S)
        holder.listen()
        holder.accept()[0].close()  # it has dialled
    with GlueServer(address, token="secret", tls=tls) as server:
        assert welcomed(server, agent)


def test_the_environment_may_name_other_roots(
    server: GlueServer, start: Start, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """They are given to gRPC explicitly; `test_join_tls` asks a fresh process the same."""
    other = written(tmp_path, other=certificate("other").pem)["other"]
    monkeypatch.setenv("GRPC_DEFAULT_SSL_ROOTS_FILE_PATH", str(other))
    assert welcomed(server, start(Follower(), str(server.join_string("agent"))))


# Not let in: and at once, since waiting mends none of these.


def dial(*arguments: Any) -> None:
    connect(Follower(), *map(str, arguments), connect_timeout_s=3600.0)


def test_the_token_is_wanted_under_tls_too(server: GlueServer) -> None:
    for token, what in (("guess", "wrong token"), ("", "no token")):
        with raises(WrongToken, what):
            dial(replace(server.join_string("agent"), token=token))


def test_without_an_authority_one_is_told_to_give_it(server: GlueServer) -> None:
    with raises(WrongTls, f"{server.address} speaks TLS", "ca=FILE"):
        dial(server.address, server.token)


def test_a_glue_without_tls_is_not_spoken_to_without_it(tls: ServerTls) -> None:
    with GlueServer() as server:
        with raises(WrongTls, f"{server.address} does not speak TLS"):
            dial(replace(server.join_string("agent"), authority=tls.authority))
        assert server.next("agent", 0.0) is None


@pytest.mark.parametrize(
    ("answer", "named"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "nothing was sent without TLS"),
        (b"\x15\x03\x03\x00\x02\x02\x28", "SSLV3_ALERT_HANDSHAKE_FAILURE"),  # TLS's own refusal
    ],
    ids=["http", "alert"],
)
def test_no_token_is_sent_where_tls_fails(tls: ServerTls, answer: bytes, named: str) -> None:
    heard: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as thief:

        def listen() -> None:
            while True:
                try:
                    connection, _ = thief.accept()
                except OSError:
                    return
                with connection:
                    heard.append(connection.recv(4096))
                    connection.sendall(answer)

        thread = threading.Thread(target=listen)
        thread.start()
        address = f"127.0.0.1:{thief.getsockname()[1]}"
        try:
            with raises(WrongTls, address, named):
                dial(JoinString(address, "SECRET", tls.authority, tls.name))
        finally:
            thief.shutdown(socket.SHUT_RDWR)
            thread.join()
    assert heard
    assert not any(b"SECRET" in each for each in heard)


def test_a_look_at_a_glue_that_resets_connections_leaves_none_open(
    tls: ServerTls, recwarn: pytest.WarningsRecorder
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as dying:

        def reset() -> None:
            while True:
                try:
                    connection, _ = dying.accept()
                except OSError:  # shut down
                    return
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                connection.close()

        resetting = threading.Thread(target=reset)
        resetting.start()
        address = f"127.0.0.1:{dying.getsockname()[1]}"
        try:
            for _ in range(20):
                assert tls_trouble(JoinString(address, "", tls.authority, tls.name), 5.0) is None
        finally:
            dying.shutdown(socket.SHUT_RDWR)
            resetting.join(PATIENCE_S)
    assert [str(w.message) for w in recwarn if w.category is ResourceWarning] == []


def test_an_authority_of_another_glue_is_told(server: GlueServer) -> None:
    other = private_authority().authority
    with raises(WrongTls, "not signed by the authority"):
        dial(replace(server.join_string("agent"), authority=other))


def test_an_authority_of_the_same_name_is_told_too() -> None:
    leaf = certificate("leaf", by=certificate("root"), hosts=("reglue",))
    with (
        GlueServer(tls=shown(leaf, certificate("root"), "reglue")) as server,
        raises(WrongTls, "not signed by the authority"),
    ):
        dial(server.join_string("agent"))


def test_a_name_that_the_certificate_lacks_is_told(server: GlueServer) -> None:
    with raises(WrongTls, "made out to 'other.example.org'"):
        dial(replace(server.join_string("agent"), tls_name="other.example.org"))


def test_an_address_that_the_certificate_lacks_is_told() -> None:
    root = certificate("root")
    with (
        GlueServer(tls=shown(certificate("leaf", by=root, hosts=("hub",)), root, "")) as server,
        raises(WrongTls, "made out to '127.0.0.1'"),
    ):
        dial(server.join_string("agent"))


@pytest.mark.parametrize(
    ("begins", "ends", "what"), [(-2 * DAY, -DAY, "expired"), (DAY, 2 * DAY, "not valid yet")]
)
def test_a_certificate_out_of_date_is_told(begins: Any, ends: Any, what: str) -> None:
    root = certificate("root")
    leaf = certificate("leaf", by=root, hosts=("reglue",), begins=begins, ends=ends)
    with GlueServer(tls=shown(leaf, root, "reglue")) as server, raises(WrongTls, what, "renew"):
        dial(server.join_string("agent"))


def test_what_is_given_goes_before_the_join_string(server: GlueServer, start: Start) -> None:
    wrong = replace(
        server.join_string("agent"), authority=certificate("other").der, tls_name="other"
    )
    right = server.join_string("agent")
    agent = start(Follower(), str(wrong), ca=right.authority, tls_name=right.tls_name)
    assert welcomed(server, agent)


def test_a_name_without_an_authority_is_wrong_usage(server: GlueServer) -> None:
    with raises(BadArgument, "'reglue'", "ca=FILE"):
        connect(Follower(), server.address, server.token, tls_name="reglue")


# What peers are told.


def test_without_tls_a_join_string_holds_address_and_token() -> None:
    with GlueServer(token="t") as server:
        assert str(server.join_string("agent")) == f"reglue://{server.address}?token=t"


def test_an_invitation_is_to_the_advertised_address() -> None:
    with GlueServer(token="t", advertise="hub.example.org:80") as server:
        assert server.join_string("agent") == JoinString("hub.example.org:80", "t")
        assert server.local_join_string("agent") == JoinString(server.address, "t")


def test_who_listens_everywhere_invites_to_the_machines_name() -> None:
    with GlueServer("0.0.0.0:0", token="t") as server:
        port = server.address.rpartition(":")[2]
        assert server.join_string("agent") == JoinString(f"{socket.gethostname()}:{port}", "t")
        assert server.local_join_string("agent") == JoinString(f"127.0.0.1:{port}", "t")


@pytest.mark.parametrize(
    ("address", "kind"),
    [
        ("hub", BadArgument),
        ("http://hub:80", BadArgument),
        ("hub:0", UsageError),
        ("0.0.0.0:80", UsageError),
        ("[::]:80", UsageError),
    ],
)
def test_an_address_that_nobody_can_dial_is_not_advertised(
    address: str, kind: type[UsageError]
) -> None:
    with raises(kind, address):
        GlueServer(advertise=address)
