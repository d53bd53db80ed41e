"""gRPC between simulated processes: what the program uses of it, with the same behaviour."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from types import ModuleType
from typing import Any, NoReturn

import grpc

from tests.simulator.scheduler import Process
from tests.simulator.virtual_network import (
    CANCELLED,
    UNAVAILABLE,
    Call,
    CallError,
    Metadata,
    here,
    network,
)
from tests.simulator.virtual_threads import like, scheduler


class Context(grpc.ServicerContext):
    """The server's end of a call."""

    def __init__(self, call: Call) -> None:
        self._call = call

    def invocation_metadata(self) -> tuple[tuple[str, str | bytes], ...]:
        return tuple(self._call.metadata)

    def peer(self) -> str:
        return f"ipv4:127.0.0.1:{self._call.client.pid}"

    def peer_identities(self) -> None:
        return None

    def peer_identity_key(self) -> None:
        return None

    def auth_context(self) -> Mapping[str, bytes]:
        return {}

    def is_active(self) -> bool:
        return not self._call.is_over_at_server

    def time_remaining(self) -> float:
        return math.inf

    def cancel(self) -> bool:
        self._call.finish(CANCELLED, "cancelled by the server")
        return True

    def add_callback(self, callback: Callable[[], object]) -> bool:
        if self._call.is_over_at_server:
            return False
        self._call.at_server_end.append(callback)
        return True

    def send_initial_metadata(self, initial_metadata: Metadata) -> None:
        self._call.answer_headers(initial_metadata)

    def set_trailing_metadata(self, trailing_metadata: Metadata) -> None: ...

    def abort(self, code: grpc.StatusCode, details: str) -> NoReturn:
        self._call.finish(code, details)
        raise _Aborted

    def abort_with_status(self, status: Any) -> NoReturn:
        self.abort(status.code, status.details)

    def set_code(self, code: grpc.StatusCode) -> None: ...

    def set_details(self, details: str) -> None: ...


class _Aborted(Exception):
    """A handler has ended its call."""


@dataclass(frozen=True)
class _Details:
    method: str
    invocation_metadata: Metadata


class Server:
    """As `grpc.server`."""

    def __init__(self, threads: ThreadPoolExecutor, handlers: Sequence[Any], **_: object) -> None:
        self._threads, self._handlers = threads, handlers
        self.process = here()
        self._is_stopping = False
        self._address = ""

    def add_insecure_port(self, address: str) -> int:
        """The port, 0 if it is taken."""
        port = network().bind(address, self)
        self._address = f"{address.rpartition(':')[0]}:{port}"
        return port

    def add_secure_port(self, address: str, credentials: object) -> int:
        """The same: TLS is the operating system's."""
        return self.add_insecure_port(address)

    def start(self) -> None:
        """Calls come from now on."""

    def stop(self, grace: float | None) -> threading.Event:
        """No more calls; those that are under way are cut after `grace` seconds."""
        self._is_stopping = True
        network().servers.pop(self._address, None)
        stopped = threading.Event()

        def mine() -> list[Call]:
            return [
                each
                for each in network().calls
                if each.server is self and not each.is_over_at_server
            ]

        def wait() -> None:
            now = scheduler()
            now.wait(lambda: not mine(), now.now + (grace or 0.0))
            for call in mine():
                call.finish(UNAVAILABLE, "the server has stopped")
            stopped.set()

        scheduler().start(wait)
        return stopped

    def serve(self, call: Call) -> None:
        """Find the handler of a call, and let a thread carry it out."""
        if self._is_stopping:
            call.finish(UNAVAILABLE, "the server stops")
            return
        details = _Details(call.method, call.metadata)
        found = [each.service(details) for each in self._handlers]
        handler = next((each for each in found if each is not None), None)
        if handler is None:
            call.finish(grpc.StatusCode.UNIMPLEMENTED, "Method not found!")
            return
        behavior = handler.stream_stream or handler.stream_unary
        pool = getattr(behavior, "experimental_thread_pool", None) or self._threads
        try:
            pool.submit(self._carry_out, call, handler, behavior)
        except RuntimeError:  # it is shut down
            call.finish(UNAVAILABLE, "the server stops")

    def _carry_out(self, call: Call, handler: Any, behavior: Any) -> None:
        try:
            answers = behavior(_received(call), Context(call))
            if handler.stream_stream:
                for answer in answers or ():
                    if call.is_over_at_server:
                        return
                    call.answer_headers(())
                    call.to_client.put(handler.response_serializer(answer))
            else:
                call.answer_headers(())
                call.to_client.put(handler.response_serializer(answers))
        except _Aborted:
            pass
        except grpc.RpcError:  # the call has ended
            call.finish(CANCELLED, "it has ended")
        except Exception as error:  # noqa: BLE001 - the edge of a handler
            call.finish(grpc.StatusCode.UNKNOWN, f"Exception calling application: {error}")
        else:
            call.finish(grpc.StatusCode.OK, "")


