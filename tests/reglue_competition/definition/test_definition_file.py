from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from reglue.errors import UsageError
from reglue_competition.definition import Definition, read_definition
from tests.error_facts import raises
from tests.reglue_competition.competitions import (
    AFTER,
    CLOSES,
    OPENS,
    definition,
    phase,
    practice,
    private,
)
from tests.wrong_files import Mistake, WrongFiles

START = """\
name = "test"
title = "A test"

[[phases]]
name = "public"
kind = "public"
opens = 2026-01-01T01:00:00+01:00
closes = 2026-02-01T00:00:00Z
benchmarks = [
    { benchmark = "MT1:reach-v3", weight = 2, options = { num_episodes = 3, slots = 4 } },
    { benchmark = "multi-task:gridworld" },
]
"""


def read(folder: Path, text: str) -> Definition:
    path = folder / "competition.toml"
    path.write_text(text)
    return read_definition(path)


WRONG = WrongFiles(
    Path(__file__).with_name("wrong_files.txt"), "competition.toml", START, read_definition
)


def test_a_file_is_read_with_its_dates_in_utc(tmp_path: Path) -> None:
    found = read(tmp_path, START)
    (public,) = found.phases
    assert public.opens == datetime(2026, 1, 1, tzinfo=UTC)
    assert public.opens.tzinfo is UTC
    first, second = public.benchmarks
    assert (first.benchmark, first.weight, first.options["slots"]) == ("MT1:reach-v3", 2, 4)
    assert (second.weight, second.options) == (1, {})
    assert not found.agents_see.rewards


def test_what_was_read_survives_json(tmp_path: Path) -> None:
    found = read(tmp_path, START)
    assert Definition.model_validate_json(found.model_dump_json()) == found


def test_a_private_phase_allows_one_submission_unless_it_says_more() -> None:
    one = definition(phase(), private())
    assert [one.quotas_of(each).in_all for each in one.phases] == [None, 1]
    two = definition(private(quotas={"in_all": 2}))
    assert two.quotas_of(two.phase("private")).in_all == 2


@pytest.mark.parametrize("mistake", WRONG.mistakes(), ids=str)
def test_a_mistake_is_named_by_line_and_key(tmp_path: Path, mistake: Mistake) -> None:
    assert WRONG.message(mistake, tmp_path) == mistake.message


def test_a_mistake_is_named_once(tmp_path: Path) -> None:
    """And not what holds it, of which pydantic says that nothing is left."""
    with pytest.raises(UsageError) as caught:
        read(tmp_path, START.replace('"public"\nopens', '"open"\nopens'))
    assert str(caught.value).count("competition.toml:") == 1


@pytest.mark.parametrize(
    ("second", "words"),
    [
        ({"name": "public"}, "wanted each name once"),
        ({"opens": datetime(2050, 1, 1, tzinfo=UTC)}, "before public closes"),
        ({"opens": datetime(2050, 1, 1, tzinfo=UTC), "kind": "public"}, "before public closes"),
        ({"kind": "practice"}, "wanted the order practice, public, private"),
    ],
)
def test_phases_are_in_order_and_do_not_overlap(second: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        definition(phase(), private() | second)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"opens": OPENS + timedelta(days=1)}, "public opens .* before practice opens"),
        ({"kind": "public"}, "public opens .* before practice closes"),
        ({"closes": CLOSES}, ""),
        ({}, ""),
    ],
    ids=["opens later", "no practice", "closes with it", "lasts longer"],
)
def test_practice_lasts_beside_other_phases_that_are_apart(
    changed: dict[str, object], words: str
) -> None:
    def read_() -> Definition:
        return definition(practice() | changed, phase(), private())

    if not words:
        assert [each.name for each in read_().phases] == ["practice", "public", "private"]
        return
    with pytest.raises(ValueError, match=words):
        read_()


def test_two_of_practice_are_apart() -> None:
    with pytest.raises(ValueError, match=r"again opens .* before practice closes"):
        definition(practice(), practice(name="again", opens=CLOSES), private())


@pytest.mark.parametrize("at", [OPENS, CLOSES, OPENS - timedelta(days=1)])
def test_a_leaderboard_is_frozen_while_its_phase_is_open(at: datetime) -> None:
    with pytest.raises(ValueError, match="wanted a date between opens and closes"):
        definition(phase(freeze_at=at))


