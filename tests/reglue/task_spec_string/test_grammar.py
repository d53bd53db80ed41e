"""Task spec strings: RL-Glue's C parser's verdicts, and where ours differ from them."""

from __future__ import annotations

import json
import math
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reglue.errors import SpecError, UnknownVersion
from reglue.task_spec_string import AbstractType, Range, TaskSpecString, parse_task_spec
from tests.error_facts import raises
from tests.reglue.task_spec_string.strategies import task_spec_strings
from tests.wrong_files import Mistake, WrongFiles

CASES: dict[str, dict[str, Any]] = {
    case["name"]: case
    for case in json.loads(
        Path(__file__).with_name("task_spec_strings.json").read_text(encoding="utf-8")
    )["cases"]
}
READ_BY_C = [name for name, case in CASES.items() if case["verdict"] == "read"]

LEGAL = (
    "VERSION RL-Glue-3.0 PROBLEMTYPE episodic DISCOUNTFACTOR 0.9 "
    "OBSERVATIONS INTS (0 1) ACTIONS DOUBLES (0 1) REWARDS (0 1) EXTRA x"
)

WRONG = WrongFiles(
    Path(__file__).with_name("wrong_strings.txt"),
    "spec.txt",
    LEGAL,
    lambda path: parse_task_spec(path.read_text("utf-8")),
)


def with_observations(sections: str) -> str:
    return LEGAL.replace("INTS (0 1)", sections)


def verdict(text: str) -> str:
    try:
        parse_task_spec(text)
    except UnknownVersion:
        return "unknown version"
    except SpecError:
        return "malformed"
    return "read"


# As the C parser has it.


@pytest.mark.parametrize("name", [name for name in CASES if name != "a repeated NEGINF"])
def test_the_verdict_is_the_c_parsers(name: str) -> None:
    assert verdict(CASES[name]["input"]) == CASES[name]["verdict"]


@pytest.mark.parametrize("name", READ_BY_C)
def test_a_string_says_what_the_c_parser_reads_in_it(name: str) -> None:
    fields = CASES[name]["fields"]
    parsed = parse_task_spec(CASES[name]["input"])
    assert parsed == TaskSpecString(
        problem_type=fields["problem_type"],
        discount=fields["discount"],
        observations=abstract_type(**fields["observations"]),
        actions=abstract_type(**fields["actions"]),
        rewards=Range(bound(fields["rewards"][0]), bound(fields["rewards"][1])),
        extra=fields["extra"],
    )


@pytest.mark.parametrize("name", [name for name in READ_BY_C if name != "an empty EXTRA"])
def test_what_is_written_equals_the_c_encoders_text(name: str) -> None:
    assert str(parse_task_spec(CASES[name]["input"])) == CASES[name]["written"]


@pytest.mark.parametrize("mistake", WRONG.mistakes(), ids=str)
def test_a_malformed_string_is_refused(tmp_path: Path, mistake: Mistake) -> None:
    assert WRONG.message(mistake, tmp_path) == mistake.message


def test_an_error_tells_the_column_and_at_most_forty_characters() -> None:
    text = LEGAL.replace("(0 1) ACTIONS", f"(0 {'y' * 1000}) ACTIONS")
    with pytest.raises(SpecError) as refusal:
        parse_task_spec(text)
    wanted = "an integer in decimal, without leading zeros or POSINF or UNSPEC"
    assert str(refusal.value) == f"column 82: got '{'y' * 40}', wanted {wanted}"
    assert text[82 - 1 :].startswith("yyy")


# As the C parser does not have it.


def test_a_repeated_neginf_is_read() -> None:
    parsed = parse_task_spec(CASES["a repeated NEGINF"]["input"])
    assert CASES["a repeated NEGINF"]["verdict"] == "malformed"
    assert parsed.observations.doubles == (Range(-math.inf, math.inf, 39),)


def test_a_repeated_unspec_minimum_leaves_the_maximum_as_it_is() -> None:
    """The C parser reads (2 UNSPEC UNSPEC)."""
    parsed = parse_task_spec(with_observations("INTS (2 UNSPEC 5)"))
    assert parsed.observations.ints == (Range(None, 5, 2),)


def test_an_empty_extra_is_written_so_that_it_can_be_read_again() -> None:
    case = CASES["an empty EXTRA"]
    assert verdict(case["written"]) == "malformed"
    assert str(parse_task_spec(case["input"])) == case["written"] + "EXTRA"


