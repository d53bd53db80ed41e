"""The page's own process, as strangers reach it."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import httpx2
import pytest
import tomli_w

from reglue_competition.definition import FILE
from reglue_competition.page import http_server, live
from reglue_competition.page.security import caller
from reglue_competition.store import Store
from tests.reglue_competition.competitions import definition
from tests.reglue_competition.page.competition_builder import Made, begin, end, enter, play
from tests.reglue_competition.page.page_server import served
from tests.waiting import until

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def page(made: Made) -> Iterator[str]:
    """The address of the competition that no test changes."""
    with served(made) as address:
        yield address


def test_it_answers_whether_it_is_well(page: str) -> None:
    answer = httpx2.get(f"{page}healthz")
    assert (answer.status_code, answer.json()) == (200, {"store": "ok"})


def test_a_process_tells_a_listener_what_happens_and_ends_its_stream(tmp_path: Path) -> None:
    simple = definition()
    made = begin(tmp_path, simple)
    file = tomli_w.dumps(simple.model_dump(exclude_none=True))
    (tmp_path / FILE).write_text(file, encoding="utf-8")
    with Store(made.url) as store, _process(made) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        with httpx2.stream("GET", f"{address}live", timeout=20) as stream:
            assert stream.headers["content-type"].startswith("text/event-stream")
            lines = stream.iter_lines()
            submission = enter(store, made, "Ada", "x")
            assert _event(lines, "progress")[submission.id]["status"] == "waiting"
            store.set_status(submission.id, "playing")
            store.set_progress(submission.id, {"index": 0, "done": 3, "total": 36})
            told = _event(lines, "progress")[submission.id]
            while told["planned"] != 36:
                told = _event(lines, "progress")[submission.id]
            assert told == {
                "status": "playing",
                "progress": "multi-task:gridworld, 3 of 36 episodes",
                "done": 3,
                "planned": 36,
            }
            end(store, submission, play(0.9))
            assert next(line for line in lines if line == "event: changed")
            process.terminate()
            assert list(lines) is not None
        assert process.communicate(timeout=20) == ("", "")


@contextmanager
def _process(made: Made) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "reglue_competition.page", str(made.folder)]
    with subprocess.Popen(
        [*command, "--listen", "127.0.0.1:0"],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def _event(lines: Iterator[str], kind: str) -> dict[str, dict[str, object]]:
    """The next event of that kind."""
    for line in lines:
        if line == f"event: {kind}":
            found: dict[str, dict[str, object]] = json.loads(next(lines).removeprefix("data: "))
            return found
    raise AssertionError(f"the stream ended without {kind}")


def test_there_are_at_most_so_many_listeners(page: str) -> None:
    request = b"GET /live HTTP/1.1\r\nhost: x\r\n\r\n"
    with ExitStack() as stack:
        streams = [stack.enter_context(_asked(page, request)) for _ in range(live.LISTENERS + 1)]
        firsts = [stream.recv(12) for stream in streams]
    assert firsts.count(b"HTTP/1.1 200") == live.LISTENERS
    assert firsts.count(b"HTTP/1.1 503") == 1


def test_a_connection_without_a_whole_request_in_time_is_closed(
    made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_server, "REQUEST_S", 0.2)
    with served(made) as page:
        for begun in (b"", b"GET / HTTP/1.1\r\nx: ", b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\nG"):
            with _asked(page, begun) as connection:
                while connection.recv(4096):
                    pass


def _asked(page: str, request: bytes, *, source: tuple[str, int] | None = None) -> socket.socket:
    port = int(page.rstrip("/").rpartition(":")[2])
    found = socket.create_connection(("127.0.0.1", port), timeout=20, source_address=source)
    found.sendall(request)
    return found


@pytest.mark.parametrize(
    "request_bytes",
    [b"\x16\x03\x01\x02\x00", b"GET /" + b"x" * 40_000],
    ids=["tls", "long"],
)
def test_what_is_no_request_is_refused(page: str, request_bytes: bytes) -> None:
    with _asked(page, request_bytes + b"\r\n\r\n") as connection:
        assert connection.recv(12) == b"HTTP/1.1 400"


def test_a_connection_that_reads_nothing_is_closed(
    made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With answers of any size waiting for it."""
    monkeypatch.setattr(http_server, "REQUEST_S", 0.2)
    monkeypatch.setattr(http_server, "READ_S", 0.2)
    request = b"GET /static/report.css HTTP/1.1\r\nhost: x\r\n\r\n"
    with served(made) as page, ExitStack() as stack:
        for _ in range(3):
            stuck = stack.enter_context(_asked(page, request))
            stuck.settimeout(20)
            with pytest.raises(ConnectionError):
                _ask_for_ever(stuck, request)


