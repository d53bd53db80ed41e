"""Clients under test in threads of this process: quick, and easily made wrong."""

from __future__ import annotations

import threading
from collections.abc import Callable

from reglue.agents.agent import Agent
from reglue.environments.environment import Environment
from reglue.net.join_string import JoinString, join_string
from reglue.net.peer import AgentPeer, AnsweringPeer, EnvironmentPeer
from reglue.net.session import Session

Play = Callable[[JoinString], object]


def session_of(
    make: Callable[[], Agent | Environment],
    *,
    session: type[Session] = Session,
    part: type[AgentPeer] = AgentPeer,
) -> Play:
    """Plays a session with what `make` makes, of kinds that a test may have bent."""

    def play(where: JoinString) -> object:
        peer = make()
        whole: AnsweringPeer
        if isinstance(peer, Environment):
            whole = EnvironmentPeer(peer, "bent")
        else:
            whole = part(peer, "bent")
        return session(where, whole, connect_timeout_s=20.0, transport="auto").play()

    return play


class ThreadClients:
    """Starts a thread for each client."""

    def __init__(self, play: Play) -> None:
        self._play = play
        self.started = 0

    def start(self, address: str, token: str) -> ThreadClient:
        """A new one."""
        self.started += 1
        return ThreadClient(self._play, join_string(address, token))


class ThreadClient:
    """Its exit code is 1 if the session raised."""

    is_watched = True

    def __init__(self, play: Play, where: JoinString) -> None:
        self._code: int | None = None
        self._words = ""
        self._play = play
        self._thread = threading.Thread(target=self._run, args=(where,), name="client")
        self._thread.start()

    def exit_code(self) -> int | None:
        return self._code

    def printed(self) -> str:
        return self._words

    def close(self) -> None:
        """It leaves with its session."""

    def _run(self, where: JoinString) -> None:
        try:
            self._play(where)
            self._code = 0
        except Exception as error:  # noqa: BLE001 - as a program leaves
            self._words, self._code = str(error), 1
