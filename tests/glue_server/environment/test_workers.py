"""Workers that die, and a pool that goes on."""

from __future__ import annotations

import logging
import os
import select
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from env_adapters import SuiteName
from glue_server import EnvironmentCalls, Outcome, WorkersPort
from glue_server.agent.agent_calls import AgentCalls
from reglue import Phase
from reglue.errors import EnvironmentFault
from reglue.messages.environment_messages import GetState, Snapshot
from tests.error_facts import raises
from tests.glue_server.playing import (
    SOLVED,
    Follower,
    by_k,
    calls_of,
    cell,
    cells,
    corridor_pool,
    glue_of,
    in_turn,
    local,
    played,
    start,
    step,
)
from tests.programs import kill, wait_until_gone
from tests.waiting import halt
from tests.worlds import Narrow, SaysUnrepeatable

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]

MakePool = Callable[..., tuple[EnvironmentCalls, WorkersPort]]


@pytest.fixture
def make_pool() -> Iterator[MakePool]:
    """Makes pools of corridors, and closes them."""
    ports: list[WorkersPort] = []

    def make(
        world: str = "Corridor",
        *,
        slots: int = 4,
        workers: int = 2,
        waits: dict[str, Any] | None = None,
        **more: Any,
    ) -> tuple[EnvironmentCalls, WorkersPort]:
        name = SuiteName(f"tests.worlds:{world}", {"solved": SOLVED} | more)
        ports.append(WorkersPort(name, workers=workers, **waits or {}))
        return calls_of(ports[-1], slots), ports[-1]

    yield make
    for port in ports:
        port.close("enough")


@pytest.fixture
def alone() -> list[Outcome]:
    """The rows of an undisturbed play."""
    return played(Follower(), corridor_pool(1), cells())


# Killed from outside.


@pytest.mark.parametrize("place", [0, 1])
def test_a_worker_killed_while_idle_goes_unnoticed(
    make_pool: MakePool, alone: list[Outcome], place: int
) -> None:
    pool, port = make_pool()
    kill(port.processes[place])
    assert played(Follower(), pool, cells()) == alone


def test_a_worker_killed_between_turns_goes_unnoticed(
    make_pool: MakePool,
) -> None:
    """Once an episode, with others in mid-flight."""
    pool, port = make_pool()
    glue, _ = glue_of(Follower(), pool)
    rows = []
    for count, outcome in enumerate(glue.play(in_turn(cells(2)), Phase.EVALUATE)):
        rows.append(outcome)
        kill(port.processes[count % 2])
    assert by_k(iter(rows)) == played(Follower(), corridor_pool(1), cells(2))


def test_all_workers_killed_at_once_go_unnoticed(make_pool: MakePool, alone: list[Outcome]) -> None:
    pool, port = make_pool()
    glue, _ = glue_of(Follower(), pool)
    play_on = glue.play(in_turn(cells()), Phase.EVALUATE)
    first = next(play_on)
    for pid in port.processes:
        kill(pid)
    assert by_k(iter([first, *play_on])) == alone


def test_a_worker_killed_while_it_steps_goes_unnoticed(
    make_pool: MakePool, alone: list[Outcome], tmp_path: Path
) -> None:
    bell, door = tmp_path / "bell", tmp_path / "door"
    bell.touch()
    os.mkfifo(door)
    pool, _ = make_pool("Doorbell", bell=str(bell), door=str(door))
    visitor = threading.Thread(target=lambda: os.kill(int(door.read_text()), signal.SIGKILL))
    visitor.start()
    assert played(Follower(), pool, cells()) == alone
    visitor.join()
    assert not bell.exists()


def test_a_dead_worker_is_replaced_by_another_process_and_logged(
    make_pool: MakePool, caplog: pytest.LogCaptureFixture
) -> None:
    pool, port = make_pool()
    dead, alive = port.processes
    kill(dead)
    with caplog.at_level(logging.WARNING, logger="reglue"):
        played(Follower(), pool, cells(1))
    assert port.processes[0] != dead
    assert port.processes[1] == alive
    assert f"worker {dead} died" in caplog.text


