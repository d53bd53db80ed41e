"""A contender whose environment another process serves by a protocol that we have a bridge to.

`python -m MODULE` steps it by the protocol's own client, `bridged SLOTS` by `make_vec` through our
bridge, and `serve` is the other process.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager

from reglue.gymnasium import make_vec
from speed.contenders.stepped_contender import steps_of
from speed.launches import Helper


def contend(
    module: str,
    bridge: str,
    *,
    client: Callable[[str], None],
    server: Callable[[], AbstractContextManager[str]],
) -> None:
    """Be what the command line says.

    Args:
        module: The contender's, for `Helper`.
        bridge: The prefix of our environment's name.
        client: Called with the server's address.
        server: Its address, until the block ends.
    """
    match sys.argv[1:]:
        case []:
            with Helper(module, "serve") as helper:
                client(helper.line())
        case ["bridged", slots]:
            with Helper(module, "serve") as helper:
                steps_of(make_vec(f"{bridge}:{helper.line()}", int(slots)))
        case ["serve"]:
            with server() as address:
                sys.stdout.write(f"{address}\n")
                sys.stdout.flush()
                sys.stdin.read()