def _received(call: Call) -> Iterator[bytes]:
    queue = call.to_server
    while True:
        scheduler().wait(lambda: bool(queue.messages) or queue.has_end or call.is_over_at_server)
        if queue.messages:
            yield queue.messages.popleft()
        elif call.is_over_at_server:
            raise grpc.RpcError
        else:
            return


class Channel:
    """As `grpc.insecure_channel`."""

    def __init__(self, address: str, options: object = None) -> None:
        self._address = address
        self._calls: list[Call] = []
        self._is_closed = False
        self._here = here()

    def unary_unary(
        self,
        method: str,
        request_serializer: Callable[[Any], bytes],
        response_deserializer: Callable[[bytes], Any],
        **_: object,
    ) -> Callable[..., Any]:
        """Makes one call."""

        def ask(request: Any, timeout: float | None = None) -> Any:
            stream = self._begin(method, ())
            stream.send(request_serializer(request))
            stream.send(None)
            return response_deserializer(stream.only(timeout))

        return ask

    def stream_stream(self, method: str) -> Callable[..., ClientStream]:
        """Opens a stream; the messages are bytes."""

        def connect(messages: Iterator[bytes], metadata: Metadata = ()) -> ClientStream:
            stream = self._begin(method, metadata)
            scheduler().start(lambda: stream.send_all(messages))
            return stream

        return connect

    def close(self) -> None:
        """End its calls."""
        self._is_closed = True
        for call in self._calls:
            if call.status is None:
                call.cancel()
                call.status = CANCELLED, "Channel closed!"

    def __enter__(self) -> Channel:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _begin(self, method: str, metadata: Metadata) -> ClientStream:
        if self._is_closed:
            raise ValueError("Cannot invoke RPC on closed channel!")
        its, now = network(), scheduler()
        server = its.at(self._address)
        if server is None:
            call = Call(self._here, _Nobody(self._here), method, metadata)
            now.after(its.delay_s(), lambda: call.end_at_client(UNAVAILABLE, "connection refused"))
        else:
            call = Call(self._here, server, method, metadata)
            its.calls.append(call)
            call.to_server.then(lambda: now.start(lambda: server.serve(call), server.process))
        self._calls = [*(each for each in self._calls if each.status is None), call]
        return ClientStream(call)


class _Nobody(Server):
    """At an address at which no server is."""

    def __init__(self, process: Process) -> None:
        self.process = process


class ClientStream:
    """The client's end of a call."""

    def __init__(self, call: Call) -> None:
        self._call = call

    def send(self, message: bytes | None) -> None:
        """Send a message; None: there are no more."""
        self._call.to_server.put(message)

    def send_all(self, messages: Iterator[bytes]) -> None:
        """Send what comes, until the call is over."""
        for place, message in enumerate(messages):
            if self._call.status is not None:
                return
            if not place:  # the hello comes first
                self.send(message)
                continue
            for each in network().answered(self._call, message):
                self.send(network().carried(each))
        self.send(None)

    def only(self, timeout: float | None) -> bytes:
        """The answer of a unary call. Raises CallError."""
        now, call = scheduler(), self._call
        now.wait(
            lambda: call.status is not None, math.inf if timeout is None else now.now + timeout
        )
        if call.status is None:
            call.cancel()
            call.status = grpc.StatusCode.DEADLINE_EXCEEDED, "Deadline Exceeded"
        if call.status[0] is not grpc.StatusCode.OK:
            raise CallError(*call.status)
        return call.to_client.messages.popleft()

    def initial_metadata(self) -> Metadata:
        """The response headers; none if the call ends before."""
        scheduler().wait(lambda: self._call.headers is not None or self._call.status is not None)
        return self._call.headers or ()

    def is_active(self) -> bool:
        """Whether it has not ended."""
        return self._call.status is None

    def add_callback(self, callback: Callable[[], object]) -> bool:
        """Have it called at the end; False if that has come."""
        if self._call.status is not None:
            return False
        self._call.at_client_end.append(callback)
        return True

    def cancel(self) -> None:
        """End it."""
        self._call.cancel()

    def code(self) -> grpc.StatusCode | None:
        """The status, once it is over."""
        return self._call.status[0] if self._call.status else None

    def details(self) -> str:
        """Why it has ended."""
        return self._call.status[1] if self._call.status else ""

    def __iter__(self) -> ClientStream:
        return self

    def __next__(self) -> bytes:
        call = self._call
        scheduler().wait(lambda: bool(call.to_client.messages) or call.status is not None)
        if call.status is not None and call.status[0] is CANCELLED:
            raise CallError(*call.status)
        if call.to_client.messages:
            return call.to_client.messages.popleft()
        assert call.status is not None
        if call.status[0] is grpc.StatusCode.OK:
            raise StopIteration
        raise CallError(*call.status)


def grpc_module() -> ModuleType:
    """`grpc`, between simulated processes."""
    return like(
        grpc,
        __version__=grpc.__version__,
        __path__=grpc.__path__,
        server=Server,
        insecure_channel=Channel,
        secure_channel=lambda address, credentials, options=None: Channel(address, options),
        Channel=Channel,
    )