@pytest.mark.parametrize(
    ("number", "written"),
    [
        ("1234567", "1234567"),  # the C encoder has 1.23457e+06
        ("0.30000000000000004", "0.30000000000000004"),
        ("5e-324", "4.94066e-324"),
        ("1000000", "1e+06"),
        ("-0.0525", "-0.0525"),
    ],
)
def test_a_number_is_written_with_the_digits_that_it_needs(number: str, written: str) -> None:
    parsed = parse_task_spec(with_observations(f"DOUBLES ({number} {number})"))
    assert f"DOUBLES ({written} {written})" in str(parsed)
    assert parsed.observations.doubles[0].low == float(number)


@pytest.mark.parametrize(
    ("sections", "named"),
    [
        ("INTS (5 1)", ["5 to 1", "minimum"]),
        ("INTS (0.5 5.7)", ["'0.5'", "integer"]),  # C: 0 to 5
        ("INTS (0 5x)", ["'5x'"]),
        ("INTS (0 010)", ["'010'", "zeros"]),  # C: 8
        ("INTS (0 0x10)", ["'0x10'"]),  # C: 16
        ("INTS (0 4294967297)", ["'4294967297'", "32 bits"]),  # C: 1
        ("INTS (1000000000000 0 1)", ["'1000000000000'", "32 bits"]),  # C: 3567587328 of them
        ("INTS (-1 0 1)", ["-1 times", "1 to 2147483647"]),  # C: 4294967295 of them
        ("INTS words (0 1)", ["'words'", "DOUBLES"]),
        ("INTSX (0 1)", ["'INTSX'"]),
        ("INTS (0 1) INTS (0 2)", ["'INTS'", "DOUBLES or CHARCOUNT or ACTIONS"]),
        ("DOUBLES (2.5 0 1)", ["'2.5'", "integer"]),
        ("DOUBLES (0 1) 5", ["'5'", "INTS or CHARCOUNT or ACTIONS"]),
        ("DOUBLES (0 0x1p3)", ["'0x1p3'"]),
        ("DOUBLES (-inf 0)", ["'-inf'", "number or NEGINF or UNSPEC"]),
        ("DOUBLES (-nan 0)", ["'-nan'"]),
        ("DOUBLES (UNSPECIFIED 1)", ["'UNSPECIFIED'"]),
        ("CHARCOUNT", ["'ACTIONS'", "integer"]),
        ("CHARCOUNT 4x", ["'4x'"]),
        ("CHARCOUNT 010", ["'010'", "zeros"]),
    ],
)
def test_what_the_c_parser_reads_as_something_else_is_refused(
    sections: str, named: list[str]
) -> None:
    with raises(SpecError, *named):
        parse_task_spec(with_observations(sections))


@pytest.mark.parametrize(
    ("part", "other"),
    [
        ("VERSION", "VERSIONS"),
        ("FACTOR 0.9", "FACTOR -nan"),
        ("FACTOR 0.9", "FACTOR 0.5abc"),
        ("REWARDS (0 1)", "REWARDS (5 1)"),
        ("EXTRA x", "EXTRAx y"),
    ],
)
def test_a_frame_that_the_c_parser_should_not_read_is_refused(part: str, other: str) -> None:
    with pytest.raises(SpecError):
        parse_task_spec(LEGAL.replace(part, other))


@pytest.mark.parametrize(
    ("part", "other"),
    [
        ("ACTIONS", "Actions"),
        ("INTS (0 1)", "INTS(0 1)"),  # crashes the C parser
        ("REWARDS (0 1)", "REWARDS(0 1)"),
        (" ", "\t"),
        (" ", "\r\n"),
    ],
    ids=repr,
)
def test_case_and_white_space_may_be_any(part: str, other: str) -> None:
    assert parse_task_spec(LEGAL.replace(part, other)) == parse_task_spec(LEGAL)


@pytest.mark.parametrize("version", ["RL-Glue-3.01", "rl-glue-3.0", "RL-Glue-2.0", "3", "Größe"])
def test_any_other_version_is_unknown_whatever_follows(version: str) -> None:
    for text in (LEGAL.replace("RL-Glue-3.0", version), f"VERSION {version}"):
        with raises(UnknownVersion, f"'{version}'", "RL-Glue-3.0"):
            parse_task_spec(text)


# The language.


@given(task_spec_strings(st.from_regex("[!-'*-~]+", fullmatch=True)))
def test_what_is_written_is_read_again(said: TaskSpecString) -> None:
    assert parse_task_spec(str(said)) == said


@given(
    st.lists(
        st.sampled_from([*LEGAL.split(), *"() (", "CHARCOUNT", "3", "-1", "NEGINF", "ß", "\0"])
        | st.text(max_size=5),
        max_size=30,
    )
)
def test_any_text_is_read_or_refused(words: list[str]) -> None:
    assert verdict(" ".join(words)) in ("read", "unknown version", "malformed")


