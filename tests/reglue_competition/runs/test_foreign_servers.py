"""Submissions whose environments are servers that leave, or are silent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reglue import Agent, Starts, Steps
from reglue.spec import Array, Arrays, TaskSpec
from reglue_competition.runs.phase_calendar import Calendar
from tests.reglue.bridges.bent_openenv_server import BentServer, bent
from tests.reglue.bridges.server_programs import OPENENV
from tests.reglue_bench.agents import Seeded
from tests.reglue_competition.competitions import phase, practice
from tests.reglue_competition.runs.corridor_submissions import joined, of_folder
from tests.reglue_competition.runs.hosting import corridor, hosting

_LOOK_S = 0.05


def benchmark(name: str, **arguments: Any) -> dict[str, Any]:
    """A benchmark of a phase."""
    options = {
        "num_episodes": 6,
        "slots": 2,
        "episode_limit": 10,
        "worst_performance": -10.0,
        "environment_args": arguments,
    }
    return {"benchmark": f"evaluate:{name}", "options": options}


class Mover(Agent):
    """Acts by what it sees, and calls `then` at its turn `at`."""

    def __init__(self, then: Callable[[], None] = lambda: None, at: int = 0) -> None:
        self._then, self._at = then, at
        self._turns = 0

    def agent_init(self, spec: TaskSpec) -> None:
        pass

    def agent_start(self, observations: Arrays, starts: Starts) -> dict[str, Array]:
        return self._act(observations)

    def agent_step(self, rewards: Array, observations: Arrays, steps: Steps) -> dict[str, Array]:
        return self._act(observations)

    def _act(self, observations: Arrays) -> dict[str, Array]:
        self._turns += 1
        if self._turns == self._at:
            self._then()
        return OPENENV.act(observations)


@dataclass
class QuietServer(BentServer):
    """Accepts connections, and answers none while it is silent."""

    is_silent: bool = False

    def answer_http(self, connection: Any, request: Any) -> Any:
        """The schemas."""
        while self.is_silent and not self.ended.wait(_LOOK_S):
            pass
        return super().answer_http(connection, request)


def test_a_server_that_is_killed_and_comes_back_changes_no_row_of_a_submission(
    tmp_path: Path,
) -> None:
    with OPENENV.serving() as (pid, port):
        played = phase(benchmarks=[benchmark(OPENENV.name.format(port))])
        with (
            hosting(tmp_path, played) as server,
            OPENENV.coming_back(pid, port) as kill,
        ):
            server.runs_until_open("public")
            with joined(server.team("ours"), Mover(kill, at=8)):
                server.runs_until_status("finished", "ours")
            submission = server.submission("ours")
            theirs = server.alone(tmp_path / "alone", Mover(), submission)
            assert of_folder(server.folder(submission), 1) == theirs


def test_a_silent_server_keeps_no_other_submission_waiting(tmp_path: Path) -> None:
    """A submission's own cells are drawn by its process, which asks the server for its spaces."""
    quiet = QuietServer()
    with bent(quiet) as url:
        phases = (
            practice(benchmarks=[corridor()]),
            phase(benchmarks=[benchmark(f"openenv:{url}")], cells="own"),
        )
        with hosting(tmp_path, *phases) as server:
            server.runs_until_open("public")
            quiet.is_silent = True
            with joined(server.team("stuck"), Mover()) as agent:
                server.runs_until_status("playing", "stuck")
                server.store.add_team("ours")
                with joined(server.token("ours", "practice"), Seeded()):
                    server.runs_until_status("finished", "ours")
                assert server.submission("stuck").status == "playing"
                assert server.submission("stuck").interrupted == 0
                server.store.ask_cancel(server.submission("stuck").id)
                server.runs_until_status("cancelled", "stuck")
                server.runs_until(agent.done, "it is told")


def test_a_phase_whose_server_is_silent_opens_later_and_holds_up_no_other(tmp_path: Path) -> None:
    quiet = QuietServer(is_silent=True)
    with bent(quiet) as url:
        phases = (
            practice(benchmarks=[corridor()]),
            phase(benchmarks=[benchmark(f"openenv:{url}")]),
        )
        with hosting(tmp_path, *phases) as server:
            server.store.add_team("ours")
            with joined(server.token("ours", "practice"), Seeded()):
                server.runs_until_status("finished", "ours")
            assert [each.state for each in server.store.phases()] == ["open", "planned"]
            quiet.is_silent = False
            server.runs_until_open("public")


def test_a_server_starts_while_that_of_an_open_phase_is_silent(tmp_path: Path) -> None:
    """Submissions of the phase wait, and are not tried in vain."""
    quiet = QuietServer()
    with bent(quiet) as url:
        played = phase(benchmarks=[benchmark(f"openenv:{url}")])
        with hosting(tmp_path, played) as before:
            before.runs_until_open("public")
        quiet.is_silent = True
        with hosting(tmp_path, played) as server, joined(server.team("ours"), Mover()) as agent:
            Calendar(server.store, server.hosted).check_commitments()
            server.runs_until(lambda: bool(server.store.submissions()), "it is entered")
            server.queue.tick()
            assert server.submission("ours").status == "waiting"
            quiet.is_silent = False
            server.runs_until(lambda: server.submission("ours").started_at is not None, "it began")
            assert server.submission("ours").interrupted == 0
            server.store.ask_cancel(server.submission("ours").id)
            server.runs_until(agent.done, "it is told")