def test_replayed_steps_are_counted_as_executed(make_pool: MakePool) -> None:
    """One episode of five steps, whose worker dies after two: two steps more."""
    pool, port = make_pool(slots=1, workers=1)
    pool.send(start(cell(variant=2)))
    pool.receive()
    for place in range(5):
        if place == 2:
            kill(port.processes[0])
        pool.send(step())
        pool.receive()
    assert pool.executed == 5 + 3  # the two before, and the third that was sent into the void


@pytest.mark.parametrize("workers", [0, 1, 2])
def test_observations_outside_of_their_bounds_are_counted(
    make_pool: MakePool, tmp_path: Path, workers: int
) -> None:
    """Those of 5 steps, without the first; what is played again after a death is not."""
    (fuse := tmp_path / "fuse").write_bytes(b"\3" * (workers > 0))
    if workers:
        pool, _ = make_pool("Narrow", fuse=str(fuse), slots=2, workers=workers)
    else:
        pool = local(Narrow(solved=SOLVED), 2)
    rows = played(Follower(), pool, [cell(variant=2)] * 3)
    assert [row.steps for row in rows] == [5, 5, 5]
    assert pool.outside == 3 * 4
    assert not fuse.read_bytes()


# Worlds that kill their worker.


def trapdoor(make_pool: MakePool, fuse: Path, *, deaths: int, **more: Any) -> EnvironmentCalls:
    fuse.write_bytes(bytes(deaths))
    pool, _ = make_pool("Trapdoor", fuse=str(fuse), **more)
    return pool


