"""Objects by name: Reglue's, and those that other packages register as entry points."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache, cached_property
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, TypeVar

from reglue.errors import CannotLoad, UnknownName

_T = TypeVar("_T")


class Registry(Generic[_T]):
    """Objects by name: Reglue's first, then those of a group of entry points.

    An entry point cannot replace an object of Reglue's. Iterating gives the names, and loads
    nothing.
    """

    def __init__(
        self, what: str, group: str, built_in: Mapping[str, _T | str], wanted: type
    ) -> None:
        """Objects are of the class `wanted`, or subclasses of it; messages call one of them `what`.

        An object of `built_in` may be the text `module:name`, which is imported at its first use.
        """
        self.built_in = built_in
        self._wanted = wanted
        self._what = what
        self._group = group

    def __iter__(self) -> Iterator[str]:
        return iter([*self.built_in, *self._others])

    def __contains__(self, name: str) -> bool:
        return name in self.built_in or name in self._others

    def __getitem__(self, name: str) -> _T:
        """The object called `name`. Raises UnknownName, and CannotLoad for another package's."""
        if name in self.built_in:
            target = self.built_in[name]
            if not isinstance(target, str):
                return target
        elif name in self._others:
            target = self._others[name].value
        else:
            raise UnknownName(self._what, name, self)
        thing: _T = imported(f"{self._what} {name}", target, self._wanted)
        return thing

    def loaded(self) -> dict[str, _T]:
        """All objects by name, without those that cannot be loaded."""
        loaded = {}
        for name in self:
            with suppress(CannotLoad):
                loaded[name] = self[name]
        return loaded

    @cached_property
    def _others(self) -> Mapping[str, EntryPoint]:
        loaded = entry_points(group=self._group)
        return {point.name: point for point in loaded if point.name not in self.built_in}


@cache
def imported(what: str, target: str, wanted: type) -> Any:
    """The object at `module:name`: of the class `wanted`, or a subclass of it.

    Raises CannotLoad, which calls it `what`, if it is not, or cannot be imported.
    """
    try:
        loaded = EntryPoint(what, target, "").load()
    except Exception as error:  # the edge of another's package
        raise CannotLoad(
            f"the {what} is {target}, which cannot be imported: {type(error).__name__}: {error}"
        ) from error
    if wanted not in getattr(loaded, "__mro__", type(loaded).__mro__):
        raise CannotLoad(f"{target} is {loaded!r}, wanted a {wanted.__name__}")
    return loaded
