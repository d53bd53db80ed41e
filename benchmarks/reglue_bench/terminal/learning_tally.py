"""What has been seen of an online benchmark so far: which run, and how its agent learns."""

from __future__ import annotations

from collections.abc import Callable

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from glue_server import Outcome
from reglue_bench.procedures import Online, procedure_of
from reglue_bench.terminal.observer import RunStarted
from reglue_bench.terminal.words import number, sparkline, time_left

_RECENT = 10  # episodes that the return is a mean of
_RUNS = 4  # of which a display shows the returns
_WIDTH = 48  # columns of a run's line


class LearningTally:
    """The run in play, its episode, its return of late; the lines of the last runs."""

    def __init__(self, begun: RunStarted, clock: Callable[[], float]) -> None:
        plan, procedure = begun.plan, procedure_of(begun.plan)
        assert isinstance(procedure, Online), plan.procedure
        self.counted_in = "episodes" if procedure.episodes else "steps"
        each = f"{procedure.quota:,} {self.counted_in}"
        self.title = f"{plan.benchmark}, {procedure.units} runs of {each}, seed {plan.seed}"
        self.total = procedure.units * procedure.quota
        self._procedure = procedure
        self._begun = begun
        self._clock = clock
        self._since = clock()
        self._over: set[int] = set(range(procedure.units)) - set(begun.left)
        self._before = len(self._over) * procedure.quota
        self._returns: dict[int, list[float]] = {}  # of the runs seen
        self._unit = begun.left[0] if begun.left else 0
        self._steps = 0  # of the run in play
        self._executed = 0  # when it began
        self._faults = 0

    @property
    def done(self) -> int:
        """Episodes, or steps, of the runs that are over and of the one in play."""
        return len(self._over) * self._procedure.quota + self._done_of_run()

    def take(self, outcome: Outcome, phase: str) -> None:
        """Count an outcome."""
        self._unit = outcome.order.unit
        if outcome.order.k == 0:  # also where a run is played anew
            self._over.discard(self._unit)
            self._returns[self._unit] = []
            self._steps = 0
        returns = self._returns[self._unit]
        returns.append(outcome.return_)
        self._steps += outcome.steps
        self._faults += outcome.status != "ok"
        if outcome.status != "ok" or not self._procedure.steps_left(len(returns), self._steps):
            self._over.add(self._unit)
            self._executed = self._begun.executed()
            self._unit = next((u for u in self._begun.left if u not in self._over), self._unit)

    def line(self) -> str:
        """All of it in a line."""
        passed_s = self._clock() - self._since
        rate = self._begun.executed() / passed_s if passed_s > 0 else 0.0
        words = [f"run {self._unit + 1} of {self._procedure.units}", self._where()]
        if self._returns:
            words.append(self._recently())
        words.append(f"{rate:,.0f} steps/s")
        if left := time_left(passed_s, self.done - self._before, self.total - self.done):
            words.append(left)
        if self._faults:
            words.append(f"{self._faults} fault{'s' * (self._faults > 1)}")
        return ", ".join(words)

    def details(self) -> RenderableType:
        """Returns by episode of the last runs, on one scale."""
        shown = list(self._returns.items())[-_RUNS:]
        everything = sorted(each for _, returns in shown for each in returns)
        table = Table(box=None, show_header=False, padding=(0, 1))
        if everything:
            # The first episodes may be worse than all others: they must not flatten those.
            low = everything[len(everything) // 20]
            for unit, returns in shown:
                line = sparkline(returns, low=low, high=everything[-1], width=_WIDTH)
                late = returns[-_RECENT:]
                table.add_row(
                    f"run {unit + 1}", Text(line, style="green"), number(sum(late) / len(late))
                )
        return table

    def _done_of_run(self) -> int:
        if self._unit in self._over:
            return 0
        if self._procedure.episodes:
            return len(self._returns.get(self._unit, ()))
        return min(self._begun.executed() - self._executed, self._procedure.quota)

    def _where(self) -> str:
        done = self._done_of_run() if self._unit not in self._over else self._procedure.quota
        if self._procedure.episodes:
            return f"episode {done:,} of {self._procedure.quota:,}"
        return f"step {done:,} of {self._procedure.quota:,}"

    def _recently(self) -> str:
        returns = next(reversed(self._returns.values()))[-_RECENT:]
        mean = number(sum(returns) / len(returns))
        return f"return {mean}" + (f" (last {len(returns)})" if len(returns) > 1 else "")
