"""A process with environments that connect to a run elsewhere.

`python -m reglue_bench.placement.environment_process FD PARENT` reads from the inherited socket FD
which environments it makes, and connects. It ends when that is closed, or the run says farewell.
"""

from __future__ import annotations

import platform
import socket
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NoReturn

from glue_server.processes.child import Parent, exit_after, inherited_channel
from glue_server.processes.message_codec import Codec
from reglue import connect
from reglue.errors import ReglueError, UsageError, setting
from reglue.net.join_string import join_string, split_address
from reglue_bench.benchmark.benchmark import suite_of
from reglue_bench.engines.files import check_facts, unpack
from reglue_bench.engines.run_identity import machine
from reglue_bench.engines.shard import Machine, Wrong
from reglue_bench.placement.placed_worker import EnvironmentSettings
from reglue_bench.plans.plan import Plan
from reglue_bench.settings import Settings

_DIAL_S = 10.0
_LEAVE_S = 5.0  # how long it may take to leave, whatever an environment is doing


def main() -> NoReturn:
    """Play until the run is over."""
    channel = inherited_channel(Codec[EnvironmentSettings](EnvironmentSettings))
    parent = Parent(channel, leave_s=_LEAVE_S)
    exit_after(lambda: _serve(parent))


def _serve(parent: Parent[EnvironmentSettings]) -> None:
    parent.send(Machine(machine()))
    try:
        _play(parent.receive())
    except ReglueError as error:
        parent.send(Wrong(f"{platform.node()}: {error}"))


def _play(wanted: EnvironmentSettings) -> None:
    """Make the environment and connect. Raises UsageError, Unreachable, Refused, SessionLost."""
    with TemporaryDirectory(prefix="reglue-environment-") as folder:
        files = Path(folder).resolve()
        unpack(wanted.files, files)
        settings = Settings.model_validate({**wanted.settings, "directory": str(files)})
        plan = Plan.from_json(wanted.plan)
        check_facts(wanted.facts, settings, plan)
        check_reached(join_string(wanted.join).address)
        suite = suite_of(plan, settings)
        environment = suite.environment()
        environment.is_replacement = wanted.is_replacement
        connect(
            environment,
            wanted.join,
            name=suite.factory,
            connect_timeout_s=_DIAL_S,
            transport=settings.transport,
        )


def check_reached(address: str) -> None:
    """Raise UsageError, which says what to do, if the run cannot be dialled from this machine."""
    host, port = split_address(address)
    try:
        socket.create_connection((host.strip("[]"), port), _DIAL_S).close()
    except OSError as error:
        raise UsageError(
            f"the run cannot be reached at {address} from here ({error}): give "
            f"{setting('listen', '0.0.0.0:PORT')} and {setting('advertise', 'HOST:PORT')}, with a "
            "HOST that each node of the cluster reaches"
        ) from error


if __name__ == "__main__":
    main()
