"""Comparisons that outlive a server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from reglue_bench.measures.compare import Difference, over_pairs
from reglue_competition.ranking import Comparisons, ScoredSubmission, rank
from tests.reglue_bench.learning_results import Learned, learned
from tests.reglue_bench.made_results import Play, make_result
from tests.reglue_competition.ranking.test_ranks import (
    ONE,
    PAIR,
    RETURNS,
    entry,
    played,
    read_alone,
)

TWO = [*ONE, RETURNS]


@pytest.fixture
def entries() -> list[ScoredSubmission]:
    """Three teams; of the last one's second play some was not played to its end."""
    first, second = (
        entry(name, make_result(Play(label=name, rate=rate)), learned(Learned(seed=seed)))
        for seed, (name, rate) in enumerate([("A", 0.9), ("B", 0.6)])
    )
    third = entry("C", make_result(Play(label="C", rate=0.5)), learned(), has_failed=True)
    return [first, second, third]


def without_ledgers(entries: Sequence[ScoredSubmission]) -> list[ScoredSubmission]:
    """Only comparisons that were kept can tell how these differ by cell."""
    return [
        replace(each, results={k: of.with_episodes(()) for k, of in each.results.items()})
        for each in entries
    ]


def differences(
    entries: Sequence[ScoredSubmission], compared: Comparisons
) -> dict[tuple[int, int], Difference]:
    return over_pairs(entries, lambda one, other: compared.compare(one, other, TWO))


def test_the_next_server_compares_nothing_again(
    tmp_path: Path, entries: list[ScoredSubmission]
) -> None:
    file = tmp_path / "comparisons" / "public.jsonl"
    first = Comparisons(file)
    before = differences(entries, first)
    first.save()
    assert differences(without_ledgers(entries), Comparisons(file)) == before
    assert differences(without_ledgers(entries), Comparisons()) != before


def test_a_new_teams_comparisons_are_added(tmp_path: Path, entries: list[ScoredSubmission]) -> None:
    file = tmp_path / "public.jsonl"
    for known in (entries[:2], entries):
        compared = Comparisons(file)
        differences(known, compared)
        compared.save()
    assert len(file.read_text().splitlines()) == 1 + 2 * 3  # of two benchmarks, three pairs
    found = differences(without_ledgers(entries), Comparisons(file))
    assert found == differences(entries, Comparisons())


def test_a_file_that_is_damaged_or_anothers_is_written_anew(
    tmp_path: Path, entries: list[ScoredSubmission]
) -> None:
    file = tmp_path / "public.jsonl"
    whole = Comparisons(file)
    differences(entries, whole)
    whole.save()
    text = file.read_text()
    head, rest = text.split("\n", 1)
    for damaged in (text[:-9], "", f"{head}\n[1, 2, 3]\n", f'{{"reglue": "0.0.1"}}\n{rest}'):
        file.write_text(damaged)
        compared = Comparisons(file)
        assert not compared._differences
        differences(entries, compared)
        compared.save()
        assert file.read_text() == text


def test_what_nobody_ranks_any_more_leaves_the_file(
    tmp_path: Path, entries: list[ScoredSubmission]
) -> None:
    file = tmp_path / "public.jsonl"
    compared = Comparisons(file)
    for number in range(10):
        now = [*entries[:1], played("B", 0.6 + number / 100, label=f"{number}")]
        now[1] = replace(now[1], submission=f"B-{number}")
        compared.retain(now)
        rank(now, ONE, compared, PAIR)
        compared.save()
    assert len(file.read_text().splitlines()) <= 3


def test_a_ledger_that_is_missing_is_looked_for_again(
    tmp_path: Path, entries: list[ScoredSubmission]
) -> None:
    file = tmp_path / "public.jsonl"
    hidden = [
        replace(each, results={k: read_alone(of) for k, of in each.results.items()})
        for each in entries
    ]
    compared = Comparisons(file)
    differences(hidden, compared)
    compared.save()
    assert differences(entries, Comparisons(file)) == differences(entries, Comparisons())


def test_a_folder_that_cannot_be_written_to_costs_time_alone(
    tmp_path: Path, entries: list[ScoredSubmission], caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    compared = Comparisons(tmp_path / "file" / "public.jsonl")
    for _ in range(2):
        before = [each.rank for each in rank(entries, ONE, compared, PAIR)]
        compared.save()
        compared.retain([])
    assert before == [each.rank for each in rank(entries, ONE, Comparisons(), PAIR)]
    assert caplog.text.count("are not kept for the next start") == 1
