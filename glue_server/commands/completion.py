"""`reglue completion`: commands and flags completed by the shell."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from importlib.metadata import entry_points
from inspect import Parameter, Signature
from typing import Annotated, Any, Literal, NoReturn

import typer

from glue_server.commands.command import Command, Commands
from reglue.__main__ import ABOUT, COMPLETE
from reglue.tools.join import parser
from reglue.tools.outputs import product


def completion(
    shell: Annotated[Literal["bash", "zsh", "fish"], typer.Argument(help="the shell")],
) -> None:
    """Print a script with which a shell completes commands and flags.

    reglue completion bash > ~/.local/share/bash-completion/completions/reglue

    reglue completion zsh > ~/.zfunc/_reglue

    reglue completion fish > ~/.config/fish/completions/reglue.fish

    A new shell reads it. zsh needs the folder in `fpath`, before `compinit`.

    Exit codes: 0 printed; 2 wrong usage; 130 interrupted.
    """
    os.environ[COMPLETE] = f"source_{shell}"
    with product():
        _complete()


class _Completion(Command):
    def __call__(self, argv: Sequence[str] | None = None) -> NoReturn:
        """Answer the shell if it asks, else run the command."""
        if COMPLETE in os.environ:
            _complete()
        super().__call__(argv)


main = _Completion(completion)


def _complete() -> NoReturn:
    """Print the script, or the next words, as $_REGLUE_COMPLETE requests."""
    typed = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS", "")
    app = typer.Typer()
    for point in entry_points(group="reglue.commands"):
        is_typed = point.name in typed.split()[1:2]  # others need not be loaded
        command = point.load() if is_typed else None
        if isinstance(command, Commands):
            app.add_typer(command.app, name=point.name)
            continue
        function = _function(command) if is_typed else _with_flags([])
        app.command(point.name, help=ABOUT.get(point.name))(function)
    group = typer.main.get_command(app)
    group.params.clear()  # --install-completion, which `reglue` does not have
    raise SystemExit(group(prog_name="reglue", complete_var=COMPLETE))


def _function(command: Any) -> Callable[..., None]:
    """The function whose arguments Typer takes as the command's flags. `join` uses argparse."""
    if isinstance(command, Command):
        return command.function
    return _with_flags(re.findall(r"--[\w-]+", parser().format_usage()))


def _with_flags(flags: Sequence[str]) -> Callable[..., None]:
    """A function that is never called, with these flags."""

    def function(**_: str) -> None:
        pass

    hints = {flag[2:].replace("-", "_"): Annotated[str, typer.Option(flag)] for flag in flags}
    function.__annotations__ = hints
    function.__signature__ = Signature(  # type: ignore[attr-defined] # Typer reads it
        [
            Parameter(name, Parameter.KEYWORD_ONLY, default="", annotation=hint)
            for name, hint in hints.items()
        ]
    )
    return function
