"""A benchmark's training goals, played in this process for a program that steps them.

The entry points of the group `reglue.training`, by which the SDK's Gymnasium view finds them.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import closing
from dataclasses import replace
from typing import Any

from env_adapters.metaworld import ALL_TASKS, catalogue
from env_adapters.suites import EXAMPLES, META_WORLD, is_known
from glue_server import EnvironmentCalls, Order
from glue_server.agent.calls import AgentCalls
from glue_server.agent.port import ProgramPort
from glue_server.agent.turns import SlotAgent
from glue_server.episodes.loop import EpisodeLoop, Spent
from glue_server.timeouts import Timeouts
from reglue.errors import BadArgument, EnvironmentFault, UsageError
from reglue.messages.agent import AgentInit, Numbered, Phase, Reply
from reglue.spec import TaskSpec
from reglue_bench.plans.names import BenchmarkName
from reglue_bench.plans.training_stream import TrainingStream, training_stream
from reglue_bench.runs.environments import cores, make_environment

_MOST_FAILURES = 3  # of starts, one after another; then the environment is lost


def calls(
    benchmark: str,
    slots: int | None = None,
    *,
    workers: int | None = None,
    **options: Any,
) -> Generator[Numbered, Reply | None, str]:
    """What a glue would ask an agent that trains, without end; is sent the agent's replies.

    Args:
        benchmark: A benchmark, or an environment by its name.
        slots: How many episodes are played at once; by default one for each task.
        workers: Processes; by default one for each core for Meta-World in several slots, else 0.
        options: Settings as of `reglue_bench.evaluate`: `seed` (of goals and episodes),
            `training_seed` (of their order), and those of the environments. The episodes are those
            of `reglue bench BENCHMARK --train-steps N` with the same.

    Raises UsageError, EnvironmentFault.
    """
    stream = _stream(benchmark, options)
    slots = len(stream.cells.variants) if slots is None else slots
    stream = replace(stream, cells=replace(stream.cells, slots=slots))
    if workers is None:
        workers = cores() if stream.suite.factory == META_WORLD and slots > 1 else 0
    return _calls(make_environment(stream.suite, slots, workers=workers), stream)


def spec(benchmark: str, **options: Any) -> TaskSpec:
    """What agents see and do in a benchmark, of one slot. Raises UsageError."""
    return _stream(benchmark, options).suite.build().spec


def names() -> list[str]:
    """Benchmarks and environments that need no more than a name."""
    forms = [form for form in catalogue() if "<" not in form]
    return [*forms, *(f"{kind}:{task}" for kind in ("MT1", "ML1") for task in ALL_TASKS), *EXAMPLES]


def _calls(
    environment: EnvironmentCalls, stream: TrainingStream
) -> Generator[Numbered, Reply | None, str]:
    with closing(environment):
        yield Numbered(1, AgentInit(environment.spec))
        begun = [0] * environment.spec.slots  # episodes

        def next_order(slot: int) -> Order:
            begun[slot] += 1
            return stream.order(slot, begun[slot] - 1)

        port = ProgramPort("program")
        clips = not environment.ready.raw_actions
        agent = SlotAgent(AgentCalls(port, Timeouts()), environment.spec, clips=clips)
        loop = EpisodeLoop(agent, environment, Phase.TRAIN, next_order, spent=Spent())
        failures = 0  # of starts, one after another
        for seq, outcome in enumerate(loop.turns()):
            if outcome is None:
                failures = 0
                port.answer((yield Numbered(seq + 2, port.call)))
            elif outcome.status == EnvironmentFault.status and not outcome.steps:
                failures += 1
                if failures == _MOST_FAILURES:
                    raise EnvironmentFault(outcome.detail)
    return "the environments are closed"


def _stream(benchmark: str, options: Mapping[str, Any]) -> TrainingStream:
    """Raises UsageError."""
    if not isinstance(benchmark, str):
        raise BadArgument(f"got the benchmark {benchmark!r}, wanted a name")
    name = None
    try:
        name = BenchmarkName.parse(benchmark)
    except UsageError:
        if not (is_known(benchmark) or ":" in benchmark):
            raise
    if name is None:  # an environment: online benchmarks play any, and nobody asks how long
        return training_stream(f"online:{benchmark}", **{"steps": 1, **options})
    if name.waits:
        raise UsageError(f"{benchmark} waits for an environment to connect: name one to play here")
    return training_stream(benchmark, **options)
