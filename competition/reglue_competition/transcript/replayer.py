"""Plays a transcript's episodes again, in this process or in several."""

from __future__ import annotations

import math
import multiprocessing
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, reduce
from operator import add
from pathlib import Path

from pydantic import TypeAdapter

from glue_server.processes.children import die_with, parent_to_die_with
from glue_server.processes.interrupts import end_at_ctrl_c
from reglue.error_message import brief, printable
from reglue.errors import BadArgument, EnvironmentFault, NotVerified, ReglueError, UnknownName
from reglue.wire.spec_encoding import spec_to_bytes
from reglue_bench.benchmark.benchmark import suite_of
from reglue_bench.plan_settings import TrainingSettings
from reglue_bench.plans.plan import Plan
from reglue_bench.procedures import PROCEDURES, TRAINING
from reglue_bench.replay import Recorded, Replay
from reglue_bench.replay.recorded import changes_since, check_replayable
from reglue_bench.runs.environment_code import code_sha256
from reglue_bench.settings import read_settings
from reglue_competition.transcript.contents import Episode, Header, PlannedCells, read_content
from reglue_competition.transcript.framing import Place, RecordReader
from reglue_competition.transcript.transcript_reader import read_episode

_NOT_KEPT = ("train", "checkpoint", "checkpoint_adapt")
"""Phases before an agent is judged: without actions, and not in its score."""

_MOST_NOT_PLAYED = 1_000_000  # episodes of a plan, unless the transcript has as many
_NO_EPISODES = {"agents", "steps", "episode_limit", "train_steps", "eval_every", "eval_episodes"}
"""Parameters of procedures that do not multiply episodes."""

_WAITING = 4  # episodes for each process, so that none idles


@dataclass(frozen=True, slots=True)
class Checked:
    """The result of replaying one episode."""

    title: str
    is_played: bool  # False: it has no actions to play
    difference: str = ""  # the first from what was recorded; empty: it is equal to the bit


class Replayer:
    """Plays episodes of one transcript, each in a world of its own."""

    def __init__(self, header: Header, plan: Plan, folder: Path) -> None:
        """`folder` is what relative files of the plan are relative to.

        Raises UsageError if its environments cannot be made here, and NotVerified if their TaskSpec
        is another.
        """
        check_replayable(plan)
        self.folder = folder
        settings = read_settings(benchmark=header.benchmark, directory=str(folder))
        self._name = suite_of(plan, settings)
        self._suite = self._name.build()
        if spec_to_bytes(self._suite.spec).hex() != header.spec:
            raise NotVerified(
                "its environments have another TaskSpec here than where it was played"
            )
        about = {f"version {name}": version for name, version in header.versions.items()}
        self.changes = changes_since(about, self._name)
        if code_sha256(plan, settings) != header.code:
            self.changes.append("another code of its environments now than before")
        self.plan, self._planned = plan, planned_cells(header, plan)

    def check(self, episode: Episode) -> Checked:
        """Play an episode again, and compare it with what was recorded."""
        title = title_of(episode)
        try:
            with not_verified("play it"):
                return Checked(title, self._check(episode))
        except (EnvironmentFault, NotVerified) as error:
            return Checked(title, is_played=True, difference=str(error))

    def _check(self, episode: Episode) -> bool:
        """Whether it was played. Raises NotVerified or EnvironmentFault if it differs."""
        facts, is_ok = episode.facts, episode.facts.status == "ok"
        recorded = self._recorded(episode)
        if self.plan.procedure == TRAINING and facts.cell.phase in _NOT_KEPT:
            return False
        if not facts.steps:
            if facts.return_ or is_ok:
                raise NotVerified("got a return, or the status ok, of an episode without steps")
            return False
        replay = Replay(recorded, self._suite)
        try:
            for _ in replay.moments():
                pass
        finally:
            replay.close()
        return True

    def _recorded(self, episode: Episode) -> Recorded:
        """The recording for `Replay`. Raises NotVerified if it is not the plan's."""
        check_cell(episode, self._planned)
        row, stated = episode.facts.row, episode.facts.cell
        return Recorded(
            plan=self.plan,
            suite=self._name,
            order=self._planned.order(row, stated.steps_before),
            row=row,
            actions=episode.actions,
            rewards=episode.rewards,
            cut_off=row.steps >= self._planned.most_steps(row, stated.steps_before),
            changes=self.changes,
        )


def title_of(episode: Episode) -> str:
    """An episode's name in a verdict."""
    facts = episode.facts
    return f"unit {facts.unit}, episode {facts.k} ({printable(facts.cell.task)[:100]})"


def planned_cells(header: Header, plan: Plan) -> PlannedCells:
    """The episodes of a transcript's plan, by the keys of its run."""
    keys = bytes.fromhex(header.cell_key) or None, bytes.fromhex(header.start_key)
    return PlannedCells(plan, *keys)