@given(st.integers(0, len(LEGAL)), st.text(max_size=3))
def test_a_string_with_a_slip_is_read_or_refused(position: int, slip: str) -> None:
    text = LEGAL[:position] + slip + LEGAL[position + 1 :]
    if verdict(text) == "read":
        parsed = parse_task_spec(text)
        assert parse_task_spec(str(parsed)) == parsed


def test_extra_is_the_rest_of_the_string_with_any_characters() -> None:
    text = LEGAL[:-1] + "  (Größe) EXTRA 水\n ACTIONS \t"
    assert parse_task_spec(text).extra == "(Größe) EXTRA 水\n ACTIONS \t"


@pytest.mark.parametrize(
    ("part", "other"),
    [
        ("(0 1) ACTIONS", "(٠ ١) ACTIONS"),
        ("INTS", "ıNTS"),  # upper() makes INTS of it
        ("REWARDS", "REWARDſ"),
        ("episodic", "épisodique"),
        (" (0", "\u00a0(0"),
    ],
)
def test_other_than_ascii_is_refused_outside_extra(part: str, other: str) -> None:
    with pytest.raises(SpecError):
        parse_task_spec(LEGAL.replace(part, other))


def test_a_problem_type_is_told_as_it_is_written() -> None:
    parsed = parse_task_spec(LEGAL.replace("episodic", "<Mine>"))
    assert parsed.problem_type == "<Mine>"
    assert "PROBLEMTYPE <Mine> " in str(parsed)


def test_sections_may_be_empty_or_missing() -> None:
    parsed = parse_task_spec(with_observations("CHARCOUNT 0 DOUBLES INTS"))
    assert parsed.observations == AbstractType()
    assert "OBSERVATIONS ACTIONS" in str(parsed)


def test_a_range_that_is_repeated_two_billion_times_is_one_range() -> None:
    tracemalloc.start()
    try:
        parsed = parse_task_spec(with_observations("INTS (2147483647 0 1)"))
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()
    assert parsed.observations.size == 2147483647


@pytest.mark.timeout(60)  # a minute is enough for these only if time grows with length
@pytest.mark.parametrize(
    "text",
    [
        " " * 2_000_000,
        LEGAL + " x" * 1_000_000,
        with_observations("INTS " + "(0 1) " * 20_000),
        with_observations("INTS (" + "0 " * 500_000),
        with_observations("DOUBLES (0 " + "1" * 1_000_000 + "x)"),
        with_observations("DOUBLES (0 0." + "1" * 1_000_000 + ")"),
        with_observations("INTS (0 " + "1" * 1_000_000 + ")"),
        with_observations("DOUBLES (0 1)" + " " * 2_000_000),
    ],
    ids=["white", "extra", "ranges", "entries", "not a number", "digits", "huge", "white inside"],
)
def test_a_very_long_string_takes_no_longer_than_its_length(text: str) -> None:
    verdict(text)


# The values by themselves.


@pytest.mark.parametrize(
    "bounds",
    [(1, 0), (math.inf, math.inf), (-math.inf, -math.inf), (math.nan, 1), (None, -math.inf)],
)
def test_a_range_that_contradicts_itself_is_refused(bounds: tuple[float, float]) -> None:
    with raises(SpecError, "range"):
        Range(*bounds)


def test_what_no_string_can_hold_is_refused() -> None:
    nothing, rewards = AbstractType(), Range(0, 1)
    for what in (
        lambda: AbstractType(ints=(Range(0, 0.5),)),
        lambda: AbstractType(ints=(Range(0, 2**31),)),
        lambda: AbstractType(chars=-1),
        lambda: TaskSpecString("a b", 1, nothing, nothing, rewards),
        lambda: TaskSpecString("episodic", math.nan, nothing, nothing, rewards),
        lambda: TaskSpecString("episodic", 1, nothing, nothing, Range(0, 1, 2)),
        lambda: TaskSpecString("episodic", 1, nothing, nothing, rewards, extra=" x"),
    ):
        with pytest.raises(SpecError):
            what()


# How the cases tell ranges.


def abstract_type(ints: list[list[Any]], doubles: list[list[Any]], chars: int) -> AbstractType:
    return AbstractType(ranges(ints), ranges(doubles), chars)


def ranges(told: list[list[Any]]) -> tuple[Range, ...]:
    return tuple(Range(bound(low), bound(high), repeat) for repeat, low, high in told)


def bound(told: float | str) -> float | None:
    words = {"NEGINF": -math.inf, "POSINF": math.inf, "UNSPEC": None}
    return words[told] if isinstance(told, str) else told