@pytest.mark.parametrize("deaths", [b"\3", b"\3\2", b"\3\2\1"])
def test_an_episode_survives_deaths_elsewhere_as_often_as_it_is_rebuilt(
    make_pool: MakePool,
    alone: list[Outcome],
    tmp_path: Path,
    deaths: bytes,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The first is while it is played, up to two more earlier, while it is played again."""
    (fuse := tmp_path / "fuse").write_bytes(deaths)
    pool, _ = make_pool("Haunted", fuse=str(fuse), slots=1, workers=1)
    assert played(Follower(), pool, cells()) == alone
    assert not fuse.read_bytes()
    how = "died: killed by SIGKILL, perhaps for want of memory; its episodes are rebuilt"
    assert how in caplog.text


def test_an_episode_that_always_kills_its_worker_is_given_up_alone(
    make_pool: MakePool, alone: list[Outcome], tmp_path: Path
) -> None:
    """One walk is long enough to fall; those that end before go on, in the same worker too."""
    wanted = [cell("walk", 0), cell("walk", 2), cell("run", 4), cell("walk", 4)]
    pool = trapdoor(make_pool, tmp_path / "fuse", deaths=99)
    rows = played(Follower(), pool, wanted)
    assert [row.status for row in rows] == ["ok", "crashed", "ok", "ok"]
    assert "killed by SIGKILL" in rows[1].detail
    undisturbed = played(Follower(), corridor_pool(1), wanted)
    assert [rows[k] for k in (0, 2, 3)] == [undisturbed[k] for k in (0, 2, 3)]


@pytest.mark.parametrize(("deaths", "statuses"), [(1, {"ok"}), (99, {"ok", "crashed"})])
def test_an_agent_is_charged_for_what_its_crashes_cost_and_for_no_other_death(
    make_pool: MakePool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    deaths: int,
    statuses: set[str],
) -> None:
    charged: list[float] = []
    monkeypatch.setattr(AgentCalls, "charge", lambda _, seconds: charged.append(seconds))
    pool = trapdoor(make_pool, tmp_path / "fuse", deaths=deaths)
    rows = played(Follower(), pool, [cell("walk", 0), cell("walk", 2), cell("run", 4)])
    assert {row.status for row in rows} == statuses
    assert (sum(charged) > 0.0) == ("crashed" in statuses)


def test_a_slot_is_of_use_after_its_episode_was_given_up(
    make_pool: MakePool, tmp_path: Path
) -> None:
    pool = trapdoor(make_pool, tmp_path / "fuse", deaths=2, slots=1, workers=1)
    rows = played(Follower(), pool, [cell(variant=2), cell(variant=2)])
    assert [row.status for row in rows] == ["crashed", "ok"]


def test_an_episode_that_cannot_be_rebuilt_does_not_go_on(make_pool: MakePool) -> None:
    """The other episode's worker is replaced, and what it had earned there is not earned again."""
    pool, _ = make_pool("Unrepeatable", solved={"walk": (0, 0)}, slots=2, workers=1)
    rows = played(Follower(), pool, [cell(variant=0), cell(variant=1)])
    assert [(row.status, row.steps) for row in rows] == [
        ("environment_error", 2),
        ("environment_error", 3),
    ]
    assert "cannot be repeated" in rows[1].detail


@pytest.mark.parametrize("workers", [0, 1])
def test_what_says_that_it_is_not_repeatable_fails_in_its_slot_and_is_not_played_again(
    make_pool: MakePool, workers: int
) -> None:
    """The same actions would fail again, as if they had caused it."""
    if workers:
        pool, _ = make_pool("SaysUnrepeatable", solved={"walk": (0, 0)}, slots=2, workers=1)
    else:
        pool = local(SaysUnrepeatable(solved={"walk": (0, 0)}), 2)
    rows = played(Follower(), pool, [cell(variant=0), cell(variant=1)])
    assert [(row.status, row.steps) for row in rows] == [("environment_error", 2), ("ok", 5)]
    assert "the floor gave way" in rows[0].detail
    assert "not repeatable" in rows[0].detail
    assert pool.executed == 8, "three steps and five"


def test_what_says_that_it_is_not_repeatable_is_not_rebuilt_in_another_process(
    make_pool: MakePool,
) -> None:
    pool, port = make_pool("SaysUnrepeatable", solved={"walk": (0, 0)}, slots=2, workers=1)
    glue, _ = glue_of(Follower(), pool)
    play_on = glue.play(in_turn([cell(variant=variant) for variant in (0, 1, 1)]), Phase.EVALUATE)
    first = next(play_on)
    kill(port.processes[0])
    rows = by_k(iter([first, *play_on]))
    assert [row.status for row in rows] == ["environment_error", "environment_error", "ok"]
    assert "its process was lost" in rows[1].detail


def test_a_slot_that_is_lost_has_no_state_until_it_begins_anew(make_pool: MakePool) -> None:
    pool, port = make_pool("Unrepeatable", solved={"walk": (0, 0)}, slots=1, workers=1)
    pool.play(start(cell(variant=1)))
    pool.play(step())
    port.renew(0)
    with pytest.raises(EnvironmentFault):
        pool.ask(GetState(0), Snapshot)
    assert not pool.play(start(cell(variant=1))).faults
    assert not pool.play(step()).faults


def test_a_suite_that_can_be_built_no_more_is_the_environments_fault(
    make_pool: MakePool, tmp_path: Path
) -> None:
    """Whoever waits for its answer is told, rather than left waiting."""
    (once := tmp_path / "once").touch()
    pool, port = make_pool("Once", permit=str(once), slots=1, workers=1)
    kill(port.processes[0])
    with raises(EnvironmentFault, "worker", "OSError: the permit is used up"):
        played(Follower(), pool, [cell()])


# Worlds, and machines, that hang.


def test_a_worker_that_hangs_is_replaced_and_goes_unnoticed(
    make_pool: MakePool, alone: list[Outcome], tmp_path: Path
) -> None:
    (fuse := tmp_path / "fuse").write_bytes(bytes(1))
    pool, _ = make_pool("Hanging", waits={"timeout_s": 3.0}, fuse=str(fuse))
    assert played(Follower(), pool, cells()) == alone
    assert not fuse.stat().st_size


def test_a_worker_that_is_stopped_is_replaced_and_goes_unnoticed(
    make_pool: MakePool, alone: list[Outcome]
) -> None:
    pool, port = make_pool(waits={"timeout_s": 3.0})
    halt(port.processes[1])
    assert played(Follower(), pool, cells()) == alone


def test_an_episode_that_always_hangs_is_given_up_alone(
    make_pool: MakePool, tmp_path: Path
) -> None:
    (fuse := tmp_path / "fuse").write_bytes(bytes(2))
    pool, _ = make_pool("Hanging", slots=1, workers=1, waits={"timeout_s": 1.0}, fuse=str(fuse))
    rows = played(Follower(), pool, [cell("walk", 2), cell("walk", 0), cell("walk", 2)])
    assert [row.status for row in rows] == ["crashed", "ok", "ok"]
    assert "did not answer" in rows[0].detail


def test_an_agent_that_thinks_for_long_makes_no_worker_late(
    make_pool: MakePool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its answer has come, and nobody has looked."""
    pool, port = make_pool(slots=1, workers=1, waits={"timeout_s": 100.0})
    before = port.processes
    pool.send(start(cell()))
    (channel,) = pool.filenos()
    assert select.select([channel], [], [], 60.0)[0]
    later = time.monotonic() + 1000.0
    monkeypatch.setattr(
        "glue_server.environment.environment_calls.time", SimpleNamespace(monotonic=lambda: later)
    )
    assert pool.is_ready()
    assert port.processes == before


def test_a_limit_may_be_as_long_as_one_likes(make_pool: MakePool) -> None:
    pool, _ = make_pool(slots=1, workers=1, waits={"timeout_s": 1e300})
    assert played(Follower(), pool, [cell()])[0].status == "ok"


# Workers that do not come up.


@pytest.mark.parametrize("hangs", [False, True])
def test_a_worker_that_does_not_come_up_is_started_again(
    make_pool: MakePool, alone: list[Outcome], tmp_path: Path, hangs: bool
) -> None:
    (fuse := tmp_path / "fuse").write_bytes(bytes(1))
    waits = {"start_s": 5.0} if hangs else {}
    pool, _ = make_pool("Frail", waits=waits, fuse=str(fuse), hangs=hangs)
    assert played(Follower(), pool, cells()) == alone


def test_a_replacement_that_does_not_come_up_is_started_again(
    make_pool: MakePool, alone: list[Outcome], tmp_path: Path
) -> None:
    (fuse := tmp_path / "fuse").touch()
    pool, port = make_pool("Frail", fuse=str(fuse))
    fuse.write_bytes(bytes(2))
    kill(port.processes[0])
    assert played(Follower(), pool, cells()) == alone


def test_workers_that_never_come_up_are_the_environments_fault(
    make_pool: MakePool, tmp_path: Path
) -> None:
    (fuse := tmp_path / "fuse").write_bytes(bytes(99))
    with raises(EnvironmentFault, "worker died", "suite"):
        make_pool("Frail", workers=1, fuse=str(fuse))
    assert fuse.stat().st_size == 99 - 3


# Ends.


def test_workers_that_do_not_listen_are_ended_all_at_once(
    make_pool: MakePool, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool, port = make_pool(slots=6, workers=6)
    for pid in port.processes:
        halt(pid)
    in_vain: list[float] = []
    wait = subprocess.Popen.wait

    def recorded(process: subprocess.Popen[bytes], timeout: float | None = None) -> int:
        try:
            return wait(process, timeout)
        except subprocess.TimeoutExpired:
            in_vain.append(timeout or 0.0)
            raise

    monkeypatch.setattr(subprocess.Popen, "wait", recorded)
    pool.close()
    assert len(in_vain) == 6
    assert sum(in_vain) <= 2.0  # and not 2 s each


def test_workers_end_when_their_pool_is_closed_also_twice(make_pool: MakePool) -> None:
    pool, port = make_pool()
    descriptors = [os.pidfd_open(pid) for pid in port.processes]
    pool.close()
    pool.close()
    wait_until_gone(descriptors)


def test_a_worker_neither_preempts_the_glue_nor_ignores_ctrl_c(make_pool: MakePool) -> None:
    """The first worker to wake would keep the glue from waking the others; and what ignores a
    signal passes that on to its programs: one could not be ended by it.
    """

    def ignores_ctrl_c(pid: int) -> bool:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
        (ignored,) = (line.split()[1] for line in status.splitlines() if line[:7] == "SigIgn:")
        return bool(int(ignored, 16) >> (signal.SIGINT - 1) & 1)

    _, pool = make_pool()
    assert [os.sched_getscheduler(pid) for pid in pool.processes] == [os.SCHED_BATCH] * 2
    assert {ignores_ctrl_c(pid) for pid in pool.processes} == {ignores_ctrl_c(os.getpid())}


def test_a_suite_may_say_what_it_can_by_numbers(make_pool: MakePool) -> None:
    environment, _ = make_pool("Loose", workers=1)
    assert environment.spec.slots == 4
