"""Converts a TaskSpec to a task spec string and back.

| the string's | becomes |
| --- | --- |
| INTS, one number with both bounds | int32, a scalar, Discrete |
| INTS, each from 0 to a bound | int32, a vector, MultiDiscrete |
| other INTS | int32, a vector, Box |
| DOUBLES | float64, a vector, Box |
| CHARCOUNT | uint8, a vector, any bytes; also, of size 0, if there is nothing at all |
| NEGINF, POSINF, UNSPEC | no bound |

They are called `ints`, `doubles` and `chars`, in this order; a single one is called `observation`
or `action`.

| the TaskSpec's | becomes |
| --- | --- |
| uint8 in a Box without bounds | CHARCOUNT |
| any other tensor of integers or bools; MultiBinary | INTS |
| float32 and float64 in a Box | DOUBLES |
| no bound of an int32 or a float; of other dtypes | NEGINF, POSINF; the dtype's smallest, largest |
| no bound of the rewards | UNSPEC |
| continuing | PROBLEMTYPE continuing, else episodic |
| extra | EXTRA |

So an image is a row of INTS, tensors of one kind follow one another, and equal ranges in a row are
written as one repeated range. RL-Glue's C parser refuses a repeated NEGINF, so
those are written one by one.

The string leaves out names, shapes, dtypes, `horizon` (in RL-Glue the experiment cuts an episode
off), `slots` and `rewards_in_evaluation`. Refused are specs that it cannot express: integers of
more than RL-Glue's 32 bits, a problem type that is neither episodic nor continuing, and more than
MOST_NUMBERS numbers.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias, TypeVar

import numpy as np

from reglue.errors import SpecError
from reglue.spec import Box, Discrete, Domain, MultiBinary, MultiDiscrete, TaskSpec, TensorSpec
from reglue.task_spec_string.grammar import parse_task_spec
from reglue.task_spec_string.spec_string import AbstractType, Range, TaskSpecString, is_int32

MOST_NUMBERS = 8 * 1024 * 1024
"""The numbers of one observation or action: as many float64s as a hub's largest message holds."""

_EPISODIC, _CONTINUING = "episodic", "continuing"

_Value = TypeVar("_Value", int, float)
_Run: TypeAlias = tuple[float, float, int]  # lower bound, upper bound, how many in a row


def task_spec_from_string(text: str) -> TaskSpec:
    """The TaskSpec of a task spec string.

    Raises UnknownVersion or SpecError, which says where the string is malformed or what a TaskSpec
    cannot express.
    """
    parsed = parse_task_spec(text)
    if parsed.problem_type not in (_EPISODIC, _CONTINUING):
        raise SpecError(
            got=f"problem type {parsed.problem_type!r}", wanted=f"{_EPISODIC} or {_CONTINUING}"
        )
    low, high, _ = _run(parsed.rewards)
    return TaskSpec(
        observations=_tensors("observation", parsed.observations),
        actions=_tensors("action", parsed.actions),
        reward_range=(low, high),
        discount=parsed.discount,
        continuing=parsed.problem_type == _CONTINUING,
        extra=parsed.extra,
    )


def task_spec_to_string(spec: TaskSpec, extra: str | None = None) -> str:
    """A TaskSpec as a task spec string, followed by its `extra` or that text. Raises SpecError,
    with the tensor's name, for what the string cannot express.
    """
    return str(
        TaskSpecString(
            problem_type=_CONTINUING if spec.continuing else _EPISODIC,
            discount=spec.discount,
            observations=_abstract_type("observations", spec.observations),
            actions=_abstract_type("actions", spec.actions),
            rewards=_rewards(*spec.reward_range),
            extra=spec.extra if extra is None else extra,
        )
    )


# From the string.


def _tensors(name: str, parsed: AbstractType) -> tuple[TensorSpec, ...]:
    _check_size(name, parsed.size)
    tensors = []
    if parsed.ints:
        tensors.append(_int_tensor([_run(each) for each in parsed.ints]))
    if parsed.doubles:
        runs = [_run(each) for each in parsed.doubles]
        tensors.append(TensorSpec("doubles", "float64", (_size(runs),), _box(runs)))
    if parsed.chars or not tensors:
        tensors.append(TensorSpec("chars", "uint8", (parsed.chars,)))
    return tuple(tensors) if len(tensors) > 1 else (replace(tensors[0], name=name),)


def _int_tensor(runs: Sequence[_Run]) -> TensorSpec:
    domain: Domain
    match runs:
        case [(low, high, 1)] if math.isfinite(high - low):
            return TensorSpec("ints", "int32", (), Discrete(int(high - low) + 1, int(low)))
        case _ if all(low == 0 and math.isfinite(high) for low, high, _ in runs):
            domain = MultiDiscrete(_spread((int(high) + 1, count) for _, high, count in runs))
        case _:
            domain = _box(runs)
    return TensorSpec("ints", "int32", (_size(runs),), domain)