def check_cell(episode: Episode, planned: PlannedCells) -> None:
    """Raise NotVerified unless an episode is the plan's, and succeeded only without a fault."""
    facts, stated = episode.facts, episode.facts.cell
    try:
        cell = planned.planned_cell(facts.row, stated.steps_before)
    except LookupError as error:
        raise NotVerified("the plan has no such episode") from error
    if cell != stated:
        raise NotVerified(got=f"the cell {stated!r}", wanted=f"{cell!r}, as the plan has it")
    if facts.success and facts.status != "ok":
        raise NotVerified(got=f"a success with the status {brief(facts.status)}", wanted="none")


def check_return(episode: Episode) -> None:
    """Raise NotVerified unless an episode's rewards, where they are kept, add up to its return."""
    facts = episode.facts
    if episode.rewards is None or facts.status != "ok":
        return
    total = reduce(add, episode.rewards.tolist(), 0.0)  # in the order of steps
    if total != facts.return_:
        raise NotVerified(got=f"the return {facts.return_}", wanted=f"{total}, the rewards' sum")


def read_plan(header: Header) -> Plan:
    """A stranger's plan. Raises NotVerified if this version cannot read it."""
    with not_verified("read its plan"):
        TypeAdapter(Plan).validate_json(header.plan, strict=True)
        plan = Plan.from_json(header.plan)
        if min(plan.variants.values(), default=0) < 1:
            raise BadArgument(got="no variants of a task", wanted="one or more")
        return plan


def check_size(plan: Plan, episodes: int) -> None:
    """Raise NotVerified for a plan of many more episodes than recorded: it would fill memory."""
    names = {*PROCEDURES[plan.procedure].settings.model_fields, *TrainingSettings.model_fields}
    of_procedure = ((name, n) for name, n in plan.parameters.items() if name in names)
    counts_by_name = {name: n for name, n in of_procedure if type(n) is int}
    counts = [max(n, 1) for name, n in counts_by_name.items() if name not in _NO_EPISODES]
    planned = math.prod(counts) * len(plan.variants)
    planned += (
        counts_by_name.get("train_steps", 0)
        // max(counts_by_name.get("eval_every", 1), 1)
        * max(counts_by_name.get("eval_episodes", 0), 0)
    )
    if plan.order_key:  # by which every variant is drawn
        planned = max(planned, len(plan.variants) * max(plan.variants.values()))
    if planned > (most := max(_MOST_NOT_PLAYED, episodes)):
        raise NotVerified(f"its plan has up to {planned} episodes, wanted at most {most}")


@contextmanager
def not_verified(to: str) -> Iterator[None]:
    """Turn errors that a stranger's plan, cells or score cause into NotVerified."""
    try:
        yield
    except UnknownName:  # a procedure that is not installed here
        raise
    except BadArgument as error:
        raise NotVerified(f"this version cannot {to}: {brief(str(error))}") from error
    except ReglueError:
        raise
    except (ArithmeticError, AttributeError, LookupError, MemoryError, TypeError, ValueError) as e:
        reason = f"{type(e).__name__}: {printable(str(e))[:300]}"
        raise NotVerified(f"this version cannot {to}: {reason}") from e


def replayed_by(
    workers: int, path: Path, folder: Path, places: Iterable[Place]
) -> Iterator[Checked]:
    """Replay the episodes at these places in several processes; yields results in order.

    Raises EnvironmentFault if a process dies.
    """
    waiting: deque[Future[Checked]] = deque()
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(
        workers,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_begin,
        initargs=(parent_to_die_with(),),
    )
    try:
        for place in places:
            waiting.append(pool.submit(_check, path, folder, place))
            if len(waiting) > _WAITING * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    except BrokenProcessPool as error:
        raise EnvironmentFault("a process that played episodes again died") from error
    finally:
        for process in set(multiprocessing.active_children()) - others:
            process.kill()  # nobody waits for what is still played
        pool.shutdown(cancel_futures=True)


def _begin(parent: int) -> None:
    """Prepare a process that ends on Ctrl-C, and when its parent ends."""
    die_with(parent)
    end_at_ctrl_c()


@cache
def _opened(path: Path, folder: Path) -> tuple[Replayer, RecordReader]:
    """This process's environment, which replays one transcript."""
    reader = RecordReader(path.open("rb"))
    first = next(reader.records())
    header = read_content(Header, first.content, first.place)
    return Replayer(header, read_plan(header), folder), reader


def _check(path: Path, folder: Path, place: Place) -> Checked:
    replayer, reader = _opened(path, folder)
    return replayer.check(read_episode(reader, place))
