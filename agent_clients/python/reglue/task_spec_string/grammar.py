"""The language of task spec strings, and its parser.

    spec     = "VERSION" "RL-Glue-3.0"
               "PROBLEMTYPE" word
               "DISCOUNTFACTOR" real                    (* 0 to 1 *)
               "OBSERVATIONS" { section }
               "ACTIONS" { section }
               "REWARDS" "(" low high ")"
               "EXTRA" text ;                           (* from its first non-white character *)
    section  = "INTS" { range }                         (* bounds are whole *)
             | "DOUBLES" { range }
             | "CHARCOUNT" whole ;                      (* each once, in any order; not negative *)
    range    = "(" [ repeat ] low high ")" ;
    repeat   = whole ;                                  (* from 1; 1 if left out *)
    low      = whole | real | "NEGINF" | "UNSPEC" ;
    high     = whole | real | "POSINF" | "UNSPEC" ;     (* not below low *)
    whole    = [ sign ] ( "0" | nonzero { digit } ) ;   (* decimal, 32 bits *)
    real     = [ sign ] ( digits [ "." { digit } ] | "." digits ) [ exponent ] ;
    exponent = ( "e" | "E" ) [ sign ] digits ;
    digits   = digit { digit } ;
    sign     = "+" | "-" ;

Words and numbers end at ASCII's white space or at a parenthesis, which needs none beside it.
Words in quotes are case-insensitive, except the version's name; a
problem type is passed on as it is written. A string of another version is UnknownVersion, whatever
follows; all else that is not of this form is SpecError, which says where. Reading takes time in
proportion to the string's length, and a range that is repeated a billion times is one Range.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple, NoReturn, Protocol

from reglue.errors import SpecError, UnknownVersion
from reglue.task_spec_string.spec_string import (
    INT_MAX,
    INT_MIN,
    MOST_SHOWN,
    WHITE,
    AbstractType,
    Bound,
    Range,
    TaskSpecString,
    check_discount,
    check_problem_type,
)

_TOKEN = re.compile(rf"[{WHITE}]*([()]|[^(){WHITE}]+|\Z)")
_WHOLE = re.compile("[+-]?(0|[1-9][0-9]*)")
_REAL = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")

_INFINITIES = {"NEGINF": -math.inf, "POSINF": math.inf}


def parse_task_spec(text: str) -> TaskSpecString:
    """A task spec string's content. Raises UnknownVersion for a string of another version, and
    SpecError, with the column, for one that is malformed.
    """
    reader = _Reader(text)
    reader.keyword("VERSION")
    _version(reader.next())
    reader.keyword("PROBLEMTYPE")
    problem_type = _problem_type(reader.next())
    reader.keyword("DISCOUNTFACTOR")
    discount = _discount(reader.next())
    reader.keyword("OBSERVATIONS")
    observations = _abstract_type(reader, ends_at="ACTIONS")
    actions = _abstract_type(reader, ends_at="REWARDS")
    rewards = _range(reader, _real, repeats=False)
    reader.keyword("EXTRA")
    return TaskSpecString(problem_type, discount, observations, actions, rewards, reader.rest())


class _Token(NamedTuple):
    """A word, a number or a parenthesis."""

    text: str  # empty at the string's end
    column: int  # of its first character, counted from 1

    @property
    def keyword(self) -> str:
        return self.text.upper() if self.text.isascii() else self.text


class _Number(Protocol):
    """Reads a number; `others` are the words that are legal in its place."""

    def __call__(self, token: _Token, *others: str) -> float: ...


class _Reader:
    """A string's tokens, one after the other."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0

    def next(self) -> _Token:
        token, self._position = self._match()
        return token

    def is_next(self, text: str) -> bool:
        return self._match()[0].text == text

    def keyword(self, *wanted: str) -> str:
        token = self.next()
        if token.keyword not in wanted:
            _refuse(token, *wanted)
        return token.keyword

    def rest(self) -> str:
        return self._text[self._position :].lstrip(WHITE)

    def _match(self) -> tuple[_Token, int]:
        match = _TOKEN.match(self._text, self._position)
        assert match is not None  # a token or the end follows white space
        return _Token(match[1], match.start(1) + 1), match.end()


