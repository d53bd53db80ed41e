"""Compares the signatures of users' functions with the calls that they will get."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

from reglue.errors import CannotLoad


def binds(signature: inspect.Signature, *arguments: object, **keywords: Any) -> bool:
    """Whether a call with these arguments fits the signature."""
    try:
        signature.bind(*arguments, **keywords)
    except TypeError:
        return False
    return True


def takes(function: Callable[..., object], *arguments: object, **keywords: Any) -> bool:
    """Whether `function` takes these arguments; True also if that cannot be known."""
    try:
        return binds(inspect.signature(function), *arguments, **keywords)
    except (TypeError, ValueError):  # some C functions have no signature
        return True


def parameters_of(function: Callable[..., object]) -> str:
    """Its parameters as one writes them, without types: `(self, observations, starts)`."""
    signature = inspect.signature(function)
    plain = [each.replace(annotation=each.empty) for each in signature.parameters.values()]
    return str(signature.replace(parameters=plain, return_annotation=signature.empty))


def check_routines(
    written: object, protocol: type, routines: Iterable[str], error: type[CannotLoad]
) -> None:
    """Raise `error` if one of the routines of `written` cannot be called as those of `protocol`."""
    for name in routines:
        declared = getattr(protocol, name)
        arguments = list(inspect.signature(declared).parameters)[1:]  # without self
        if not takes(getattr(written, name), *arguments):
            cls = type(written)
            got = f"{name}{parameters_of(getattr(cls, name))}"
            raise error(cls.__name__, got=got, wanted=f"{name}{parameters_of(declared)}")