@pytest.mark.parametrize("places", [[0], [2], [1, 1], []])
def test_a_track_is_of_its_phases_benchmarks(places: list[int]) -> None:
    with pytest.raises(ValueError, match="track"):
        definition(phase(tracks=[{"name": "x", "benchmarks": places}]))


def test_tracks_have_names_of_their_own() -> None:
    with pytest.raises(ValueError, match="wanted each name once"):
        definition(phase(tracks=2 * [{"name": "x", "benchmarks": [1]}]))


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        ({"agents": "both"}, {"images_from": "public"}, 'and agents = "remote"'),
        ({}, {"agents": "both", "images_from": "public"}, "it opens: there is none"),
        ({"agents": "both"}, {"agents": "both", "images_from": "private"}, "it opens: public"),
        ({"agents": "both", "images_from": "later"}, {}, "'later', wanted a phase that takes"),
        (
            {"agents": "both", "kind": "practice", "closes": AFTER},
            {"agents": "both", "images_from": "public"},
            "closes before it opens: there is none",
        ),
    ],
    ids=["it takes none", "the other takes none", "itself", "nowhere", "it is still open"],
)
def test_images_come_from_a_phase_before_that_takes_them(
    first: dict[str, object], second: dict[str, object], words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        definition(phase() | first, private() | second)


@pytest.mark.parametrize("name", ["", "--privileged", "a b", "Upper", 256 * "a"])
def test_an_image_for_projects_has_a_name_that_engines_take(name: str) -> None:
    assert definition(images={"python": "host:5000/my/python:1@sha256:0"}).images.python
    with pytest.raises(ValueError, match="python"):
        definition(images={"python": name})


@pytest.mark.parametrize("choose", ["last", "team"])
def test_mean_ranks_have_no_scale(choose: str) -> None:
    ranking = {"total": "mean rank", "choose": choose, "ties": "score"}
    assert definition(ranking=ranking).ranking.total == "mean rank"
    scaled = phase(benchmarks=[{"benchmark": "multi-task:gridworld", "scale": [0, 1]}])
    with pytest.raises(ValueError, match="phase public: got scale"):
        definition(scaled, ranking=ranking)


def test_a_password_does_not_stand_in_the_file(tmp_path: Path) -> None:
    with raises(UsageError, f"{tmp_path / 'competition.toml'}:1: database", "password") as told:
        read(tmp_path, f'database = "postgresql://me:geheim@host/x"\n{START}')
    assert "geheim" not in str(told.value)


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("seed = 3", "seed: no competition has it"),
        (
            'environment = "MT1:reach-v3"\nenvironment_args = { goals = [[1, 2, 3]] }',
            "no secret keys",
        ),
        ("num_episodes = 0", "num_episodes: got 0"),
    ],
)
def test_a_benchmarks_file_is_checked_too(tmp_path: Path, lines: str, words: str) -> None:
    text = f'procedure = "multi-task"\n{lines}\n'
    if "environment" not in lines:
        text += 'environment = "gridworld"\n'
    (tmp_path / "mine.toml").write_text(text)
    with pytest.raises(UsageError, match=words) as told:
        read(tmp_path, START.replace("MT1:reach-v3", "mine.toml"))
    assert str(tmp_path / "mine.toml:") in str(told.value)


@pytest.mark.parametrize("option", ["reveal_tasks", "instruction"])
def test_tasks_are_shown_where_agents_see_them(tmp_path: Path, option: str) -> None:
    text = START.replace("slots = 4", f"{option} = true")
    with raises(UsageError, option, "agents_see.tasks"):
        read(tmp_path, text)
    assert read(tmp_path, f"{text}\n[agents_see]\ntasks = true").agents_see.tasks


@pytest.mark.parametrize(
    ("entered", "begins"),
    [
        (timedelta(0), timedelta(hours=6)),
        (timedelta(hours=6) - timedelta(microseconds=1), timedelta(hours=6)),
        (timedelta(hours=6), timedelta(hours=12)),
        (timedelta(days=30, hours=22), timedelta(days=30, hours=23)),  # the phase closes
        (timedelta(hours=-7), timedelta(hours=-6)),  # opened before its date
    ],
)
def test_what_was_entered_before_a_round_plays_in_it(entered: timedelta, begins: timedelta) -> None:
    closes = OPENS + timedelta(days=30, hours=23)
    rounds = definition(phase(closes=closes), play={"round_every_s": 21_600.0})
    assert rounds.round_of("public", OPENS + entered) == OPENS + begins
    assert definition().round_of("public", OPENS + entered) is None
