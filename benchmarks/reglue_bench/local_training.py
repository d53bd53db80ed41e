"""A benchmark's training goals, played in this process for a program that steps them.

The SDK's Gymnasium view finds it by the entry points of the group `reglue.training`.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Generator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from env_adapters.environment_suite import EnvironmentSuite
from env_adapters.given_suite import given_suite
from env_adapters.metaworld import ALL_TASKS, catalogue
from env_adapters.suites import EXAMPLES, META_WORLD, is_known
from glue_server import EnvironmentCalls, LocalEnvironmentPort, Order, Outcome
from glue_server.agent.agent_calls import AgentCalls, SlotAgent
from glue_server.agent.agent_port import ProgramPort
from glue_server.environment.call_log import MOST_CALLS
from glue_server.episodes.loop import EpisodeLoop, Spent
from glue_server.episodes.recording import EpisodeRecording
from glue_server.processes.interrupts import uninterrupted
from glue_server.timeouts import Timeouts
from reglue.environments.environment import Environment
from reglue.environments.slot_worlds import Worlds
from reglue.environments.world import Rendered
from reglue.errors import (
    AgentAbandoned,
    AgentFault,
    BadArgument,
    EnvironmentFault,
    NotAnEnvironment,
    UsageError,
)
from reglue.messages.agent_messages import AgentInit, Numbered, Phase, Reply
from reglue.spec import TaskSpec
from reglue_bench.benchmark.benchmark_source import GivenSource, is_file, named_source
from reglue_bench.benchmark.training_stream import TrainingStream, training_stream
from reglue_bench.engines.run_environments import cores, make_environment
from reglue_bench.procedures.training_cells import EVALUATED_BY
from reglue_bench.replay.pictures import Picture, render_world, with_pictures
from reglue_bench.results.scoring import brief_cause, is_agents_fault

_ONLINE = "online"  # how an environment is played

_MOST_FAILURES = 3  # of starts, one after another; then the environment is lost


def calls(
    benchmark: object,
    slots: int | None = None,
    *,
    workers: int | None = None,
    raise_faults: bool = True,
    render_mode: str | None = None,
    **options: Any,
) -> LocalTraining:
    """Play a benchmark's training episodes without end.

    Args:
        benchmark: A benchmark, or an environment by its name; or an object, class or function, as
            of `reglue_bench.evaluate`.
        slots: The number of episodes at once; by default one for each task, or those of a batch
            that is passed.
        workers: Processes; by default one for each core for Meta-World in several slots, else 0.
        raise_faults: Raise EnvironmentFault if an environment fails; else its episode is void.
        render_mode: "rgb_array" for environments that can be drawn, in this process.
        options: Settings as of `reglue_bench.evaluate`: `seed` (of goals and episodes),
            `training_seed` (of their order), and those of the environments. The episodes are those
            of `reglue bench BENCHMARK --train-steps N` with the same.

    Raises UsageError, NotAnEnvironment (it cannot draw), EnvironmentFault.
    """
    if render_mode not in (None, "rgb_array"):
        raise BadArgument(got=f"render_mode {render_mode!r}", wanted="'rgb_array' or None")
    if render_mode and workers:
        raise BadArgument(got=f"{workers} workers", wanted="0: pictures are drawn in this process")
    stream = _stream(benchmark, options)
    name = benchmark if isinstance(benchmark, str) else stream.suite.factory
    if slots is None:
        slots = _own_slots(benchmark, stream) or len(stream.cells.variants)
    stream = replace(stream, cells=replace(stream.cells, slots=slots))
    here: Environment | None = None
    if render_mode:
        here = Worlds(with_pictures(stream.suite))
        if not isinstance(here.world(0), Rendered):
            raise NotAnEnvironment(f"{name} cannot draw: make it with render_mode=None")
    elif workers is None and stream.suite.factory == META_WORLD and slots > 1:
        workers = cores()
    if workers:
        environment = make_environment(stream.suite, slots, workers=workers)
    else:
        here = here or stream.suite.environment()
        port = LocalEnvironmentPort(here, stream.suite.factory)
        environment = EnvironmentCalls(port).opened(slots)
    return LocalTraining(name, environment, stream, raise_faults=raise_faults, here=here)


def spec(benchmark: str, **options: Any) -> TaskSpec:
    """The observations and actions of a benchmark's agents, of one slot. Raises UsageError."""
    with _stream(benchmark, options).suite.opened() as suite:
        return suite.spec


def names() -> list[str]:
    """Benchmarks and environments that need no more than a name."""
    forms = [form for form in catalogue() if "<" not in form]
    return [*forms, *(f"{kind}:{task}" for kind in ("MT1", "ML1") for task in ALL_TASKS), *EXAMPLES]