def _version(token: _Token) -> None:
    if not token.text:
        _refuse(token, TaskSpecString.version)
    if token.text != TaskSpecString.version:
        raise UnknownVersion(_difference(token, TaskSpecString.version))


def _problem_type(token: _Token) -> str:
    with _located(token):
        check_problem_type(token.text)
    return token.text


def _discount(token: _Token) -> float:
    discount = _real(token)
    with _located(token):
        check_discount(discount)
    return discount


def _abstract_type(reader: _Reader, *, ends_at: str) -> AbstractType:
    """The sections up to the keyword `ends_at`, which is consumed too."""
    ints: tuple[Range, ...] = ()
    doubles: tuple[Range, ...] = ()
    chars = 0
    missing = ["INTS", "DOUBLES", "CHARCOUNT"]
    while (section := reader.keyword(*missing, ends_at)) != ends_at:
        missing.remove(section)
        match section:
            case "INTS":
                ints = _ranges(reader, _whole)
            case "DOUBLES":
                doubles = _ranges(reader, _real)
            case "CHARCOUNT":
                chars = _count(reader.next())
    return AbstractType(ints, doubles, chars)


def _ranges(reader: _Reader, number: _Number) -> tuple[Range, ...]:
    ranges = []
    while reader.is_next("("):
        ranges.append(_range(reader, number, repeats=True))
    return tuple(ranges)


def _range(reader: _Reader, number: _Number, *, repeats: bool) -> Range:
    opening, entries = _parenthesis(reader, most=3 if repeats else 2)
    *repeat, low, high = entries
    times = _whole(repeat[0]) if repeat else 1
    bounds = _bound(low, number, "NEGINF"), _bound(high, number, "POSINF")
    with _located(opening):
        return Range(*bounds, times)


def _parenthesis(reader: _Reader, *, most: int) -> tuple[_Token, list[_Token]]:
    """The opening parenthesis, and the two to `most` entries up to the closing one."""
    opening = reader.next()
    if opening.text != "(":
        _refuse(opening, "(")
    entries: list[_Token] = []
    while (token := reader.next()).text != ")":
        if token.text in ("", "(") or len(entries) == most:
            _refuse(token, ")")
        entries.append(token)
    if len(entries) < 2:
        _refuse(token, "a minimum and a maximum")
    return opening, entries


def _bound(token: _Token, number: _Number, infinity: str) -> Bound:
    if token.keyword == "UNSPEC":
        return None
    if token.keyword == infinity:
        return _INFINITIES[infinity]
    return number(token, infinity, "UNSPEC")


def _count(token: _Token) -> int:
    count = _whole(token)
    if count < 0:
        _refuse(token, "a count")
    return count


def _whole(token: _Token, *others: str) -> int:
    if not _WHOLE.fullmatch(token.text):
        _refuse(token, "an integer in decimal, without leading zeros", *others)
    if len(token.text) > len(str(INT_MIN)) or not INT_MIN <= int(token.text) <= INT_MAX:
        _refuse(token, "a number of 32 bits", *others)
    return int(token.text)


def _real(token: _Token, *others: str) -> float:
    if not _REAL.fullmatch(token.text):
        _refuse(token, "a number", *others)
    number = float(token.text)
    digits = token.text.lower().partition("e")[0]
    if math.isinf(number) or (number == 0 and digits.strip("+-0.")):
        _refuse(token, "a number that a float64 can hold", *others)
    return number


@contextmanager
def _located(token: _Token) -> Iterator[None]:
    """Adds the column to a SpecError."""
    try:
        yield
    except SpecError as error:
        raise SpecError(f"column {token.column}: {error}") from None


def _refuse(token: _Token, *wanted: str) -> NoReturn:
    raise SpecError(_difference(token, *wanted))


def _difference(token: _Token, *wanted: str) -> str:
    got = repr(token.text[:MOST_SHOWN]) if token.text else "the end"
    return f"column {token.column}: got {got}, wanted {' or '.join(wanted)}"
