"""Makes a run's environments in this process or in workers."""

from __future__ import annotations

import os
from pathlib import Path

from env_adapters import SuiteName
from glue_server import EnvironmentCalls, EnvironmentPort, LocalEnvironmentPort, WorkersPort
from glue_server.timeouts import Timeouts
from reglue.environments.environment import Worlds
from reglue_bench.benchmark.benchmark import suite_of
from reglue_bench.plans.keys import PUBLIC
from reglue_bench.plans.plan import Plan
from reglue_bench.procedures import PROCEDURES
from reglue_bench.procedures.procedure import or_default
from reglue_bench.run_folder import WORKER_LOG
from reglue_bench.settings import Settings


def make_environment(
    suite: SuiteName,
    slots: int,
    *,
    workers: int | None,
    log_file: Path | None = None,
    timeout_s: float = Timeouts.environment_s,
) -> EnvironmentCalls:
    """Make `slots` environments of a suite, ready to play. The caller closes them.

    Args:
        workers: Number of processes, one a core by default; 0 keeps them in this one.
        timeout_s: A worker that takes longer for an answer is replaced, seconds. An
            environment in this process has no time limit.

    Raises:
        UsageError: The suite cannot be built.
        EnvironmentFault: No worker starts.
    """
    chosen = cores() if workers is None else workers
    port: EnvironmentPort
    if chosen == 0:
        port = LocalEnvironmentPort(Worlds(suite.build()), suite.factory)
    else:
        port = WorkersPort(suite, workers=chosen, log_file=log_file, timeout_s=timeout_s)
    return EnvironmentCalls(port, timeout_s=timeout_s).opened(slots)


def environment_of(plan: Plan, settings: Settings, folder: Path) -> EnvironmentCalls:
    """New environments of a plan, made here. Raises UsageError.

    `folder` is the run's, for what workers print. Where a secret hides the cells, environments are
    in processes of their own: what an agent brings about there, such as a crash, ends no run.
    """
    workers = or_default(settings.workers, PROCEDURES[plan.procedure].workers)
    if workers == 0 and plan.cells != PUBLIC:
        workers = 1  # an agent of others could end this process by its environment's
    return make_environment(
        suite_of(plan, settings),
        plan.slots,
        workers=workers,
        log_file=folder / WORKER_LOG,
        timeout_s=settings.environment_timeout,
    )


def cores() -> int:
    """The number of processes that this machine lets us run at once."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
