"""`python -m tests.mutants`: puts faults into copies of the code, and says which ones tests find.

Verdicts are kept in a file, line by line: the same command goes on where it was stopped.
"""

from __future__ import annotations

import json
import math
import tempfile
import threading
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import zip_longest
from pathlib import Path
from queue import SimpleQueue
from typing import Annotated

import typer

from reglue_bench.statistics import wilson
from tests.mutants.fault_places import Fault, draw
from tests.mutants.importing_tests import ImportGraph
from tests.mutants.trials import ANY, FAST, SLOW, Copy, Verdict

ROOT = Path(__file__).parents[2]
PACKAGES = {
    "reglue": "agent_clients/python/reglue",
    "env_adapters": "env_adapters",
    "glue_server": "glue_server",
    "reglue_bench": "benchmarks/reglue_bench",
    "reglue_competition": "competition/reglue_competition",
}
EQUIVALENT = Path(__file__).with_name("equivalent.txt")
NEAR, WIDE = 5, 20
"""The number of test files that are run for each fault, and again for one that survived these."""


def main(
    *,
    faults: Annotated[int, typer.Option(min=1, help="in all packages together")] = 200,
    seed: Annotated[int, typer.Option(help="of the draw")] = 0,
    package: Annotated[str, typer.Option(help="by commas")] = ",".join(PACKAGES),
    jobs: Annotated[int, typer.Option(min=1, help="trials at once, each in its own copy")] = 2,
    out: Annotated[Path, typer.Option(help="verdicts, one a line; those there are kept")] = Path(
        "mutants.jsonl"
    ),
    minutes: Annotated[float, typer.Option(help="begin no more trials after so long")] = math.inf,
    limit_s: Annotated[float, typer.Option(help="seconds for one run of tests")] = 600.0,
    root: Annotated[Path, typer.Option(help="the tree")] = ROOT,
) -> None:
    """Draw faults, run the tests that could notice each, and print what these found."""
    drawn = _drawn(root, package.split(","), faults, seed)
    verdicts = read(out)
    until = time.monotonic() + 60 * minutes

    def note(fault: Fault, verdict: Verdict) -> None:
        verdicts[fault.name] = verdict
        told = {"fault": fault.name, "word": verdict.word, "by": verdict.by}
        with out.open("a", encoding="utf-8") as file:
            print(json.dumps(told, ensure_ascii=False), file=file)
        print(f"{len(verdicts)}: {verdict.word}: {fault.name} {verdict.by}", flush=True)

    with tempfile.TemporaryDirectory(prefix="reglue-mutants-") as folder:
        trials = _Trials(root, Path(folder), jobs, limit_s, until, note)
        in_turn = zip_longest(*(of_package.items() for of_package in drawn.values()))
        every = [each for one_of_each in in_turn for each in one_of_each if each]
        trials.run([each for each in every if each[0].name not in verdicts], is_last=False)
        waiting = Verdict("unconfirmed")
        trials.run([e for e in every if verdicts.get(e[0].name) == waiting], is_last=True)
    print(table(drawn, verdicts, equivalents(EQUIVALENT)))


def read(file: Path) -> dict[str, Verdict]:
    """The verdicts of a file, by their fault's name: the last one counts."""
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return {told.pop("fault"): Verdict(**told) for told in map(json.loads, lines)}


def equivalents(file: Path) -> set[str]:
    """The faults that change nothing, as somebody has seen by reading."""
    lines = file.read_text(encoding="utf-8").splitlines()
    return {line for line in lines if line and not line.startswith("#")}


def table(
    drawn: Mapping[str, Sequence[Fault] | Mapping[Fault, str]],
    verdicts: Mapping[str, Verdict],
    equivalent: set[str],
) -> str:
    """Counts by package, and the faults that no test found."""
    words = ("found", "survived", "unconfirmed", "not judged", "equivalent")
    rows = [
        f"| package | faults | {' | '.join(words)} | found, of the first three |",
        f"| --- |{' ---: |' * (len(words) + 1)} --- |",
    ]
    left, sums = [], Counter[str]()
    for package, faults in drawn.items():
        counts = Counter[str]()
        for fault in faults:
            verdict = verdicts.get(fault.name, Verdict("not judged"))
            word = "equivalent" if fault.name in equivalent else verdict.word
            counts[word] += 1
            if word not in ("found", "equivalent"):
                left.append(f"- {word}: `{fault.name}`")
        sums += counts
        rows.append(_row(package, counts, words))
    return "\n".join([*rows, _row("sum", sums, words), "", *left])


def _row(package: str, counts: Counter[str], words: Sequence[str]) -> str:
    judged = counts["found"] + counts["survived"] + counts["unconfirmed"]
    low, high = wilson(counts["found"], judged) if judged else (0.0, 1.0)
    numbers = " | ".join(str(counts[word]) for word in words)
    share = f"{counts['found']} of {judged}: {100 * low:.0f} to {100 * high:.0f} %"
    return f"| {package} | {counts.total()} | {numbers} | {share} |"


def _drawn(root: Path, names: Sequence[str], faults: int, seed: int) -> dict[str, dict[Fault, str]]:
    """By package, with what each fault makes of its file."""
    for name in names:
        if not (root / PACKAGES.get(name, name)).is_dir():
            raise typer.BadParameter(f"got {name}, wanted some of {', '.join(PACKAGES)}")
    shares = [len(range(number, faults, len(names))) for number in range(len(names))]
    return {
        name: draw(root, PACKAGES.get(name, name), share, seed)
        for name, share in zip(names, shares, strict=True)
    }


class _Trials:
    """Copies of the tree, in which several faults are tried at once."""

    def __init__(
        self,
        root: Path,
        folder: Path,
        jobs: int,
        limit_s: float,
        until: float,
        note: Callable[[Fault, Verdict], None],
    ) -> None:
        settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
        roots = settings["tool"]["pytest"]["ini_options"]["pythonpath"]
        self._graph = ImportGraph(root, roots)
        self._copies: SimpleQueue[Copy] = SimpleQueue()
        self._jobs, self._until, self._note, self._lock = jobs, until, note, threading.Lock()
        for number in range(jobs):
            self._copies.put(Copy(root, folder / str(number), roots, limit_s))

    def run(self, faults: Sequence[tuple[Fault, str]], *, is_last: bool) -> None:
        """Judge them by few tests, or, at last, by more and slow ones."""

        def one(fault: Fault, wrong: str) -> None:
            if time.monotonic() >= self._until:
                return
            tests = self._graph.tests_for(fault)
            near, wide = tests[:NEAR], tests[NEAR:WIDE]
            copy = self._copies.get()
            try:
                for some, marks in [(near, SLOW), (wide, ANY)] if is_last else [(near, FAST)]:
                    verdict = copy.judge(fault.path, wrong, some, marks)
                    if verdict.word != "survived":
                        break
            finally:
                self._copies.put(copy)
            if verdict.word == "survived" and not is_last:
                verdict = Verdict("unconfirmed")
            with self._lock:
                self._note(fault, verdict)

        with ThreadPoolExecutor(self._jobs) as pool:
            list(pool.map(one, *zip(*faults, strict=True)))


if __name__ == "__main__":
    typer.run(main)
