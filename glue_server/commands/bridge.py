"""`reglue bridge`: programs that speak other protocols.

A bridge is an entry point of the group `reglue.bridges`: a function that declares flags by Typer,
or a module of such functions, which `__all__` names: the commands of a group. Its module is light:
the functions import the packages of its protocol when they are called.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from types import ModuleType

from glue_server.commands.command import Commands
from reglue.errors import MissingExtra

GROUP = "reglue.bridges"

_ANY_WORDS = {"allow_extra_args": True, "ignore_unknown_options": True}


def bridges() -> Commands:
    """`reglue bridge`, with the installed bridges; one whose package is missing says so."""
    functions: dict[str, Callable[..., None] | Commands] = {}
    missing: list[tuple[str, MissingExtra]] = []
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        try:
            functions[point.name] = _bridge(point)
        except ModuleNotFoundError as error:
            what, extras = f"reglue bridge {point.name}", ",".join(point.extras)
            missing.append((point.name, MissingExtra(what, extras, f"the package {error.name}")))
    commands = Commands(
        "bridge",
        "Connect programs that speak another protocol.\n\n"
        "`reglue bridge BRIDGE --help` shows what a bridge does, and its options.\n\n"
        "Exit codes: 0 success; 1 a peer failed or left; 2 wrong usage, or a package is missing; "
        "130 interrupted.",
        functions,
    )
    for name, lack in missing:
        command = commands.app.command(name, help=str(lack), context_settings=_ANY_WORDS)
        command(_raising(lack))
    return commands


def _bridge(point: EntryPoint) -> Callable[..., None] | Commands:
    loaded = point.load()
    if not isinstance(loaded, ModuleType):
        function: Callable[..., None] = loaded
        return function
    return Commands(
        point.name, loaded.__doc__ or "", [getattr(loaded, name) for name in loaded.__all__]
    )


def _raising(error: MissingExtra) -> Callable[[], None]:
    def bridge() -> None:
        raise error

    return bridge


main = bridges()
