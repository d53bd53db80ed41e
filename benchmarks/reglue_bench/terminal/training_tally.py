"""Counts how far a run has come that trains its agent before it judges it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from glue_server import Outcome
from glue_server.episodes.recording import CUT_OFF
from reglue.errors import AgentAbandoned
from reglue_bench.float_range import mean
from reglue_bench.formatting import number, sparkline
from reglue_bench.procedures.training import Training
from reglue_bench.procedures.training_cells import evaluation_of
from reglue_bench.runs.observer import RunStarted
from reglue_bench.terminal.tally import Tally, tally_of

if TYPE_CHECKING:
    from rich.console import RenderableType

_RECENT = 100  # episodes that return and success are means of
_WIDTH = 60  # columns of the curve
_KEPT = 2000  # returns of the curve; then each two are one


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
        self._last = self._clock(), 0  # when something was over before, and steps until then
        self._tells_success = bool(plan.parameters.get("tells_success", not plan.is_by_return))
        self._steps = 0 if begun.left else procedure.steps
        self._recent: deque[tuple[float, bool]] = deque(maxlen=_RECENT)
        self._curve: list[float] = []  # returns, or means of as many each
        self._checkpoint: list[float] = []  # returns of the last one

    @property
    def done(self) -> int:
        """Steps of the training episodes that have ended; then episodes that were judged."""
        return self._steps if self._judge is None else self._judge.done

    def take(self, outcome: Outcome, phase: str) -> None:
        """Count an outcome."""
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
        """Everything in one line."""
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
        from rich.table import Table
        from rich.text import Text

        if self._judge is not None:
            return self._judge.details()
        table = Table(box=None, show_header=False, padding=(0, 1))
        if self._curve:
            low, high = min(self._curve), max(self._curve)
            line = sparkline(self._curve, low=low, high=high, width=_WIDTH)
            table.add_row("return", Text(line, style="green"), f"{number(low)} to {number(high)}")
        return table

    def _judging(self) -> Tally:
        """What the judge shows, from now on."""
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
