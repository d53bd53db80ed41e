"""`Evaluator`: one benchmark, many evaluations, as in a training loop."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Self, Unpack

from glue_server import EnvironmentCalls
from glue_server.processes.crash_reports import crashes_reported
from reglue.errors import UsageError
from reglue.tools.loading import check_guarded
from reglue_bench.benchmark.benchmark import Benchmark, suite_of
from reglue_bench.engines.run_environments import environment_of
from reglue_bench.evaluation import check_faults, interrupts_raised, start
from reglue_bench.global_randomness import unchanged_randomness
from reglue_bench.loggers import Log, Loggers
from reglue_bench.options import Options
from reglue_bench.plans.plan import Plan
from reglue_bench.results.result import Result
from reglue_bench.results.scoring import in_temporary_folder
from reglue_bench.runs.objects import opened
from reglue_bench.runs.observer import Observer
from reglue_bench.runs.run import Request
from reglue_bench.settings import Settings, read_settings
from reglue_bench.terminal.status_line import observer


class Evaluator:
    """Plays the same plan with one agent object after another, or with one that has learned.

    with Evaluator("MT10", seed=42, num_episodes=10) as evaluator:
        for _ in range(100):
            train(agent)
            print(evaluator(agent).mean_success_rate)

    It makes its environments once, and reuses their simulators and starts. The rows are
    those of `evaluate`. The agent stays where it is: nothing of it is copied, pickled
    or forked, so its networks stay on their device. The random generators that this process shares
    stay as they are, as with `evaluate`. Use it in one thread.
    """

    def __init__(self, benchmark: object, *, log: Log = None, **options: Unpack[Options]) -> None:
        """Args as in `evaluate`: a name, or an environment object of this process.

        `log` is told each score.

        Raises UsageError, NotAnEnvironment.
        """
        check_guarded("an evaluation")
        if agent_options := {"agent", "agent_cmd", "agent_args"} & options.keys():
            raise UsageError(
                got=agent_options.pop(),
                wanted="no agent yet: pass it in each call, evaluator(agent)",
            )
        self._loggers = Loggers(log)
        self._environment: EnvironmentCalls | None = None
        self._closing = ExitStack()  # what holds an object
        self._is_closed = False
        self._object = None if isinstance(benchmark, str) else (benchmark, options)
        if isinstance(benchmark, str):
            self._settings = read_settings(benchmark=benchmark, **options)
            named = Benchmark.of(self._settings)
            if named.source.waits:
                raise UsageError(f"{benchmark} waits for an environment to connect: use evaluate")
            with unchanged_randomness():
                self.plan = named.resolve(self._settings.secret).plan
        else:
            with unchanged_randomness():
                self._settings, self.plan = self._hold(benchmark, options)
        self._folder = tempfile.TemporaryDirectory(prefix="reglue-")

    def __call__(
        self,
        agent: object,
        *,
        out: str | Path | None = None,
        raise_faults: bool = True,
        progress: bool = True,
        step: int | None = None,
        watcher: Observer | None = None,
    ) -> Result:
        """Evaluate `agent`, an object as in `evaluate`; `out` keeps the run in a folder.

        `step` is that of the training, for loggers.

        Raises RunExists, NotAnAgent, UsageError (closed); AgentFault and EnvironmentFault, unless
        `raise_faults` is False, and KeyboardInterrupt after Ctrl-C, as in `evaluate`.
        """
        if self._is_closed:
            raise UsageError("this Evaluator is closed; call it within its `with` block")
        if isinstance(agent, str):
            raise UsageError(got=f"the name {agent!r}", wanted="an object: evaluate starts agents")
        out = None if out is None else Path(out).absolute()  # an environment may move elsewhere
        with interrupts_raised(out), unchanged_randomness(), crashes_reported():
            result = self._play(agent, out, observer(watcher, progress=progress))
        self._loggers(result, step)
        if raise_faults:
            check_faults(result)
        return result

    def _play(self, agent: object, out: Path | None, watcher: Observer) -> Result:
        if self._environment is None and self._object is not None:
            self._hold(*self._object)
        elif self._environment is None:
            folder = Path(self._folder.name)
            suite = suite_of(self.plan, self._settings)
            self._environment = environment_of(suite, self.plan, self._settings, folder)
        request = Request(
            self._settings,
            self.plan,
            agent=agent,
            environment=self._environment,
            is_kept=out is not None,
        )
        ended_early = True
        try:
            if out is not None:
                result = start(out, request, watcher)
            else:
                result = in_temporary_folder(lambda folder: start(folder, request, watcher))
            ended_early = result.ended_early is not None
            if result.repeats:  # once: the next evaluation plays the same environments
                self._settings = self._settings.model_copy(update={"repeat_check": False})
                ended_early |= result.repeats[0].repeatable is None
        finally:
            if ended_early:  # in the midst of something: the next evaluation has new ones
                self._close_environment()
        return result

    def close(self) -> None:
        """End its environments, for good."""
        self._is_closed = True
        with unchanged_randomness():
            self._close_environment()
        self._folder.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _hold(self, candidate: object, options: Options) -> tuple[Settings, Plan]:
        open_object = self._closing.enter_context(opened(candidate, {**options}))
        self._environment = open_object.calls
        return open_object.settings, open_object.plan

    def _close_environment(self) -> None:
        if self._environment is not None:
            self._environment.close()
            self._environment = None
        self._closing.close()
