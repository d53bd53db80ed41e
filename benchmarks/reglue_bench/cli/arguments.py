"""Options that several commands take, and words that hold more than one thing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, TypeAlias

from typer import Option

from glue_server.processes.sandbox import SandboxName
from reglue.errors import UsageError
from reglue.tools.loading import parsed

_SANDBOX = "What the agent's program may touch"

Sandbox: TypeAlias = Annotated[
    SandboxName | None,
    Option(
        help="bubblewrap: it sees the system, its folder and the files that it is named, and "
        "writes to its home alone; user: as a user who owns nothing (needs root); container; "
        "auto: the strongest of these that works; none: as you, for code that you trust. "
        "(default: auto with a secret, as for agents of others; else none)",
        rich_help_panel=_SANDBOX,
    ),
]
SandboxImage: TypeAlias = Annotated[
    str | None,
    Option(
        metavar="IMAGE",
        help="the container's, in which there are the agent's program and Reglue's SDK",
        rich_help_panel=_SANDBOX,
    ),
]
SandboxRead: TypeAlias = Annotated[
    list[Path] | None,
    Option(
        metavar="PATH",
        help="a file or folder in your home or /tmp that it may read in bubblewrap or a "
        "container; repeat for more",
        rich_help_panel=_SANDBOX,
    ),
]
TrustCode: TypeAlias = Annotated[
    bool,
    Option(
        "--trust-code",
        help="run the environment (and agent) that a run's folder names, also where the run was "
        "begun elsewhere and they are somebody's code",
    ),
]


def environment_arguments(words: Sequence[str]) -> dict[str, Any]:
    """`KEY=VALUE` words as a dict; a value that reads as JSON is that, any other a string.

    Raises UsageError for a word without `=`.
    """
    for word in words:
        if "=" not in word:
            raise UsageError(f"got --environment-arg {word!r}, wanted key=value")
    return {key: parsed(value) for key, _, value in (word.partition("=") for word in words)}
