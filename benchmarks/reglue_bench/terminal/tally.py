"""Counts how far a run has come, and describes it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from env_adapters.named_objects import imported
from glue_server import Outcome
from glue_server.episodes.recording import CUT_OFF
from reglue.errors import AgentAbandoned
from reglue_bench.float_range import mean
from reglue_bench.formatting import number, sparkline, time_left
from reglue_bench.procedures.online import Online
from reglue_bench.procedures.procedure import Procedure
from reglue_bench.procedures.training import Training
from reglue_bench.procedures.training_cells import evaluation_of
from reglue_bench.runs.observer import RunStarted

if TYPE_CHECKING:
    from rich.console import RenderableType

_ROWS = 12  # more tasks than that are shown side by side
_RECENT = 10  # episodes that the return is a mean of
_RUNS = 4  # of which a display shows the returns
_WIDTH = 48  # columns of a run's line
_IDLE_S = 30.0  # after which a line says what may be waited for
_LONG = 5_000  # steps of an episode from which its limit is mentioned
_RECENT_TRAINED = 100  # training episodes that return and success are means of
_WIDTH_TRAINED = 60  # columns of the curve of training
_KEPT = 2000  # points of that curve at most; beyond them, each two become their mean


class Tally(ABC):
    """Counts outcomes, and describes them."""

    title: str  # the run's
    counted_in: str  # what `done` and `total` are
    total: int
    since_s: float  # by the clock, when it began

    def __init__(self, begun: RunStarted, clock: Callable[[], float]) -> None:
        self._begun = begun
        self._clock = clock
        self.since_s = clock()
        self._faults = 0
        self._moved, self._moved_at = 0, self.since_s  # steps as last seen

    @property
    @abstractmethod
    def done(self) -> int:
        """The amount played, in this session or before, counted in `counted_in`."""

    @abstractmethod
    def take(self, outcome: Outcome, phase: str) -> None:
        """Count an outcome."""

    @abstractmethod
    def line(self) -> str:
        """Everything in one line."""

    @abstractmethod
    def details(self) -> RenderableType:
        """Lines that a display shows below its own."""

    def _line(self, parts: list[str], *, played: int) -> str:
        """The words, the speed, the time left, and faults; `played` in this session."""
        passed_s = self._clock() - self.since_s
        steps = self._begun.executed()
        rate = steps / passed_s if passed_s > 0 else 0.0
        parts = [*parts, f"{rate:,.0f} steps/s"]
        most_s = self._most_steps() / rate if rate else math.inf
        if left := time_left(passed_s, played, self.total - self.done, most_s=most_s):
            parts.append(left)
        if self._faults:
            parts.append(f"{self._faults} fault{'s' * (self._faults > 1)}")
        if waited := self._waited(steps):
            parts.append(waited)
        return ", ".join(parts)

    def _most_steps(self) -> float:
        """The most steps that are left to play, infinite if nothing limits them."""
        return math.inf

    def _waited(self, steps: int) -> str:
        """A warning if no step was taken for long, with the time limits; else empty."""
        now = self._clock()
        if steps != self._moved:
            self._moved, self._moved_at = steps, now
        idle_s = now - self._moved_at
        if idle_s < _IDLE_S:
            return ""
        limits = self._begun.limits()
        return f"no step for {idle_s:.0f} s" + f": {limits}" * bool(limits)


class JudgedTally(Tally):
    """Success so far, of all tasks and of each."""

    counted_in = "episodes"

    def __init__(self, procedure: Procedure, begun: RunStarted, clock: Callable[[], float]) -> None:
        super().__init__(begun, clock)
        plan = begun.plan
        self.title = f"{plan.title}, {plan.procedure}, seed {plan.seed}, {plan.slots} slots"
        self.total = sum(len(procedure.cells(unit)) for unit in range(procedure.units))
        self._before = self.total
        self._planned: Counter[str] = Counter()  # judged episodes that were left, by task
        for unit in begun.left:
            cells = procedure.cells(unit)
            self._before -= len(cells)
            self._planned.update(cell.task for cell in cells if cell.phase == "evaluate")
        # For each reported episode: whether it succeeded, or True if success is never reported. A
        # process that dies loses some, which are played again.
        self._counted: dict[tuple[int, int], bool] = {}
        limits = plan.parameters.get("horizon"), procedure.steps_left(0, 0)
        self._longest = min(float(limit or math.inf) for limit in limits)  # steps of an episode
        self._ended = 0  # steps of the episodes that were reported
        self._successes: Counter[str] = Counter()  # judged episodes, by task

    @property
    def done(self) -> int:
        """Cells that have a row, or are about to."""
        return self._before + len(self._counted)

    def take(self, outcome: Outcome, phase: str) -> None:
        self._faults += outcome.status != "ok"
        counts = phase == "evaluate" and (outcome.success or self._begun.plan.is_by_return)
        place = (outcome.order.unit, outcome.order.k)
        self._ended += outcome.steps
        self._successes[outcome.order.cell.task] += counts - self._counted.get(place, False)
        self._counted[place] = counts

    def line(self) -> str:
        parts = [f"{self.done} of {self.total} episodes"]
        if not self._begun.plan.is_by_return:
            # No rate of finished episodes: successes end early, so it would start too high.
            of = "that were left" if self._before else "planned"
            parts.append(f"{self._successes.total()} succeeded of {self._planned.total()} {of}")
        return self._line(parts, played=len(self._counted))

    def _most_steps(self) -> float:
        in_play = max(self._begun.executed() - self._ended, 0)
        return max((self.total - self.done) * self._longest - in_play, 0)

    def details(self) -> RenderableType:
        """Successes of each task (or episodes, see above) of all that are planned."""
        from rich.columns import Columns
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        tasks = [task for task in self._begun.plan.tasks if self._planned[task]]
        if len(tasks) > _ROWS:
            texts = [Text(f"{t} {self._successes[t]}/{self._planned[t]}") for t in tasks]
            return Columns(texts, padding=(0, 3))
        table = Table(box=None, show_header=False, padding=(0, 1), expand=True)
        table.add_column()
        table.add_column(ratio=1)
        table.add_column()
        for task in tasks:
            won, planned = self._successes[task], self._planned[task]
            table.add_row(task, ProgressBar(total=planned, completed=won), f"{won}/{planned}")
        return table


class ReturnTally(JudgedTally):
    """The mean return so far, of all tasks and of each."""

    def __init__(self, procedure: Procedure, begun: RunStarted, clock: Callable[[], float]) -> None:
        super().__init__(procedure, begun, clock)
        self._returns: dict[str, list[float]] = {}  # of the episodes of this session

    def take(self, outcome: Outcome, phase: str) -> None:
        before = len(self._counted)
        super().take(outcome, phase)
        if outcome.status == "ok" and len(self._counted) > before:
            self._returns.setdefault(outcome.order.cell.task, []).append(outcome.return_)

    def line(self) -> str:
        parts = [f"{self.done} of {self.total} episodes"]
        if self._returns:
            # Tasks weigh alike. Short episodes end first, so it is not yet the score.
            of_all = mean([mean(of) for of in self._returns.values()])
            parts.append(f"mean return so far {number(of_all)}")
        return self._line(parts, played=len(self._counted))

    def details(self) -> RenderableType:
        """The last returns of each task, and their mean."""
        rows = []
        for task, returns in list(self._returns.items())[-_ROWS:]:
            line = sparkline(returns, low=min(returns), high=max(returns), width=_WIDTH)
            rows.append((task, line, number(mean(returns))))
        return _bars(rows)


class LearningTally(Tally):
    """The runs in play, their episodes and their recent returns."""

    def __init__(self, procedure: Online, begun: RunStarted, clock: Callable[[], float]) -> None:
        super().__init__(begun, clock)
        plan = begun.plan
        self.counted_in = "episodes" if procedure.episodes else "steps"
        each = f"{procedure.quota:,} {self.counted_in}"
        self.title = f"{plan.title}, {procedure.units} runs of {each}, seed {plan.seed}"
        self.total = procedure.units * procedure.quota
        self._procedure = procedure
        self._over: set[int] = set(range(procedure.units)) - set(begun.left)
        self._before = len(self._over) * procedure.quota
        self._returns: dict[int, list[float]] = {}  # of the runs seen
        self._unit = begun.left[0] if begun.left else 0  # the run of the last report
        self._steps: dict[int, int] = {}  # of the runs in play
        self._executed = 0  # by runs that are over

    @property
    def done(self) -> int:
        """Episodes, or steps, of the runs that are over and of those in play."""
        return len(self._over) * self._procedure.quota + self._done_in_play()

    def take(self, outcome: Outcome, phase: str) -> None:
        self._unit = outcome.order.unit
        if outcome.order.k == 0:  # also where a run is played anew
            self._over.discard(self._unit)
            self._returns[self._unit] = []
            self._steps[self._unit] = 0
        returns = self._returns[self._unit]
        returns.append(outcome.return_)
        self._steps[self._unit] += outcome.steps
        self._faults += outcome.status != "ok"
        steps = self._steps[self._unit]
        if outcome.status != "ok" or not self._procedure.steps_left(len(returns), steps):
            self._over.add(self._unit)
            self._executed += self._steps.pop(self._unit)
            self._unit = next((u for u in self._begun.left if u not in self._over), self._unit)

    def line(self) -> str:
        parts = [self._where()]
        if self._returns:
            parts.append(self._recently())
        played = self.done - self._before
        each = self._begun.executed() / (played + 1)  # with the episode in play
        if self._procedure.episodes and each > _LONG:
            parts.append(f"{each:,.0f} steps an episode (an episode limit cuts it off)")
        return self._line(parts, played=played)

    def details(self) -> RenderableType:
        """Returns by episode of the last runs, on one scale."""
        recent = list(self._returns.items())[-_RUNS:]
        everything = sorted(each for _, returns in recent for each in returns)
        rows = []
        if everything:
            # The first episodes may be worse than all others: they must not flatten those.
            low = everything[len(everything) // 20]
            for unit, returns in recent:
                line = sparkline(returns, low=low, high=everything[-1], width=_WIDTH)
                rows.append((f"run {unit + 1}", line, number(mean(returns[-_RECENT:]))))
        return _bars(rows)

    def _done_in_play(self) -> int:
        left = self._procedure.units - len(self._over)
        if self._procedure.episodes:
            return sum(len(self._returns[unit]) for unit in self._steps)
        return min(self._begun.executed() - self._executed, left * self._procedure.quota)

    def _where(self) -> str:
        units, quota = self._procedure.units, self._procedure.quota
        if len(self._steps) > 1:
            done = f"{self.done:,} of {self.total:,} {self.counted_in}"
            return f"{len(self._over)} of {units} runs, {done}"
        of_run = quota if self._unit in self._over else min(self._done_in_play(), quota)
        counted = self.counted_in.removesuffix("s")
        return f"run {self._unit + 1} of {units}, {counted} {of_run:,} of {quota:,}"

    def _recently(self) -> str:
        returns = next(reversed(self._returns.values()))[-_RECENT:]
        return f"return {number(mean(returns))}" + (
            f" (last {len(returns)})" if len(returns) > 1 else ""
        )


class TrainingTally(Tally):
    """Steps and the recent return while it trains; then what the judge shows."""

    counted_in = "steps"

    def __init__(self, procedure: Training, begun: RunStarted, clock: Callable[[], float]) -> None:
        super().__init__(begun, clock)
        plan = begun.plan
        judged = evaluation_of(plan)
        self.title = (
            f"{plan.title}, {procedure.steps:,} steps of training, then {judged.procedure}, "
            f"seed {plan.seed}, {plan.slots} slots"
        )
        self.total = procedure.steps
        self._procedure, self._plan = procedure, judged
        self._judge: Tally | None = None  # once something is judged
        self._last = self._clock(), 0  # at the last outcome of training: time, and steps so far
        self._tells_success = bool(plan.parameters.get("tells_success", not plan.is_by_return))
        self._steps = 0 if begun.left else procedure.steps
        self._recent: deque[tuple[float, bool]] = deque(maxlen=_RECENT_TRAINED)
        self._curve: list[float] = []  # returns, or means of as many each
        self._checkpoint: list[float] = []  # returns of the last one

    @property
    def done(self) -> int:
        """Steps of the training episodes that have ended; then episodes that were judged."""
        return self._steps if self._judge is None else self._judge.done

    def take(self, outcome: Outcome, phase: str) -> None:
        if phase not in ("evaluate", "evaluate_before", "adapt"):
            self._last = self._clock(), self._begun.executed()
        if phase == "train":
            self._train(outcome)
        elif phase == "checkpoint":
            self._checkpoint.append(outcome.return_)
        elif phase != "checkpoint_adapt":
            self._judge = self._judge or self._judging()
            self._judge.take(outcome, phase)

    def line(self) -> str:
        if self._judge is not None:
            return f"judging: {self._judge.line()}"
        parts = [f"training: {self._steps:,} of {self.total:,} steps"]
        if self._recent:
            returns = [each for each, _ in self._recent]
            parts.append(f"return {number(mean(returns))} (last {len(returns)})")
            if self._tells_success:
                parts.append(f"success {sum(won for _, won in self._recent) / len(returns):.2f}")
        if self._checkpoint:
            parts.append(f"checkpoint {number(mean(self._checkpoint))}")
        return self._line(parts, played=self._steps)

    def details(self) -> RenderableType:
        """Returns over training; then what the judge shows."""
        if self._judge is not None:
            return self._judge.details()
        if not self._curve:
            return _bars([])
        low, high = min(self._curve), max(self._curve)
        line = sparkline(self._curve, low=low, high=high, width=_WIDTH_TRAINED)
        return _bars([("return", line, f"{number(low)} to {number(high)}")])

    def _judging(self) -> Tally:
        """The tally of the judged episodes, which begin now."""
        (began_s, before), units = self._last, range(self._procedure.judge.units)
        begun = RunStarted(
            self._plan, units, lambda: self._begun.executed() - before, self._begun.limits
        )
        judge = tally_of(self._procedure.judge, begun, self._clock)
        judge.since_s = began_s
        self.total, self.counted_in = judge.total, judge.counted_in
        return judge

    def _train(self, outcome: Outcome) -> None:
        self._checkpoint = []
        self._steps += outcome.steps
        is_free = outcome.status == AgentAbandoned.status
        self._faults += outcome.status != "ok" and not is_free
        if outcome.status != "ok" or outcome.detail == CUT_OFF:
            return
        self._recent.append((outcome.return_, outcome.success))
        self._curve.append(outcome.return_)
        if len(self._curve) > _KEPT:
            pairs = zip(self._curve[::2], self._curve[1::2], strict=False)
            self._curve = [mean(pair) for pair in pairs]


def tally_of(procedure: Procedure, begun: RunStarted, clock: Callable[[], float]) -> Tally:
    """The tally of a run that begins; `clock` gives seconds."""
    make: Callable[[Procedure, RunStarted, Callable[[], float]], Tally] = imported(
        "tally", procedure.counted_by, Tally
    )
    return make(procedure, begun, clock)


def _bars(rows: Iterable[tuple[str, str, str]]) -> RenderableType:
    """A sparkline in each row, between its name and its number."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=False, padding=(0, 1))
    for name, line, figure in rows:
        table.add_row(Text(name), Text(line, style="green"), figure)
    return table
