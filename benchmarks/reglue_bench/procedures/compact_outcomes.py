"""Outcomes of any number of episodes in little memory, without their actions and rewards."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import overload

import numpy as np

from glue_server import Order, Outcome


class CompactOutcomes:
    """Some fifty bytes for each outcome; its order is made again when it is read."""

    def __init__(self, order: Callable[[int], Order]) -> None:
        """`order` makes the order of an episode, by its k."""
        self._order = order
        self._k = array("Q")
        self._returns = array("d")
        self._steps = array("Q")
        self._clipped = array("Q")
        self._first_success = array("Q")
        self._rare: dict[int, Outcome] = {}  # by place: those that say more

    def add(self, outcome: Outcome) -> None:
        """Add an outcome, without its actions and rewards."""
        says_more = outcome.detail or outcome.defaulted or outcome.observed is not None
        if outcome.status != "ok" or says_more:
            self._rare[len(self._k)] = replace(outcome, actions=b"", rewards=b"")
        self._k.append(outcome.order.k)
        self._returns.append(outcome.return_)
        self._steps.append(outcome.steps)
        self._clipped.append(outcome.clipped)
        self._first_success.append(outcome.first_success)

    def __len__(self) -> int:
        return len(self._k)

    def in_order(self) -> Iterator[Outcome]:
        """All outcomes, by k."""
        for place in np.argsort(np.array(self._k), kind="stable").tolist():
            yield self._rare.get(place) or Outcome(
                self._order(self._k[place]),
                "ok",
                success=self._first_success[place] > 0,
                first_success=self._first_success[place],
                return_=self._returns[place],
                steps=self._steps[place],
                clipped=self._clipped[place],
            )


class InOrder(Sequence[Outcome]):
    """A few outcomes, then those of a CompactOutcomes by k; to read one after another."""

    def __init__(self, first: Sequence[Outcome], compact: CompactOutcomes) -> None:
        self._first = first
        self._compact = compact

    def __len__(self) -> int:
        return len(self._first) + len(self._compact)

    def __iter__(self) -> Iterator[Outcome]:
        yield from self._first
        yield from self._compact.in_order()

    @overload
    def __getitem__(self, place: int) -> Outcome: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[Outcome]: ...

    def __getitem__(self, place: int | slice) -> Outcome | Sequence[Outcome]:
        if isinstance(place, int) and 0 <= place < len(self._first):
            return self._first[place]
        return [*self][place]
