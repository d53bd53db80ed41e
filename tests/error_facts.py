"""Errors by their facts, which a better sentence does not change."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import pytest

E = TypeVar("E", bound=Exception)


@contextmanager
def raises(kind: type[E], *named: object, **facts: object) -> Iterator[pytest.ExceptionInfo[E]]:
    """The block raises an error of this very class.

    `facts` are attributes of the error, such as `code`, `settings` and `path`; `got` and `wanted`
    are compared as text, as the message has them.
    `named` are names and values in its message, whatever the sentence around them: each stands
    there as a word of its own.
    """
    with pytest.raises(kind) as error:
        yield error
    raised = error.value
    assert type(raised) is kind, f"got {raised!r}, wanted a {kind.__name__}"
    facts |= {name: f"{facts[name]}" for name in facts.keys() & {"got", "wanted"}}
    got = {name: getattr(raised, name) for name in facts}
    assert got == facts, f"got {got}, wanted {facts}"
    assert_named(named, str(raised))


def assert_named(named: Iterable[object], message: str) -> None:
    """Each of these stands in the message, as a word of its own."""
    missing = [each for each in named if not re.search(_word(each), message)]
    assert not missing, f"got {message}, wanted it to name {missing}"


def _word(each: object) -> str:
    before = r"[\w.-]" if isinstance(each, int | float) else r"\w"  # not the 0 of -0.5
    return rf"(?<!{before}){re.escape(str(each))}(?!\w|\.\d)"
