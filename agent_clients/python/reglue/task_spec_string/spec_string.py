"""A task spec string's content, and how it is written."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from reglue.errors import SpecError

INT_MIN, INT_MAX = -(2**31), 2**31 - 1
"""RL-Glue's integers and its counts are those of its network protocol: 32 bits."""

WHITE = " \t\n\r\f\v"
"""The characters between words."""

MOST_SHOWN = 40
"""The most characters of a string that an error message repeats."""

Bound: TypeAlias = float | None
"""A number; an infinity, written NEGINF or POSINF; or None, written UNSPEC."""

_PROBLEM_TYPE = re.compile("[!-'*-~]+")  # printable ASCII without blanks and parentheses


@dataclass(frozen=True, slots=True)
class Range:
    """The bounds, both inclusive, of `repeat` numbers in a row.

    Raises SpecError if the lower bound is above the upper one, an infinity is on the wrong side,
    or a bound is NaN.
    """

    low: Bound
    high: Bound
    repeat: int = 1

    def __post_init__(self) -> None:
        low = -math.inf if self.low is None else self.low
        high = math.inf if self.high is None else self.high
        if not (low <= high and low < math.inf and high > -math.inf):
            raise SpecError(got=f"a range from {low} to {high}", wanted="its minimum first")
        if not 1 <= self.repeat <= INT_MAX:
            raise SpecError(got=f"a range {self.repeat} times", wanted=f"1 to {INT_MAX}")


@dataclass(frozen=True, slots=True)
class AbstractType:
    """RL-Glue's observations or actions: integers, float64s and characters. Raises SpecError if an
    integer's bound is no integer, or it or the count of characters needs more than 32 bits.
    """

    ints: tuple[Range, ...] = ()
    doubles: tuple[Range, ...] = ()
    chars: int = 0

    def __post_init__(self) -> None:
        for each in self.ints:
            if not (is_int32(each.low) and is_int32(each.high)):
                raise SpecError(
                    got=f"integers from {each.low} to {each.high}",
                    wanted="bounds of 32-bit integers",
                )
        if not 0 <= self.chars <= INT_MAX:
            raise SpecError(got=f"{self.chars} characters", wanted=f"0 to {INT_MAX}")

    @property
    def size(self) -> int:
        """The number of numbers and characters of all kinds."""
        return sum(each.repeat for each in (*self.ints, *self.doubles)) + self.chars

    def __str__(self) -> str:
        words = []
        if self.ints:
            words += ["INTS", *(_range(each, _whole) for each in self.ints)]
        if self.doubles:
            words += ["DOUBLES", *(_range(each, _number) for each in self.doubles)]
        if self.chars:
            words += ["CHARCOUNT", str(self.chars)]
        return " ".join(words)


@dataclass(frozen=True, slots=True)
class TaskSpecString:
    """A task spec string's content; `str()` writes it, in RL-Glue's order of sections.

    Raises SpecError for content that such a string cannot hold.
    """

    version: ClassVar[str] = "RL-Glue-3.0"

    problem_type: str  # episodic, continuing, or another word
    discount: float  # 0 to 1
    observations: AbstractType
    actions: AbstractType
    rewards: Range  # of one step, task units; not repeated
    extra: str = ""  # any text that does not begin with white space

    def __post_init__(self) -> None:
        check_problem_type(self.problem_type)
        check_discount(self.discount)
        if self.rewards.repeat != 1:
            raise SpecError(got=f"{self.rewards.repeat} reward ranges", wanted="one")
        if self.extra[:1] in set(WHITE):
            raise SpecError("got an extra text that begins with white space, which is not kept")

    def __str__(self) -> str:
        parts = [
            f"VERSION {self.version} PROBLEMTYPE {self.problem_type}",
            f"DISCOUNTFACTOR {_number(self.discount)}",
            "OBSERVATIONS",
            str(self.observations),
            "ACTIONS",
            str(self.actions),
            f"REWARDS {_range(self.rewards, _number)}",
            "EXTRA",
            self.extra,
        ]
        return " ".join(part for part in parts if part)


def check_problem_type(word: str) -> None:
    """Raise SpecError unless it is one ASCII word without parentheses."""
    if not _PROBLEM_TYPE.fullmatch(word):
        raise SpecError(got=f"problem type {word[:MOST_SHOWN]!r}", wanted="one word of ASCII")


def check_discount(discount: float) -> None:
    """Raise SpecError unless it is 0 to 1."""
    if not 0 <= discount <= 1:
        raise SpecError(got=f"discount factor {discount}", wanted="0 to 1")


def is_int32(bound: Bound) -> bool:
    """Whether an RL-Glue integer can have this bound; infinities and None are words."""
    if bound is None or math.isinf(bound):
        return True
    return bound == int(bound) and INT_MIN <= bound <= INT_MAX


def _range(each: Range, write: Callable[[float], str]) -> str:
    repeat = f"{each.repeat} " if each.repeat > 1 else ""
    return f"({repeat}{_bound(each.low, write)} {_bound(each.high, write)})"


def _bound(bound: Bound, write: Callable[[float], str]) -> str:
    match bound:
        case None:
            return "UNSPEC"
        case math.inf:
            return "POSINF"
        case _ if bound == -math.inf:
            return "NEGINF"
        case _:
            return write(bound)


def _whole(number: float) -> str:
    return str(int(number))


def _number(number: float) -> str:
    """C's %g, with more than its six digits if those would change the number."""
    texts = (f"{float(number):.{digits}g}" for digits in range(6, 18))
    return next(text for text in texts if float(text) == number)
