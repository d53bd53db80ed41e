"""Faults that the program had once, or might have: put back, they have to be found."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any
from unittest.mock import patch

from glue_server.rpc.gateways import run_gateway
from glue_server.rpc.gateways.run_link import RunLink


@dataclass(frozen=True)
class Fault:
    """A change of the program, in which world it shows, and what it is."""

    world: str
    what: str
    put_back: Callable[[], AbstractContextManager[Any]]


@contextmanager
def _split() -> Iterator[None]:
    ask = RunLink.ask

    def asked(*args: Any) -> Any:
        try:
            return ask(*args)
        except TimeoutError:
            return None

    with patch.object(RunLink, "ask", asked), patch.object(run_gateway, "_moves", lambda *_: []):
        yield


FAULTS: Mapping[str, Fault] = MappingProxyType(
    {
        "split": Fault(
            "hub", "a run that does not answer counts as full, and nobody is moved", _split
        ),
    }
)