def _ask_for_ever(connection: socket.socket, request: bytes) -> None:
    """Kernels hold some MiB."""
    while True:
        connection.sendall(request * 100)


def test_requests_that_do_not_wait_for_an_answer_get_one(page: str) -> None:
    """So what a connection may hold does not grow with what its other end sends."""
    request = b"GET /static/report.css HTTP/1.1\r\nhost: x\r\n\r\n"
    with _asked(page, request * 50) as connection, suppress(ConnectionError):
        content = b""
        while part := connection.recv(1 << 16):
            content += part
    assert content.count(b"HTTP/1.1 200") == 1


def test_a_connection_that_reads_is_answered_to_the_end(
    made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_server, "REQUEST_S", 0.2)
    monkeypatch.setattr(http_server, "READ_S", 0.2)
    request = b"GET /static/report.css HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"
    with served(made) as page, _asked(page, request) as connection:
        content = b"".join(iter(lambda: connection.recv(1 << 16), b""))
    head, _, body = content.partition(b"\r\n\r\n")
    assert f"content-length: {len(body)}".encode() in head.lower()


OTHER = ("127.0.0.2", 0)
"""An address that is no proxy's."""


def test_one_address_has_at_most_so_many_connections(
    page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_server, "OF_ADDRESS", 5)
    request = b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n"
    with ExitStack() as stack:
        for _ in range(5):
            mine = stack.enter_context(_asked(page, request, source=OTHER))
            assert mine.recv(12) == b"HTTP/1.1 200"
        with suppress(ConnectionError), _asked(page, request, source=OTHER) as more:
            assert more.recv(12) == b""
        others = stack.enter_context(_asked(page, request, source=("127.0.0.3", 0)))
        assert others.recv(12) == b"HTTP/1.1 200"

    def is_answered() -> bool:
        with suppress(ConnectionError), _asked(page, request, source=OTHER) as again:
            return again.recv(12) == b"HTTP/1.1 200"
        return False

    until(is_answered, "those that left have made room")


@pytest.mark.parametrize(
    ("client", "whose"),
    [
        ("192.0.2.7", "192.0.2.7/32"),
        ("::ffff:192.0.2.7", "192.0.2.7/32"),  # as a proxy of both families names it
        ("2001:db8::7", "2001:db8::/64"),
        ("unknown", "unknown"),
        ("127.0.0.1", ""),
        ("::ffff:127.0.0.1", ""),
    ],
)
def test_connections_are_counted_by_who_made_them(client: str, whose: str) -> None:
    assert caller((client, 0)) == whose


def test_one_address_has_at_most_so_many_streams(page: str) -> None:
    request = b"GET /live HTTP/1.1\r\nhost: x\r\n\r\n"
    with ExitStack() as stack:
        for _ in range(live.OF_ADDRESS):
            mine = stack.enter_context(_asked(page, request, source=OTHER))
            assert mine.recv(12) == b"HTTP/1.1 200"
        more = stack.enter_context(_asked(page, request, source=OTHER))
        others = stack.enter_context(_asked(page, request, source=("127.0.0.3", 0)))
        assert (more.recv(12), others.recv(12)) == (b"HTTP/1.1 503", b"HTTP/1.1 200")


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_form_in_chunks_is_refused_before_it_is_read(page: str, method: str) -> None:
    """Whatever length it says."""
    head = (
        f"{method} /login HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n"
        "transfer-encoding: chunked\r\n\r\n"
    )
    with _asked(page, head.encode()) as connection:
        answer = b"".join(iter(lambda: connection.recv(1 << 16), b""))
    assert answer.startswith(b"HTTP/1.1 411")
    assert b"connection: close" in answer.lower()
