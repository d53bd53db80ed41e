"""Pairs in the private phase of a competition: teams with one policy, honest and with a cheat.

All of a competition's teams play the same hidden cells. A submission plays several benchmarks, each
with cells of its own: each is a pair.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from reglue.errors import Refused
from reglue_bench.results.result import Result
from reglue_competition.competition_folder import CompetitionFolder
from reglue_competition.phases import PlannedBenchmark, Secrets
from reglue_competition.runs.hosted import Hosted
from reglue_competition.runs.submission import SubmittedBenchmark
from reglue_competition.store import Run, Store, Submission
from reglue_competition.store.database import sqlite_url
from reglue_competition.store.migrate import migrate
from reglue_competition.store.server_lock import ServerLock
from tests.cheats.cheat_pairs import HERE, IN_PROCESSES, LATE_S, NAME, STEP_S, Pair, note
from tests.cheats.cheat_world import Player
from tests.cheats.connected import CONNECTED, Connecting, connecting
from tests.reglue_competition.competitions import definition, phase
from tests.reglue_competition.runs.corridor_submissions import joined
from tests.reglue_competition.runs.hosting import Hosting

PHASE = "private phase"

GROUPS = (
    (*(kind for kind in HERE if kind not in IN_PROCESSES), "comes back"),
    ("crashes", "hangs"),
    ("late",),
    ("leaves", "too late"),
    ("wears",),
)
"""Kinds that share a competition: its limits suit them."""

_PROCEDURES = ("multi-task", "evaluate")  # in turn
_PATIENCE_S = 900.0
_HANG_S = 0.6
_LOOK_S = 0.2


class _Hosted(Hosted):
    """A competition in which an environment that hangs is ended soon, and few processes start."""

    workers = 0

    def _benchmark(self, planned: PlannedBenchmark, submission: Submission) -> SubmittedBenchmark:
        made = super()._benchmark(planned, submission)
        limits = {"environment_timeout": _HANG_S, "workers": self.workers}
        return replace(made, settings={**made.settings, **limits})


class _InProcesses(_Hosted):
    workers = 1


def phase_of(kinds: Sequence[str], numbers: Sequence[int]) -> Iterator[Pair]:
    """Pairs of each kind in one competition: `kinds` are one of GROUPS."""
    with TemporaryDirectory() as folder, _hosting(Path(folder), kinds, numbers) as server:
        policy = numbers[0]
        honest = _submitted(server, "honest", Player(policy))
        for kind in kinds:
            team = kind.replace(" ", "-")
            if kind == "wears":
                yield from _entered_again(server, team, Player(policy, kind), numbers, honest)
                continue
            if kind in CONNECTED:
                with connecting(policy, kind, late_s=_limits(kinds)[1]) as agent:
                    runs, player = _submitted(server, team, agent), agent.player
            else:
                player = Player(policy, kind)
                runs = _submitted(server, team, player)
            for number, without, run in zip(numbers, honest, runs, strict=True):
                result = Result.model_validate_json(run.result)
                of_all = int(number == numbers[0])  # the counts are of the submission
                yield Pair(
                    PHASE,
                    kind,
                    number,
                    without.score,
                    run.score,
                    player.cheated * of_all,
                    player.met_again * of_all,
                    result.episodes_retried,
                    f"{note('', result, 0)} {server.submission(team).status}",
                )


def _entered_again(
    server: Hosting, team: str, player: Player, numbers: Sequence[int], honest: Sequence[Run]
) -> Iterator[Pair]:
    """Pairs of a team that breaks its submission, and enters again until it is refused."""
    where, entries = server.team(team), 0
    is_refused = False
    while not is_refused:
        with joined(where, player, f"entry {entries}") as agent:
            _until(server, agent.done)
            is_refused = isinstance(agent.exception(), Refused)
        entries += not is_refused
    scored = {
        run.index: run
        for each in server.store.submissions(team=team, statuses=["finished"])
        for run in server.store.runs(each.id)
    }
    for place, (number, without) in enumerate(zip(numbers, honest, strict=True)):
        run = scored.get(place)
        of_all = int(not place)  # the counts are of the team
        score = None if run is None else run.score
        yield Pair(
            PHASE,
            "wears",
            number,
            without.score,
            score,
            player.cheated * of_all,
            player.met_again * of_all,
            0,
            f"{entries} entries",
        )


def _limits(kinds: Sequence[str]) -> tuple[float, float]:
    """The limit of a turn, and the duration of a late one, seconds."""
    if "late" in kinds:
        return STEP_S, LATE_S
    return (1.5, 2.0) if "too late" in kinds else (30.0, 0.0)


def _submitted(server: Hosting, team: str, agent: Player | Connecting) -> list[Run]:
    """The runs of a team's submission, when it has ended."""
    where = server.team(team)
    with ExitStack() as joining:
        if isinstance(agent, Player):
            joining.enter_context(joined(where, agent, team))
        else:
            agent.join(where, team)

        def has_ended() -> bool:
            found = server.store.submissions(team=team)
            return bool(found) and found[-1].status in ("finished", "failed", "broken")

        _until(server, has_ended)
        _until(server, lambda: server.queue.is_idle)
    runs = server.store.runs(server.submission(team).id)
    return sorted(runs, key=lambda run: run.index)


def _until(server: Hosting, condition: Callable[[], bool]) -> None:
    """Let the queue look whenever it has heard something."""
    deadline = time.monotonic() + _PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "a submission does not end"
        server.queue.wait(_LOOK_S)
        server.queue.tick()


@contextmanager
def _hosting(folder: Path, kinds: Sequence[str], numbers: Sequence[int]) -> Iterator[Hosting]:
    made = definition(
        phase("private", kind="private", benchmarks=[_benchmark(number) for number in numbers]),
        play={
            "places": 1,
            "bank_s": 0.0,
            "reconnect_window_s": 5.0,
            "step_s": _limits(kinds)[0],
            "late": "default action" if "late" in kinds else "fault",
        },
    )
    url = sqlite_url(folder / "competition.sqlite")
    secrets = Secrets.create(folder / "secrets")
    migrate(url)
    with Store(url) as store, closing(ServerLock(url)) as lock:
        store.apply(made)
        hosted = _InProcesses if set(IN_PROCESSES) & set(kinds) else _Hosted
        server = Hosting(hosted(CompetitionFolder(folder, made), secrets), store, lock)
        try:
            server.queue.tick()
            yield server
        finally:
            server.close()


def _benchmark(number: int) -> dict[str, Any]:
    options = {"num_episodes": 3, "slots": 2, "environment_args": {"salt": number}}
    return {"benchmark": f"{_PROCEDURES[number % 2]}:{NAME}", "options": options}
