"""A process with environments that connect to a run elsewhere.

`python -m reglue_bench.placement.environment_process FD PARENT` reads from the inherited socket FD
which environments it makes, and connects. It ends when that is closed, or the run says farewell.
"""

from __future__ import annotations

import os
import platform
import socket
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NoReturn

from glue_server.processes.channel import inherited_channel
from glue_server.processes.children import leave_after
from glue_server.processes.frames import read_frame, write_frame
from reglue import connect
from reglue.environments.environment import Worlds
from reglue.errors import ReglueError, UsageError, setting
from reglue.net.join_string import join_string, split_address
from reglue_bench.engines.files import check_facts, unpack
from reglue_bench.engines.versions import machine
from reglue_bench.placement.told import EnvironmentTold
from reglue_bench.planning.resolve import suite_of
from reglue_bench.plans.plan import Plan
from reglue_bench.settings import Settings

_DIAL_S = 10.0


def main() -> NoReturn:
    """Play until the run is over."""
    channel = inherited_channel()
    with suppress(EOFError, OSError, KeyboardInterrupt):
        write_frame(channel, {"machine": machine()})
        head, bodies = read_frame(channel)
        leave_after(channel)
        try:
            _play(EnvironmentTold(**head), bodies)
        except ReglueError as error:
            write_frame(channel, {"wrong": f"{platform.node()}: {error}"})
    os._exit(0)


def _play(told: EnvironmentTold, bodies: memoryview) -> None:
    """Make the environment and connect. Raises UsageError, Unreachable, Refused, SessionLost."""
    with TemporaryDirectory(prefix="reglue-environment-") as folder:
        files = Path(folder).resolve()
        unpack(told.files, bodies, files)
        settings = Settings.model_validate({**told.settings, "directory": str(files)})
        plan = Plan.from_json(told.plan)
        check_facts(told.facts, settings, plan)
        check_reached(join_string(told.join).address)
        suite = suite_of(plan, settings)
        connect(
            Worlds(suite.build()),
            told.join,
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
            "HOST that each node of the cluster "
            "reaches"
        ) from error


if __name__ == "__main__":
    main()
