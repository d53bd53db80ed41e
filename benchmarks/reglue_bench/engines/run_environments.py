"""Makes a run's environments in this process or in workers, or in this one until workers pay."""

from __future__ import annotations

import os
from pathlib import Path

from env_adapters import SuiteName
from env_adapters.suites import META_WORLD
from glue_server import EnvironmentCalls, EnvironmentPort, LocalEnvironmentPort, WorkersPort
from glue_server.environment.moving_port import MovingPort, WorkersPay
from glue_server.timeouts import Timeouts
from reglue.environments.slot_worlds import Worlds
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
    share: int | None = None,
    log_file: Path | None = None,
    timeout_s: float = Timeouts.environment_s,
) -> EnvironmentCalls:
    """Make `slots` environments of a suite, ready to play. The caller closes them.

    Args:
        workers: Number of processes; 0 keeps them in this one. None: they begin in this one, and
            worlds move to workers, one a core, when measured steps say that it pays. Meta-World's
            are in workers at once; what steps all slots in one call stays here.
        share: The cores that are theirs, if not all of this process.
        timeout_s: A worker that takes longer for an answer is replaced, seconds. An
            environment in this process has no time limit.

    Raises:
        UsageError: The suite cannot be built.
        EnvironmentFault: No worker starts.
    """
    share = cores() if share is None else share
    most = min(share, slots)  # workers that the measured steps may ask for

    def in_workers(count: int) -> WorkersPort:
        return WorkersPort(suite, workers=count, log_file=log_file, timeout_s=timeout_s)

    port: EnvironmentPort
    if workers is None and suite.factory == META_WORLD:  # its models take a second to load
        port = in_workers(share)
    elif workers:
        port = in_workers(workers)
    else:
        environment = suite.environment()
        port = here = LocalEnvironmentPort(environment, suite.factory)
        if workers is None and most > 1 and isinstance(environment, Worlds):
            port = MovingPort(here, lambda: in_workers(most), WorkersPay(most))
    return EnvironmentCalls(port, timeout_s=timeout_s).opened(slots)


def environment_of(
    suite: SuiteName,
    plan: Plan,
    settings: Settings,
    folder: Path,
    *,
    share: int | None = None,
    was_lost: bool = False,
) -> EnvironmentCalls:
    """New environments of a plan, made here of its `suite`. Raises UsageError.

    `folder` is the run's, for what workers print. Where a secret hides the cells, environments are
    in processes of their own: what an agent brings about there, such as a crash, ends no run. So
    they are by default if a process `was_lost` before in the midst of an episode, or if the
    settings limit their time, as nothing limits it in this process. `share` is as for
    `make_environment`.
    """
    workers = or_default(settings.workers, PROCEDURES[plan.procedure].workers)
    if workers == 0 and plan.cells != PUBLIC:
        workers = 1  # an agent of others could end this process by its environment's
    is_limited = settings.environment_timeout != Timeouts.environment_s
    if workers is None and (was_lost or is_limited or plan.cells != PUBLIC):
        workers = cores() if share is None else share
    return make_environment(
        suite,
        plan.slots,
        workers=workers,
        share=share,
        log_file=folder / WORKER_LOG,
        timeout_s=settings.environment_timeout,
    )


def cores() -> int:
    """The number of processes that this machine lets us run at once."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