class LocalTraining:
    """Training episodes, as a glue in this process plays them for a program.

    `calls` is a generator: it yields the calls to a training agent, and receives the replies.
    """

    def __init__(
        self,
        name: str,
        environment: EnvironmentCalls,
        stream: TrainingStream,
        *,
        raise_faults: bool,
        here: Environment | None = None,
    ) -> None:
        """`here` is the environment, if this process plays it: Worlds, if they can be drawn."""
        self.calls = self._calls()
        self._name = name
        self._environment = environment
        self._stream = stream
        self._first = 0  # the number of each slot's first episode
        self._copied = ""  # equal texts mark copies of an environment; set once the seed is chosen
        self._raise_faults = raise_faults
        self._here = here
        self._is_rendered = False  # the program asked for a picture
        self._last: dict[int, Picture | None] = {}  # of the slots' last episodes
        self._has_succeeded: dict[int, bool] = {}  # by slot, the episode that ended last

    def choose(self, seed: int | None) -> None:
        """Choose the training seed, before the first episode.

        Each slot leaves out the first `seed` modulo T of them, where T is the number of tasks: so
        copies with seeds in a row share the tasks, where agents are shown them. None leaves the
        episodes as they are. Warns of a copy in this process.
        """
        if self._copied:
            return
        if seed is not None:
            self._stream = self._stream.with_training_seed(seed)
            cells = self._stream.cells
            self._first = seed % len(cells.variants) * cells.trial
        stream = self._stream
        identity = (stream.suite, stream.plan.training_key, stream.cells.slots, self._first)
        self._copied = repr(identity)
        if _PLAYED[self._copied]:
            warnings.warn(
                f"another environment of this program plays the same episodes of "
                f"{self._name}: give each a seed of its own, by reset(seed=…) before "
                f"its first episode or by training_seed=…",
                stacklevel=4,
            )
        _PLAYED[self._copied] += 1

    def succeeded(self, slot: int) -> bool | None:
        """Whether a slot's episode that ended last did.

        None unless success is what is judged, or an environment of this process has reported it.
        """
        plan = self._stream.plan
        is_judged = EVALUATED_BY in plan.parameters and not plan.is_by_return
        is_known = is_judged or getattr(self._here, "reports_success", False)
        return self._has_succeeded.get(slot, False) if is_known else None

    def picture(self, slot: int, *, is_over: bool) -> Picture:
        """A slot's episode as it is now, or the last moment of one that is over.

        Raises UsageError if there is none.
        """
        self._is_rendered = True
        picture = self._last.get(slot) if is_over else self._render(slot)
        if picture is None:
            raise UsageError(
                f"{self._name} draws nothing in slot {slot}: reset() first; or "
                "it cannot draw, and render_mode=None is for it"
            )
        return picture

    def _render(self, slot: int) -> Picture | None:
        assert isinstance(self._here, Worlds), "it was made to draw"
        return render_world(self._here.world(slot))

    def _calls(self) -> Generator[Numbered, Reply | None, str]:
        environment = self._environment
        try:
            yield Numbered(1, AgentInit(environment.spec))
            port = ProgramPort("program")
            clips = not environment.ready.raw_actions
            agent = SlotAgent(AgentCalls(port, Timeouts()), environment.spec, clips=clips)
            recording = EpisodeRecording(environment.spec, most_kept=MOST_CALLS)
            order, spent = self._orders(), Spent()
            loop = EpisodeLoop(
                agent, environment, Phase.TRAIN, order, spent=spent, recording=recording
            )
            failures = 0  # of starts, one after another
            for seq, outcome in enumerate(loop.turns()):
                if outcome is None:
                    failures = 0
                    port.answer((yield Numbered(seq + 2, port.call)))
                    continue
                if outcome.steps:  # else it did not begin
                    slot = outcome.order.k % environment.spec.slots  # see TrainingStream.order
                    self._has_succeeded[slot] = outcome.success
                if outcome.status not in ("ok", AgentAbandoned.status):
                    failures += not outcome.steps
                    if self._raise_faults or failures == _MOST_FAILURES:
                        raise self._fault(outcome)
        finally:
            if self._copied:
                _PLAYED[self._copied] -= 1
            with uninterrupted():
                environment.close()
        return "the environments are closed"

    def _orders(self) -> Callable[[int], Order]:
        """Returns a slot's next order. Its world is drawn before, as the order ends its episode."""
        begun = [self._first] * self._environment.spec.slots

        def next_order(slot: int) -> Order:
            if self._is_rendered:
                self._last[slot] = self._render(slot)
            begun[slot] += 1
            return self._stream.order(slot, begun[slot] - 1)

        return next_order

    def _fault(self, outcome: Outcome) -> AgentFault | EnvironmentFault:
        """The cause, whose traceback is its note."""
        kind = AgentFault if is_agents_fault(outcome.status) else EnvironmentFault
        advice = "; raise_faults=False goes on with the next episode" * self._raise_faults
        fault = kind(f"{self._name}: {brief_cause(outcome.detail)}{advice}")
        if len(outcome.detail.splitlines()) > 1:
            fault.add_note(outcome.detail)
        return fault


_PLAYED = Counter[str]()
"""The streams that are played in this process now: it alone can know of copies."""


def _own_slots(benchmark: object, stream: TrainingStream) -> int:
    """The slots of a batch that is passed; 0 for anything else."""
    if isinstance(benchmark, str):
        return 0
    with stream.suite.opened() as suite:
        return suite.own_slots if isinstance(suite, EnvironmentSuite) else 0


def _stream(benchmark: object, options: Mapping[str, Any]) -> TrainingStream:
    """Raises UsageError, NotAnEnvironment."""
    endless = {"steps": 1, **options}  # online benchmarks play any environment, however long
    if not isinstance(benchmark, str):
        suite = given_suite(benchmark, endless.pop("environment_args", None) or {})
        source = GivenSource(f"{_ONLINE}:{suite.factory}", _ONLINE, Path(), suite)
        return training_stream(source.name, source=source, **endless)
    try:
        waits = not is_file(benchmark) and named_source(benchmark).waits
    except UsageError:
        if not (is_known(benchmark) or ":" in benchmark):
            raise
        benchmark, options, waits = f"{_ONLINE}:{benchmark}", endless, False
    if waits:
        raise UsageError(f"{benchmark} waits for an environment to connect: name one to play here")
    return training_stream(benchmark, **options)
