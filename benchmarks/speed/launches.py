"""Figures, claims about them, and the programs that are measured in turns."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import IO, Any, Literal, Protocol, Self


@dataclass(frozen=True, slots=True)
class Series:
    """Samples of one contender, one a round."""

    name: str
    unit: str
    samples: tuple[float, ...]
    is_least: bool = False  # the figure is the least sample: of processor time

    @property
    def figure(self) -> float:
        """The figure of all rounds."""
        return min(self.samples) if self.is_least else median(self.samples)


@dataclass(frozen=True, slots=True)
class Claim:
    """A ratio of two series, or a figure by itself, and what it means."""

    what: str
    ours: str  # the name of the series
    theirs: str | None = None  # what it is compared with; None: the figure by itself
    compared: Literal["ours/theirs", "theirs/ours"] = "ours/theirs"
    is_peer: bool = False  # the ratio is how many times as fast Reglue is as a peer
    means: str = ""  # for people who read the table


@dataclass(frozen=True, slots=True)
class Section:
    """The results of one section."""

    title: str
    about: str  # how it was measured, for people
    series: tuple[Series, ...]
    claims: tuple[Claim, ...]
    notes: tuple[str, ...] = ()  # what could not be measured, and why

    def value(self, claim: Claim) -> float | None:
        """The claim's figure; None if one of its series is missing."""
        figures = {each.name: each.figure for each in self.series}
        if claim.ours not in figures or (claim.theirs and claim.theirs not in figures):
            return None
        if claim.theirs is None:
            return figures[claim.ours]
        ratio = figures[claim.ours] / figures[claim.theirs]
        return ratio if claim.compared == "ours/theirs" else 1.0 / ratio


@dataclass(frozen=True, slots=True)
class Scale:
    """The extent of the measurement."""

    quick: bool = False  # a smoke run
    long: bool = False  # also what takes ten minutes and more

    def rounds(self, usual: int) -> int:
        """Repetitions."""
        return 1 if self.quick else usual

    def of(self, usual: int, quick: int) -> int:
        """A count of steps, episodes, …"""
        return quick if self.quick else usual


class Watch(Protocol):
    """Shows the progress."""

    def __call__(self, what: str, /) -> None:
        """Something is about to be measured."""


Measure = Callable[[], float]
"""One repetition; its figure."""


def interleave(
    contenders: Mapping[str, Measure], unit: str, *, rounds: int, watch: Watch
) -> tuple[Series, ...]:
    """A B C, A B C, …: a drift of the machine affects all contenders equally."""
    samples: dict[str, list[float]] = {name: [] for name in contenders}
    for turn in range(1, rounds + 1):
        for name, measure in contenders.items():
            watch(f"{name}, {turn} of {rounds}")
            samples[name].append(measure())
    return tuple(Series(name, unit, tuple(values)) for name, values in samples.items())


_END_S = 20.0  # how long a program may take to leave


class ContenderFailed(Exception):
    """It could not be started, or ended early; its last line."""


