"""Flags of a command, made from the declaration of its settings."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from pydantic import BaseModel
from typer import Option

from glue_server.host_settings import Flag
from reglue.errors import flag
from reglue.tools.keyword_words import keywords_of, pairs


def takes(
    group: type[BaseModel], names: Iterable[str]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Decorates a command: it takes a flag for each of these settings that has one.

    The command's parameter `flags` gets the settings that the user gave, by name. In the help
    their flags stand where `flags` does.
    """
    hints = get_type_hints(group)  # without what is Annotated
    options = {
        name: _parameter(name, hints[name], declared, group.model_fields[name].default)
        for name in names
        for declared in group.model_fields[name].metadata
        if isinstance(declared, Flag)
    }

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def run(**words: Any) -> None:
            values = {name: words.pop(name) for name in options}
            flags = {
                name: _value(name, hints[name], value)
                for name, value in values.items()
                if value not in (None, [])
            }
            command(**words, flags=flags)

        parameters = [
            each.replace(kind=inspect.Parameter.KEYWORD_ONLY)
            for one in inspect.signature(command, eval_str=True).parameters.values()
            for each in (options.values() if one.name == "flags" else [one])
        ]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined] # Typer reads it
        run.__annotations__ = {each.name: each.annotation for each in parameters}
        return run

    return decorate


def _parameter(name: str, hint: Any, declared: Flag, default: object) -> inspect.Parameter:
    """The parameter of a setting: None unless the user gives it. Its help says the default."""
    default_words = _words(default)
    option = Option(
        *declared.names,
        help=f"{declared.help} (default {default_words})" if default_words else declared.help,
        rich_help_panel=declared.panel,
        metavar=declared.metavar,
        envvar=declared.envvar,
        parser=declared.parser,
        show_envvar=False,
    )
    words = list[str] if get_origin(hint) is dict else hint
    annotation: Any = Annotated[words | None, option]
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation
    )


def _words(default: object) -> str:
    """A default as the help shows it; empty for a meaningless one, such as None."""
    match default:
        case bool():
            return "yes" if default else ""
        case int() | float():
            return f"{default:g}"
        case str():
            return default
    return ""


def _value(name: str, hint: Any, value: Any) -> Any:
    """The user's value; words KEY=VALUE as a dict. Raises UsageError."""
    if get_origin(hint) is not dict:
        return value
    found: Mapping[str, str] = pairs(value, flag(name))
    keywords = keywords_of(found)
    return found if get_args(hint)[1] is str else keywords  # an agent's program parses them again
