"""A benchmark's training goals, played in this process for a program that steps them.

The entry points of the group `reglue.training`, by which the SDK's Gymnasium view finds them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Mapping
from contextlib import closing, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from env_adapters import Cell, SuiteName
from env_adapters.metaworld import ALL_TASKS, catalogue
from env_adapters.suites import EXAMPLES, META_WORLD, is_known
from glue_server import EnvironmentCalls, Order
from glue_server.agent.calls import AgentCalls
from glue_server.agent.port import ProgramPort
from glue_server.episodes.loop import EpisodeLoop, Spent
from glue_server.timeouts import Timeouts
from reglue.errors import BadArgument, EnvironmentFault, UsageError
from reglue.messages.agent import AgentInit, Numbered, Phase, Reply
from reglue.spec import TaskSpec
from reglue_bench.plans.file import read_custom
from reglue_bench.plans.names import BenchmarkName, is_custom
from reglue_bench.plans.resolve import resolve
from reglue_bench.procedures.procedure import MAX_TRIES
from reglue_bench.runs.environments import cores, make_environment
from reglue_bench.settings import read_settings


def calls(
    benchmark: str,
    slots: int | None = None,
    *,
    seed: int = 0,
    workers: int | None = None,
    **options: object,
) -> Generator[Numbered, Reply | None, str]:
    """What a glue would ask an agent that trains, without end; is sent the agent's replies.

    Args:
        benchmark: A benchmark, or an environment by its name.
        slots: How many episodes are played at once; by default one for each task.
        seed: Of goals and episodes: the same seed and actions give the same episodes.
        workers: Processes; by default one for each core for Meta-World in several slots, else 0.
        options: Settings of the environments, as of `reglue_bench.evaluate`.

    Raises UsageError, EnvironmentFault.
    """
    found = _found(benchmark, seed, options)
    slots = len(found.variants) if slots is None else slots
    if workers is None:
        workers = cores() if found.suite.factory == META_WORLD and slots > 1 else 0
    environment = make_environment(found.suite, slots, workers=workers)
    return _calls(environment, TrainingOrders(found.variants, seed))


def spec(benchmark: str, **options: object) -> TaskSpec:
    """What agents see and do in a benchmark, of one slot. Raises UsageError."""
    return _found(benchmark, 0, options).suite.build().spec


def names() -> list[str]:
    """Benchmarks and environments that need no more than a name."""
    forms = [form for form in catalogue() if "<" not in form]
    return [*forms, *(f"{kind}:{task}" for kind in ("MT1", "ML1") for task in ALL_TASKS), *EXAMPLES]


@dataclass(slots=True)
class TrainingOrders:
    """Episodes without end: the n-th plays task n mod T.

    A task's variants come in passes, each in an order of its own that the seed draws.
    """

    variants: Mapping[str, int]
    seed: int
    _count: int = 0
    _pass: dict[str, list[int]] = field(default_factory=dict)

    def next(self, _slot: int) -> Order:
        """What a free slot plays."""
        n, self._count = self._count, self._count + 1
        turn, place = divmod(n, len(self.variants))
        task = list(self.variants)[place]
        repeat, at = divmod(turn, self.variants[task])
        if at == 0:
            self._pass[task] = self._shuffled(task, repeat)
        cell = Cell(task, self._pass[task][at], self._drawn("cell", n) >> 1, repeat, Phase.TRAIN)
        return Order(unit=0, k=n, cell=cell, start_seed=self._drawn("start", n))

    def _shuffled(self, task: str, repeat: int) -> list[int]:
        keys = [self._drawn(f"{task} {repeat}", each) for each in range(self.variants[task])]
        return sorted(range(len(keys)), key=keys.__getitem__)

    def _drawn(self, what: str, n: int) -> int:
        """64 bits."""
        digest = hashlib.sha256(f"reglue training {self.seed} {what} {n}".encode()).digest()
        return int.from_bytes(digest[:8], "little")


def _calls(
    environment: EnvironmentCalls, orders: TrainingOrders
) -> Generator[Numbered, Reply | None, str]:
    with closing(environment):
        yield Numbered(1, AgentInit(environment.spec))
        port = ProgramPort("program")
        loop = EpisodeLoop(
            AgentCalls(port, Timeouts()), environment, Phase.TRAIN, orders.next, spent=Spent()
        )
        failures = 0  # of starts, one after another
        for seq, outcome in enumerate(loop.turns()):
            if outcome is None:
                failures = 0
                port.answer((yield Numbered(seq + 2, port.call)))
            elif outcome.status == EnvironmentFault.status and not outcome.steps:
                failures += 1
                if failures == MAX_TRIES:
                    raise EnvironmentFault(outcome.detail)
    return "the environments are closed"


@dataclass(frozen=True, slots=True)
class _Found:
    """The environments of a name."""

    suite: SuiteName
    variants: Mapping[str, int]


def _found(benchmark: str, seed: int, options: Mapping[str, Any]) -> _Found:
    """Raises UsageError."""
    settings = read_settings(benchmark=_named(benchmark), seed=seed, **options)
    name = BenchmarkName.parse(settings.benchmark)
    if name.waits:
        raise UsageError(f"{benchmark} waits for an environment to connect: name one to play here")
    if name.name.startswith("ML") and name.is_metaworld and settings.split is None:
        settings = settings.model_copy(update={"split": "train"})
    custom, folder = None, Path(settings.directory)
    if is_custom(name.name):
        custom = read_custom(folder / name.name, settings)
        settings, folder = custom.settings, custom.file.path.parent
    with custom.told() if custom else nullcontext():
        found = resolve(settings, name, custom)
    return _Found(found.suite.located(folder), found.variants)


def _named(name: str) -> str:
    """A benchmark's name, of an environment's: how that is played does not matter here."""
    if not isinstance(name, str):
        raise BadArgument(f"got the benchmark {name!r}, wanted a name")
    try:
        BenchmarkName.parse(name)
    except UsageError:
        if is_known(name) or ":" in name:
            return f"online:{name}"
        raise
    return name
