"""The gateway of a queue: agents join it, and wait on their streams until a run takes them.

An agent's session is with the gateway, which holds it for as long as its submission (here: its
*entry*) lasts: in the queue without a run, then carried to the run's process as bytes.
"""

from __future__ import annotations

import contextlib
import logging
import math
import threading
import time
from collections.abc import Callable, Generator, Iterator
from typing import Any

from glue_server.processes.standstill import LOOK_S, stood_still_s
from glue_server.rpc.admission import (
    Denied,
    Terms,
    Ticket,
    check_version,
    role_of,
    wrong_role,
)
from glue_server.rpc.gateways.archive_calls import SUBMIT, ArchiveCalls, Archives
from glue_server.rpc.gateways.entries import CODES, Entries, EntryRefused
from glue_server.rpc.gateways.join_limits import JoinLimits, TokenBuckets, plain_address
from glue_server.rpc.gateways.run_link import RunLink, RunProcess
from glue_server.rpc.gateways.waiting_stream import (
    WaitingSession,
    WaitingStream,
    early,
    farewell,
)
from glue_server.rpc.handlers import Caller, Noise, caller_of
from glue_server.rpc.server import Listener
from glue_server.rpc.server_session import NO_TICKET
from glue_server.rpc.services import shown_name
from glue_server.rpc.tls.server_certificate import ServerTls
from reglue.net.grpc_settings import HUB_MESSAGE_BYTES, grpc
from reglue.net.lobby import NOTE
from reglue.v1 import agent_pb2, lobby_pb2
from reglue.wire.roles import AGENT

log = logging.getLogger("reglue")

_SESSIONS = 480  # at a time; there are threads for somewhat more streams
_PAUSE_S = 1.0  # before a run that had no place, or an entry that could not leave, is asked again
_NOT_THEIRS = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED)
_LOST = (grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.ALREADY_EXISTS)