def _box(runs: Sequence[_Run]) -> Box:
    lows = [(float(low), count) for low, _, count in runs]
    highs = [(float(high), count) for _, high, count in runs]
    return Box(_bounds(lows), _bounds(highs))


def _bounds(values: Sequence[tuple[float, int]]) -> tuple[float, ...]:
    """The bounds of a Box: none if all are infinite, one if all are equal."""
    first = values[0][0]
    if any(value != first for value, _ in values):
        return _spread(values)
    return () if math.isinf(first) else (first,)


def _run(each: Range) -> _Run:
    low = -math.inf if each.low is None else each.low
    high = math.inf if each.high is None else each.high
    return low, high, each.repeat


def _spread(values: Iterable[tuple[_Value, int]]) -> tuple[_Value, ...]:
    return tuple(itertools.chain.from_iterable(itertools.starmap(itertools.repeat, values)))


def _size(runs: Sequence[_Run]) -> int:
    return sum(count for _, _, count in runs)


# To the string.


def _abstract_type(what: str, tensors: Sequence[TensorSpec]) -> AbstractType:
    _check_size(what, sum(tensor.size for tensor in tensors))
    runs: dict[str, list[Iterator[_Run]]] = {"ints": [], "doubles": []}
    chars = 0
    for tensor in tensors:
        match section_of(tensor):
            case "chars":
                chars += tensor.size
            case section if tensor.size:
                runs[section].append(_checked(tensor, _runs(tensor)))
    return AbstractType(_ranges(runs["ints"]), _ranges(runs["doubles"]), chars)


def section_of(tensor: TensorSpec) -> str:
    """Where its numbers stand in RL-Glue's observations or actions: ints, doubles or chars."""
    if tensor.dtype == "uint8" and tensor.domain == Box():
        return "chars"
    is_box = isinstance(tensor.domain, Box)
    return "doubles" if is_box and tensor.dtype.startswith("float") else "ints"


def _ranges(runs: Iterable[Iterator[_Run]]) -> tuple[Range, ...]:
    """All ranges, with equal neighbours joined; those without a lower bound one by one."""
    ranges: list[Range] = []
    together = itertools.chain.from_iterable(runs)
    for (low, high), equal in itertools.groupby(together, key=lambda run: run[:2]):
        count = sum(run[2] for run in equal)
        one_by_one = low == -math.inf
        ranges += [Range(low, high)] * count if one_by_one else [Range(low, high, count)]
    return tuple(ranges)


def _runs(tensor: TensorSpec) -> Iterator[_Run]:
    match tensor.domain:
        case Box() if tensor.dtype.startswith("float"):
            yield from _box_runs(tensor, tensor.domain)
        case Box():
            for low, high, count in _box_runs(tensor, tensor.domain):
                yield *_whole_bounds(tensor.dtype, low, high), count
        case Discrete(n, start):
            yield start, start + n - 1, tensor.size
        case MultiDiscrete(each):
            yield from ((0, n - 1, 1) for n in each)
        case MultiBinary():
            yield 0, 1, tensor.size


def _box_runs(tensor: TensorSpec, box: Box) -> Iterator[_Run]:
    lows, highs = box.low or (-math.inf,), box.high or (math.inf,)
    if len(lows) == len(highs) == 1:
        yield lows[0], highs[0], tensor.size
    else:
        ones = itertools.repeat(1, tensor.size)
        yield from zip(itertools.cycle(lows), itertools.cycle(highs), ones)


def _whole_bounds(dtype: str, low: float, high: float) -> tuple[float, float]:
    """The smallest and the largest integer of a dtype within bounds."""
    if dtype == "bool":
        smallest, largest = 0, 1
    else:
        smallest, largest = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    if dtype != "int32" or low > -math.inf:
        low = math.ceil(min(max(low, smallest), largest + 1))
    if dtype != "int32" or high < math.inf:
        high = math.floor(max(min(high, largest), smallest - 1))
    return low, high


def _checked(tensor: TensorSpec, runs: Iterator[_Run]) -> Iterator[_Run]:
    is_whole = section_of(tensor) == "ints"
    for low, high, count in runs:
        fits = not is_whole or (is_int32(low) and is_int32(high))
        if not (low <= high and low < math.inf and high > -math.inf and fits):
            wanted = "bounds that 32 bits hold" if is_whole else "finite values"
            raise SpecError(tensor.name, got=f"{tensor.dtype} from {low} to {high}", wanted=wanted)
        yield low, high, count


def _rewards(low: float, high: float) -> Range:
    try:
        return Range(None if low == -math.inf else low, None if high == math.inf else high)
    except SpecError as error:
        raise SpecError(f"reward_range: {error}") from None


def _check_size(what: str, size: int) -> None:
    """Raise SpecError before memory of that size is allocated."""
    if size > MOST_NUMBERS:
        raise SpecError(what, got=f"{size} numbers", wanted=f"at most {MOST_NUMBERS}")
