"""No agent sees a cell again because it killed the environment, which connects by itself."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from glue_server.rpc.peer_streams import Stream
from glue_server.rpc.stream_port import StreamPort
from reglue_bench import evaluate
from reglue_bench.results.result import Result, read_result
from reglue_bench.runs.ledger import LedgerReader
from tests.cheats.cheat_pairs import PLANS
from tests.cheats.cheat_world import Breakable, Player
from tests.cheats.killed import KILLED, killing
from tests.reglue_bench.remote import WORLDS, dialling

pytestmark = pytest.mark.slow

NAME = f"{Breakable.__module__}:{Breakable.__qualname__}"


def options_of(procedure: str) -> dict[str, Any]:
    options = {
        name: value for name, value in PLANS[procedure].items() if name != "environment_args"
    }
    options |= {"num_episodes": 8} if "num_episodes" in options else {}
    slots = {"meta-learning": "meta_batch_size", "online": ""}.get(procedure, "slots")
    options |= {slots: 2} if slots else {"runs": 4, "episodes": 6}
    return {**options, "seed": 3}


def here(procedure: str, **options: Any) -> Result:
    """The same run over a worker, which is replaced when it has died."""
    limits: dict[str, Any] = {"raise_faults": False, "repeat_check": False, "workers": 1}
    return evaluate(f"{procedure}:{NAME}", agent=Player(1, "crashes"), **limits, **options)


@pytest.mark.parametrize("kind", KILLED)
@pytest.mark.parametrize("procedure", PLANS)
def test_who_kills_it_is_not_asked_again(procedure: str, kind: str) -> None:
    """Neither by the environment that comes in its place, nor by the run's next session."""
    cheat = Player(1, "crashes")
    result = killing(procedure, kind, cheat, **options_of(procedure))
    assert (cheat.cheated > 0, cheat.met_again) == (True, 0)
    assert (result.complete, result.ended_early) == (True, None)
    assert result.status_counts["crashed"] >= 1
    if kind == KILLED[0]:
        assert came_of(result) == came_of(here(procedure, **options_of(procedure)))


@pytest.mark.parametrize("procedure", PLANS)
def test_nor_is_it_if_nobody_waits_until_it_is_back(
    procedure: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever interrupts the run then, and resumes it."""
    cheat = Player(1, "crashes")
    options = options_of(procedure) | {"out": tmp_path / "run", "agent": cheat}
    options |= {"raise_faults": False, "repeat_check": False, "transport": "grpc"}
    options |= {"label": "cheat"}  # it remembers what it met, so nothing else identifies it
    broke = StreamPort.broke

    def interrupt(port: StreamPort, stream: Stream) -> None:
        broke(port, stream)
        os.kill(os.getpid(), signal.SIGINT)

    with dialling(f"{WORLDS}:Breakable") as (watcher, _), monkeypatch.context() as patched:
        patched.setattr(StreamPort, "broke", interrupt)
        with pytest.raises(KeyboardInterrupt):
            evaluate(f"{procedure}:wait", watcher=watcher, **options)
    first = read_result(tmp_path / "run")
    assert first.ended_early is not None
    assert first.ended_early.status == "interrupted"
    assert first.status_counts["environment_lost"] >= 1
    limits = options | {"resume": True, "reconnect_window": 0.0}
    for _ in range(20):
        with dialling(f"{WORLDS}:Breakable") as (watcher, _):
            result = evaluate(f"{procedure}:wait", watcher=watcher, **limits)
        if result.ended_early is None:
            break
    assert (result.complete, cheat.met_again) == (True, 0)


def test_an_agent_that_kills_it_in_training_trains_on() -> None:
    options: dict[str, Any] = {"train_steps": 40, "num_episodes": 4, "slots": 2, "seed": 3}
    result = killing("multi-task", KILLED[0], Player(1, "crashes"), **options)
    assert came_of(result) == came_of(here("multi-task", **options))


def came_of(result: Result) -> list[Any]:
    return [(row.unit, row.k, row.attempt, row.status, row.return_) for row in result.episodes]


def test_a_loss_that_no_action_brings_about_is_another_try(tmp_path: Path) -> None:
    fuse = tmp_path / "fuse"
    fuse.touch()
    words = (f"fuse={fuse}", "dies=7", 'solved={"walk": [0, 1, 2, 0]}')
    options: dict[str, Any] = {"agent": "tests.reglue_bench.agents:Seeded", "slots": 2}
    options |= {"num_episodes": 8, "out": tmp_path / "run", "raise_faults": False}
    options |= {"reconnect_window": 0.0}
    with dialling(f"{WORLDS}:Mortal", *words) as (watcher, _):
        first = evaluate("multi-task:wait", watcher=watcher, **options)
    lost = first.status_counts["environment_lost"]
    assert 1 <= lost <= 2
    with dialling(f"{WORLDS}:Mortal", *words) as (watcher, _):
        again = evaluate("multi-task:wait", watcher=watcher, resume=True, **options)
    assert again.complete
    assert lost <= again.episodes_retried <= 2, "one that nobody has seen may have begun, too"
    with LedgerReader(tmp_path / "run") as ledger:
        assert {row.status for row in ledger.rows()} == {"ok"}