class AgentGateway(Listener):
    """Lets teams' agents in, and holds their streams until a run takes them; as of a Listener.

    An agent whose stream broke may come back within `reconnect_window_s` seconds. With `archives`,
    teams may also hand agents in.
    """

    most_received_bytes = 1 << 22  # agents send actions, and what they see is larger

    def __init__(
        self,
        listen: str = "127.0.0.1:0",
        *,
        entries: Entries,
        archives: Archives | None = None,
        reconnect_window_s: float,
        tls: ServerTls | None = None,
    ) -> None:
        super().__init__(listen, roles=(), tokens={}, tls=tls)
        self._entries = entries
        self._window_s = reconnect_window_s
        self._terms = Terms(HUB_MESSAGE_BYTES, reconnect_window_s)
        self._limits, self._streams = JoinLimits(), TokenBuckets(32, 1.0)
        self._noise = Noise()
        self._sessions: dict[str, WaitingSession] = {}  # by the ticket's
        self._of_entry: dict[str, WaitingSession] = {}
        self._links: dict[str, RunLink] = {}  # by entry
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        # Entries are told of one thing at a time. Taken before `_lock`, never within it.
        self._telling = threading.Lock()
        self._closed = False
        self._why_drained = ""
        archive_calls = ArchiveCalls(archives, self._limits, self._noise)
        self._serve(self._join, {AGENT.method: self}, large={SUBMIT: archive_calls})
        self._watcher = threading.Thread(target=self._watch, name="reglue-entries", daemon=True)
        self._watcher.start()

    def assign(self, entry: str, process: RunProcess) -> None:
        """Carry the entry's streams to that process from now on.

        An agent that has been in another process joins anew: it begins again there.
        """
        link = RunLink(process)
        with self._lock:
            old, self._links[entry] = self._links.get(entry), link
            session = self._of_entry.get(entry)
            if session is not None and session.of_run is not None:
                session.end(Denied(grpc.StatusCode.UNAUTHENTICATED, NO_TICKET))
            elif session is not None and session.stream is not None:
                session.stream.go_to(link)
        if old is not None:
            old.close()

    def end(self, entry: str, why: str, *, has_failed: bool = False) -> bool:
        """Say farewell to the entry's agent, also if it comes back within its window.

        One that `has_failed` is refused with those words, so that its program ends with an error.
        Returns whether it will hear that; else it may join anew.
        """
        with self._lock:
            link = self._links.pop(entry, None)
            session = self._of_entry.pop(entry, None)
            will_hear = session is not None and session.will_hear
            if session is not None:
                refusal = Denied(grpc.StatusCode.INVALID_ARGUMENT, why)
                session.end(refusal if has_failed else why)
        if link is not None:
            link.close()
        return will_hear

    def release(self, entry: str) -> None:
        """Let the entry's agent join anew, if it is here or comes back: the entry is over."""
        with self._lock:
            if (session := self._of_entry.pop(entry, None)) is not None:
                session.end(Denied(grpc.StatusCode.UNAUTHENTICATED, NO_TICKET))

    def joins_anew(self, entry: str) -> bool:
        """Whether the entry's agent was told to join anew, and has not done so yet."""
        with self._lock:
            session = self._of_entry.get(entry)
            return session is not None and session.verdict is not None

    def drain(self, why: str) -> None:
        """Let nobody else in: agents that join may try again, and the health check says no."""
        self._why_drained = why
        self._is_serving = False

    def close(self) -> None:
        """Break all streams, so that agents come back to who serves next, then stop."""
        with self._lock:
            self._closed = True
            self._changed.notify_all()
            broken = Denied(grpc.StatusCode.UNAVAILABLE, "the server stops")
            for session in self._sessions.values():
                if session.stream is not None:
                    session.stream.end(broken)
        self._watcher.join()
        super().close()
        with self._lock:
            links, self._links = self._links, {}
        for link in links.values():
            link.close()

    # What the handlers of Listener call.

    def check(self, session: str) -> None:
        """Raise Denied for a stream without a ticket, or one of too many."""
        if session not in self._sessions:
            raise Denied(grpc.StatusCode.UNAUTHENTICATED, NO_TICKET)
        if not self._streams.take(session):
            words = "this session opens too many streams; try again later"
            raise Denied(grpc.StatusCode.RESOURCE_EXHAUSTED, words)

    def carry(
        self, session: str, messages: Iterator[bytes], context: grpc.ServicerContext
    ) -> Iterator[bytes]:
        """Hold one stream of a session, then carry it to a run. Raises Denied."""
        stream = WaitingStream(messages, context)
        try:
            hello = stream.hello()
            found = self._attach(session, hello.hello, stream, Caller.of(context).certified)
            try:
                context.send_initial_metadata(((NOTE, self._note(found)),))  # it is admitted
                self._tell_that_it_came(found, stream)
                yield from self._steps(found, stream, hello)
            finally:
                self._detach(found, stream)
        except Denied as denied:
            self._note_refused_stream(denied, session, plain_address(caller_of(context)))
            raise

    def _note(self, session: WaitingSession) -> bytes:
        """For the agent's people, when it has a stream."""
        has_run = session.entry in self._links
        turn = "" if has_run else f"; {self._entries.waits(session.entry)}"
        return f"joined as {session.label}{turn}".encode()

    def _note_refused_stream(self, denied: Denied, session: str, address: str) -> None:
        """Log what an agent did wrong; that sessions and servers end is nobody's fault."""
        if denied.why == NO_TICKET or denied.code in _NOT_THEIRS:
            return
        known = self._sessions.get(session)
        entry = "" if known is None else known.entry
        self._noise.log(
            f"a stream was refused: {denied.why} (address={address})",
            cause=f"stream {denied.code.name} {entry}",
            submission=entry,
        )

    def _join(self, request: lobby_pb2.JoinRequest, caller: Caller) -> lobby_pb2.Ticket:
        """A ticket for the submission that the token's team has of that name. Raises Denied."""
        address, name = plain_address(caller.address), shown_name(request.name)
        shown = f" certificate={caller.certified!r}" if caller.certified else ""
        team = entry = ""
        try:
            check_version(request.major)
            if role_of(request) != AGENT.name:
                raise wrong_role(role_of(request), ["agent"])
            self._limits.check(address, request.token)
            if self._why_drained:
                raise Denied(grpc.StatusCode.RESOURCE_EXHAUSTED, self._why_drained)
            with self._telling:
                if len(self._sessions) >= _SESSIONS:
                    words = f"{_SESSIONS} agents are here, the most that there may be; "
                    raise Denied(grpc.StatusCode.RESOURCE_EXHAUSTED, words + "try again later")
                try:
                    entry = self._entries.enter(request.token, name, caller)
                except EntryRefused as refused:
                    team = refused.team
                    raise Denied(CODES[refused.kind], refused.why) from refused
                self._limits.note_good(request.token)
                return self._ticket(entry, name, caller.certified)
        except Denied as denied:
            self._noise.log(
                f"a join was refused: {denied.why} (address={address} name={name!r}{shown})",
                cause=f"join {denied.code.name} {team}{entry}",
                team=team,
                submission=entry,
            )
            raise

    def _ticket(self, entry: str, label: str, certified: str) -> lobby_pb2.Ticket:
        """A ticket for the entry's agent, instead of one that nobody uses. Raises Denied."""
        with self._lock:
            old = self._of_entry.get(entry)
            if old is not None and old.is_kept:
                words = "this submission has its agent already: end that one, and wait until "
                words += f"{self._window_s:g} s have passed, or join by another name"
                raise Denied(grpc.StatusCode.ALREADY_EXISTS, words)
            if old is not None:
                self._sessions.pop(old.ticket.session, None)
            ticket = Ticket.new()
            session = WaitingSession(entry, label, ticket, certified, self._until())
            self._sessions[ticket.session] = self._of_entry[entry] = session
            self._changed.notify_all()
        return ticket.message(self._terms)

    def _attach(
        self, name: str, hello: agent_pb2.AgentHello, stream: WaitingStream, certified: str
    ) -> WaitingSession:
        """Give a session its next stream. Raises Denied."""
        check_version(hello.major)
        with self._lock:
            session = self._sessions.get(name)
            if session is None or hello.session != name or session.certified != certified:
                raise Denied(grpc.StatusCode.UNAUTHENTICATED, NO_TICKET)
            session.ticket.check(hello)
            if isinstance(session.verdict, Denied):
                raise session.verdict
            if session.stream is not None:
                words = "another stream of this session has taken over"
                session.stream.end(Denied(grpc.StatusCode.CANCELLED, words))
            session.stream, session.is_new, session.gone_at = stream, False, math.inf
            if session.verdict is not None:
                stream.end(session.verdict)
            elif (link := self._links.get(session.entry)) is not None:
                stream.go_to(link)
        return session

    def _detach(self, session: WaitingSession, stream: WaitingStream) -> None:
        with self._lock:
            if session.stream is stream:
                session.stream, session.gone_at = None, min(session.gone_at, self._until())
                self._changed.notify_all()

    def _tell_that_it_came(self, session: WaitingSession, stream: WaitingStream) -> None:
        """Unless it is gone again, or has a run. Raises Denied."""
        with self._telling:
            is_here = session.stream is stream and session.verdict is None
            if not is_here or session.entry in self._links:
                return
            if not self._tell(self._entries.came, session.entry):
                raise Denied(grpc.StatusCode.UNAVAILABLE, "our own failure; try again")

    def _steps(self, session: WaitingSession, stream: WaitingStream, hello: Any) -> Iterator[bytes]:
        """All that goes out over a stream. Raises Denied."""
        step = stream.next()
        while step is not None:
            match step:
                case RunLink():
                    ticket = self._ticket_of_the_run(session, step)
                    if ticket is None:
                        step = stream.next(_PAUSE_S, otherwise=step)
                        continue
                    if (yield from self._carried(session, stream, step, ticket, hello)):
                        return
                case str():
                    yield farewell(step)
                    return
                case Denied():
                    raise step
                case bytes() if not stream.is_carried and session.entry not in self._links:
                    self._leave(session, step)
                    yield farewell("the agent has left")
                    return
            step = stream.next()

    def _carried(
        self,
        session: WaitingSession,
        stream: WaitingStream,
        link: RunLink,
        ticket: lobby_pb2.Ticket,
        hello: Any,
    ) -> Generator[bytes, None, bool]:
        """The run's messages; returns whether those were all.

        If its process has ended, what comes next is told: another process, or the end. Raises
        Denied.
        """
        try:
            yield from stream.carry(link, ticket, hello)
        except grpc.RpcError as error:
            if error.code() in _LOST:  # the run waits for this session no more
                with self._lock:
                    session.end(Denied(grpc.StatusCode.UNAUTHENTICATED, NO_TICKET))
            elif not stream.has_end and link.process.is_alive():
                raise Denied(error.code(), error.details() or "") from error
            return False
        return not stream.has_end

    def _ticket_of_the_run(self, session: WaitingSession, link: RunLink) -> lobby_pb2.Ticket | None:
        """The session's own there; None if the run does not give it one now. Raises Denied."""
        with session.asking:  # two streams of one session ask once
            if session.of_run is None:
                with contextlib.suppress(TimeoutError):
                    session.of_run = link.ask(AGENT.number, session.ticket.session)
            return session.of_run

    def _leave(self, session: WaitingSession, message: bytes) -> None:
        """Take a goodbye. Raises Denied for anything else that an agent sends while it waits."""
        if not early(message).HasField("fault"):
            words = "got an answer, wanted silence until the first call"
            raise Denied(grpc.StatusCode.INVALID_ARGUMENT, words)
        with self._lock:
            session.gone_at = -math.inf

    def _until(self) -> float:
        """The time at which an agent that leaves now is given up."""
        return time.monotonic() + self._window_s

    def _watch(self) -> None:
        """Give up the agents that do not come back."""
        while True:
            with self._lock:
                until = min((each.gone_at for each in self._sessions.values()), default=math.inf)
                now = time.monotonic()
                left_s = min(until - now, LOOK_S if self._sessions else threading.TIMEOUT_MAX)
                if left_s > 0 and not self._closed:
                    self._changed.wait(left_s)
                    self._give_back(stood_still_s(now, left_s))  # in which nobody could come back
                if self._closed:
                    return
            self._give_up()

    def _give_back(self, seconds: float) -> None:
        """Let agents come back that much later. The caller holds the lock."""
        for session in self._sessions.values():
            session.gone_at += seconds

    def _give_up(self) -> None:
        with self._telling:  # nobody enters meanwhile
            now = time.monotonic()
            with self._lock:
                gone = [each for each in self._sessions.values() if each.gone_at <= now]
            for session in gone:
                # A session that was ended is not reported: its entry may have a newer one.
                is_over = self._of_entry.get(session.entry) is not session
                is_told = is_over or self._tell(self._entries.left, session.entry)
                with self._lock:
                    if not is_told:
                        session.gone_at = now + _PAUSE_S
                        continue
                    del self._sessions[session.ticket.session]
                    if self._of_entry.get(session.entry) is session:
                        del self._of_entry[session.entry]

    def _tell(self, what: Callable[[str], None], entry: str) -> bool:
        """Whether that worked. Its failures are our own."""
        try:
            what(entry)
        except Exception:
            log.exception("what agent %s does could not be noted", entry)
            return False
        return True
