"""Flags of the commands, made from the settings, and words that hold more than one thing."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from contextvars import ContextVar
from functools import wraps
from typing import Annotated, Any, TextIO, TypeAlias, get_origin, get_type_hints

from typer import Context, Option
from typer.models import OptionInfo

from reglue.tools.join import pairs
from reglue.tools.loading import parsed
from reglue_bench.settings import Settings

TrustCode: TypeAlias = Annotated[
    bool,
    Option(
        "--trust-code",
        help="run the environment (and agent) that a run's folder names, although the run was "
        "begun elsewhere: it is other people's code, and runs as you",
        rich_help_panel="Resuming a run",
    ),
]


def _keep_stdout(context: Context, asked: bool) -> bool:
    if asked:
        context.with_resource(_kept_stdout())
    return asked


AsJson: TypeAlias = Annotated[
    bool,
    Option(
        "--json",
        help="print one JSON document on stdout, and everything else on stderr",
        callback=_keep_stdout,
    ),
]


def print_document(text: str) -> None:
    """Print the document of a command with `--json` on its stdout."""
    print(text, file=_STDOUT.get(), flush=True)


_STDOUT: ContextVar[TextIO | None] = ContextVar("_STDOUT", default=None)
"""The file of the document."""


@contextmanager
def _kept_stdout() -> Iterator[None]:
    """Keep stdout for the document: what is printed, also by child processes, goes to stderr."""
    sys.stdout.flush()
    own = os.dup(1)
    os.dup2(2, 1)
    with os.fdopen(own, "w", encoding="utf-8") as kept, redirect_stdout(sys.stderr):
        token = _STDOUT.set(kept)
        try:
            yield
        finally:
            _STDOUT.reset(token)
            os.dup2(own, 1)


def takes(settings: Iterable[str]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Decorates a command: it takes a flag for each of these settings that has one.

    The command's parameter `asked` gets those that were given, by the settings' names; the
    flags stand where it does.
    """
    flags = {name: flag for name in settings if (flag := _flag(name)) is not None}

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def run(**given: Any) -> None:
            words = {name: given.pop(name) for name in flags}
            asked = {
                name: _READ.get(name, _as_is)(value)
                for name, value in words.items()
                if value not in (None, [])
            }
            command(**given, asked=asked)

        own = inspect.signature(command, eval_str=True).parameters.values()
        shown = [each for one in own for each in (flags.values() if one.name == "asked" else [one])]
        run.__signature__ = inspect.Signature(  # type: ignore[attr-defined] # Typer reads it
            [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in shown]
        )
        run.__annotations__ = {each.name: each.annotation for each in shown}
        return run

    return decorate


def json_arguments(words: Sequence[str], option: str) -> dict[str, Any]:
    """`KEY=VALUE` words as a dict; a value that reads as JSON is that, any other a string.

    Raises UsageError for a word without `=`.
    """
    return {key: parsed(value) for key, value in pairs(words, option).items()}


def _flag(name: str) -> inspect.Parameter | None:
    """The parameter of a setting; None where it is no flag. Not given, it is None."""
    for option in Settings.model_fields[name].metadata:
        if isinstance(option, OptionInfo):
            words = list[str] if get_origin(_HINTS[name]) is dict else _HINTS[name]
            annotation: Any = Annotated[words | None, option]
            return inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation
            )
    return None


def _as_is(value: Any) -> Any:
    return value


_HINTS = get_type_hints(Settings)  # without what is Annotated

_READ: Mapping[str, Callable[[Any], Any]] = {
    "agent_args": pairs,
    "environment_args": lambda words: json_arguments(words, "--environment-arg"),
    "procedure_args": lambda words: json_arguments(words, "--procedure-arg"),
}