class _Program:
    """`speed.contenders.module` run by this Python; it leaves when its input ends.

    A context manager.
    """

    def __init__(
        self,
        module: str,
        arguments: tuple[str, ...],
        *,
        stderr: IO[bytes] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", f"speed.contenders.{module}", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            env={**os.environ, **(environment or {})},
            text=True,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._in, self._out = self._process.stdin, self._process.stdout

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with ExitStack() as closing:
            closing.callback(self._out.close)
            closing.callback(self._leave)
            self._in.close()

    def _leave(self) -> None:
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class Contender(_Program):
    """A program of ours or a peer's, kept from round to round; it calls `serve`."""

    def __init__(
        self, module: str, *arguments: str, environment: Mapping[str, str] | None = None
    ) -> None:
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - closed by __exit__
        super().__init__(module, arguments, stderr=self._said, environment=environment)

    def __exit__(self, *raised: object) -> None:
        with self._said:
            super().__exit__(*raised)

    def measure(self, **parameters: object) -> dict[str, Any]:
        """One repetition. Raises ContenderFailed."""
        try:
            self._in.write(json.dumps(parameters) + "\n")
            self._in.flush()
        except BrokenPipeError:
            raise self._failed() from None
        if not (line := self._out.readline()):
            raise self._failed()
        measured: dict[str, Any] = json.loads(line)
        return measured

    def _failed(self) -> ContenderFailed:
        self._leave()
        self._said.seek(0)
        lines = self._said.read().decode(errors="replace").strip().splitlines()
        return ContenderFailed("\n".join(lines[-20:]) or "it left without a word")


class Helper(_Program):
    """The other process of a contender."""

    def __init__(self, module: str, *arguments: str) -> None:
        super().__init__(module, arguments)

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def line(self) -> str:
        """Its first line: where it listens."""
        return self._out.readline().strip()


def serve(measure: Callable[..., Mapping[str, Any]]) -> None:
    """Answer each line of keywords with what `measure` finds, and with what that cost.

    `processor_s` is the processor time of this process and of all that it has started.
    """
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what else is printed goes to the errors
    for line in sys.stdin:
        before_s = processor_s(os.getpid())
        found = dict(measure(**json.loads(line)))
        found["processor_s"] = processor_s(os.getpid()) - before_s
        answers.write(json.dumps(found) + "\n")
        answers.flush()


def processor_s(pid: int) -> float:
    """Seconds of processor time of a process and its living descendants; 0 without /proc."""
    times, children = dict[int, int](), defaultdict[int, list[int]](list)
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended
            fields = file.read_text().rpartition(")")[2].split()
            number, parent = int(file.parent.name), int(fields[1])
            times[number] = int(fields[11]) + int(fields[12])  # user, system
            children[parent].append(number)
    family = [pid]
    for each in family:
        family += children[each]
    return sum(times.get(each, 0) for each in family) / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Ran:
    """The duration and output of a program."""

    seconds: float  # of the whole process
    said: str

    @property
    def found(self) -> dict[str, Any]:
        """Its output, read as JSON."""
        read: dict[str, Any] = json.loads(self.said)
        return read


def run(module: str, *arguments: str, environment: Mapping[str, str] | None = None) -> Ran:
    """`python -m module arguments`. Raises ContenderFailed."""
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    seconds = time.perf_counter() - began
    if done.returncode:
        lines = (done.stdout + done.stderr).strip().splitlines()
        raise ContenderFailed("\n".join(lines[-20:]))
    return Ran(seconds, done.stdout)


@dataclass(frozen=True, slots=True)
class Program:
    """A contender, and how much of it is a repetition."""

    name: str
    module: str
    arguments: tuple[str, ...]
    steps: int  # each of all its slots
    asked: Mapping[str, object] = field(default_factory=dict)
    cost: str = ""  # the name of the series of its processor time a step, if that is wanted


def rates(
    programs: Sequence[Program],
    unit: str,
    *,
    rounds: int,
    scale: Scale,
    watch: Watch,
    per: float = 1.0,
) -> tuple[tuple[Series, ...], tuple[str, ...]]:
    """Steps a second (times `per`) of each, and the contenders that could not be measured.

    Behind them comes the processor time of those that have a name for it.
    """
    notes: list[str] = []
    with ExitStack() as closing:
        ready: dict[str, _Rate] = {}
        for program in programs:
            watch(f"start {program.name}")
            contender = closing.enter_context(Contender(program.module, *program.arguments))
            measure = _Rate(contender, program, scale, per)
            try:
                measure()  # warms it up
            except ContenderFailed as failed:
                notes.append(
                    f"{program.name} could not be measured: {str(failed).splitlines()[-1]}"
                )
            else:
                ready[program.name] = measure
        series = interleave(ready, unit, rounds=rounds, watch=watch)
    costs = [
        Series(rate.program.cost, "µs of processor time a step", tuple(rate.costs_us[1:]))
        for rate in ready.values()
        if rate.program.cost
    ]
    return (*series, *costs), tuple(notes)


class _Rate:
    """Measures a contender; its first repetition warms it up."""

    def __init__(self, contender: Contender, program: Program, scale: Scale, per: float) -> None:
        self.program = program
        self.costs_us: list[float] = []  # of each repetition, a step, over all its processes
        self._contender = contender
        self._steps = scale.of(program.steps, max(20, program.steps // 20))
        self._per = per

    def __call__(self) -> float:
        measured = self._contender.measure(steps=self._steps, **self.program.asked)
        steps = float(measured["steps"])
        self.costs_us.append(1e6 * float(measured["processor_s"]) / steps)
        return self._per * steps / float(measured["seconds"])
