"""Functions that JAX compiles, once in a process for the same text.

Compiling takes seconds, and writing down what is to be compiled a fiftieth of that. The text holds
all that a function reads, constants too, so that one whose environment has changed is another one.
Source: JAX 0.10, "Ahead-of-time lowering and compilation".
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

_KEPT = 32  # programs


class JaxProgram:
    """A function of arrays, as `jax.jit` makes it."""

    def __init__(self, jax: Any, function: Callable[..., Any]) -> None:
        """`jax` is the module."""
        self._jax = jax
        self._function = jax.jit(function)
        self._programs: dict[tuple[int, ...], Any] = {}

    def __call__(self, sizes: tuple[int, ...], *arguments: Any) -> Any:
        """Call the function; the same `sizes` mean that the arguments have the same shapes."""
        program = self._programs.get(sizes)
        if program is not None:
            try:
                return program(*arguments)
            except TypeError:  # another dtype than before, which its last answer may have brought
                pass
        program = self._programs[sizes] = self._compiled(arguments)
        return program(*arguments)

    def _compiled(self, arguments: tuple[Any, ...]) -> Any:
        lowered = self._function.lower(*arguments)
        device = self._jax.config.jax_default_device or self._jax.default_backend()
        text = hashlib.sha256(lowered.as_text().encode()).digest()
        return _compiled(_Lowered(text, str(device), lowered))


@dataclass(frozen=True, slots=True)
class _Lowered:
    """A program to compile: equal to another one of the same text."""

    text: bytes  # its digest
    device: str
    lowered: Any = field(compare=False)


@lru_cache(_KEPT)
def _compiled(program: _Lowered) -> Any:
    return program.lowered.compile()
