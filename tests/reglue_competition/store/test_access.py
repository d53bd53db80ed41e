from __future__ import annotations

import secrets
from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa

from reglue.errors import BadArgument, TokenRefused, UnknownName, UsageError
from reglue_competition.store import Organiser, Store
from reglue_competition.store.access import MOST_TOKENS, token_id
from reglue_competition.store.schema import TABLES
from tests.error_facts import raises
from tests.reglue_competition.competitions import Clock, definition, phase, practice

GIVEN = "0123456789abcdef" * 3  # as long as 192 bits are in hexadecimal


def test_a_team_is_known_by_its_token(store: Store) -> None:
    team, other = store.add_team("Team A"), store.add_team("Team B")
    assert store.bearer(store.new_token(team)) == team
    assert store.bearer(store.new_token(other)) == other


def test_an_organiser_is_known_by_a_token_too(store: Store) -> None:
    token = store.new_token(None)
    assert store.bearer(token) == Organiser(token_id(token))


def test_a_token_is_not_in_the_database(store: Store) -> None:
    token = store.new_token(store.add_team("A"))
    secret = token.removeprefix("reglue_")
    assert len(secret) * 6 >= 192  # bits

    def rows(connection: sa.Connection) -> list[str]:
        every = TABLES.sorted_tables
        return [str(row) for table in every for row in connection.execute(sa.select(table))]

    held = store._database.read(rows)
    assert held
    assert not [row for row in held if secret in row]


def test_a_wrong_token_is_refused(store: Store) -> None:
    store.new_token(store.add_team("A"))
    for token in ["", "reglue_wrong", "\0", "\ud800", "é" * 10_000]:
        with raises(TokenRefused, "token is wrong"):
            store.bearer(token)


def test_a_byte_order_mark_before_a_token_is_named(store: Store) -> None:
    secret = store.new_token(store.add_team("A"))
    with raises(TokenRefused, "byte order mark"):
        store.bearer(f"\ufeff{secret}")


def test_tokens_are_rotated_by_a_new_one_beside_the_old(store: Store) -> None:
    team = store.add_team("A")
    old, new = store.new_token(team), store.new_token(team)
    assert store.bearer(old) == store.bearer(new) == team
    store.revoke(token_id(old))
    assert store.bearer(new) == team
    with raises(TokenRefused, "revoked"):
        store.bearer(old)
    assert [token.revoked_at is None for token in store.tokens()].count(False) == 1


def test_a_team_makes_a_token_and_revokes_the_others(store: Store) -> None:
    team, other = store.add_team("A"), store.add_team("B")
    first, theirs = store.new_token(team), store.new_token(other)
    second = store.another_token(first)
    assert store.bearer(first) == store.bearer(second) == team
    store.revoke_others(second)
    store.revoke_others(second)
    assert store.bearer(second) == team
    assert store.bearer(theirs) == other
    for wrong in (store.another_token, store.revoke_others):
        with raises(TokenRefused, "revoked"):
            wrong(first)
        with raises(TokenRefused, "token is wrong"):
            wrong("reglue_wrong")
        with raises(UsageError, "the organiser's"):
            wrong(store.new_token(None))
    revoked = [each for each in store.events(limit=100) if each.kind == "token revoked"]
    assert [each.detail["token"] for each in revoked] == [token_id(first)]


def test_a_team_has_few_tokens_that_last_no_longer_than_the_first(url: str) -> None:
    day = timedelta(days=1)
    clock = Clock(datetime(2026, 5, 1, 12, tzinfo=UTC))
    with Store(url, clock=clock) as store:
        team = store.add_team("A")
        tokens = [store.new_token(team, clock.now + day)]
        while len(tokens) < MOST_TOKENS:
            tokens.append(store.another_token(tokens[-1]))
        with raises(UsageError, f"wanted fewer than {MOST_TOKENS}"):
            store.another_token(tokens[0])
        store.revoke(token_id(tokens.pop(0)))
        tokens.append(store.another_token(tokens[0]))
        clock.now += day
        for token in tokens:
            with raises(TokenRefused, "expired"):
                store.bearer(token)


def test_a_token_enters_one_phase_alone_or_whichever_is_open(store: Store) -> None:
    store.apply(definition(practice(), phase()))
    team = store.add_team("A")
    one, plain = store.new_token(team, phase="practice"), store.new_token(team)
    assert store.bearer(one) == store.bearer(plain) == team
    assert (store.phase_of(one), store.phase_of(plain)) == ("practice", None)
    assert {each.phase for each in store.tokens()} == {"practice", None}
    with raises(UnknownName, "phase", "practice", got="practise"):
        store.new_token(team, phase="practise")
    assert len(store.tokens()) == 2
    store.revoke(token_id(one))
    with raises(TokenRefused, "revoked"):
        store.phase_of(one)


def test_a_token_of_one_phase_makes_others_of_that_phase(store: Store) -> None:
    store.apply(definition(practice(), phase()))
    team = store.add_team("A")
    one, plain = store.new_token(team, phase="practice"), store.new_token(team)
    assert store.phase_of(store.another_token(one, "practice")) == "practice"
    assert store.phase_of(store.another_token(plain, "public")) == "public"
    for phase_ in (None, "public"):
        with raises(BadArgument, "practice", got=phase_ or "none"):
            store.another_token(one, phase_)
    with raises(UnknownName, got="practise"):
        store.another_token(plain, "practise")
    assert len(store.tokens()) == 4


def test_a_token_that_was_drawn_elsewhere_stays_in_its_phase(store: Store) -> None:
    store.apply(definition(practice(), phase()))
    team = store.add_team("A")
    for _ in range(2):
        store.new_token(team, phase="practice", token=GIVEN)
    for phase_ in (None, "public"):
        with raises(UsageError, token_id(GIVEN)):
            store.new_token(team, phase=phase_, token=GIVEN)
    assert store.phase_of(GIVEN) == "practice"


def test_a_retired_team_makes_no_token(store: Store) -> None:
    token = store.new_token(store.add_team("A"))
    store.retire_team("A")
    with raises(TokenRefused, "retired"):
        store.another_token(token)


def test_a_token_expires(url: str) -> None:
    clock = Clock(datetime(2026, 5, 1, 12, tzinfo=UTC))
    with Store(url, clock=clock) as store:
        team = store.add_team("A")
        token = store.new_token(team, clock.now + timedelta(hours=1))
        assert store.bearer(token) == team
        clock.now += timedelta(hours=1)
        with raises(TokenRefused, "2026-05-01 13:00 UTC"):
            store.bearer(token)


def test_a_date_of_expiry_needs_an_offset(store: Store) -> None:
    with raises(BadArgument, "expires_at", got=datetime(2026, 5, 1)):
        store.new_token(None, datetime(2026, 5, 1))


def test_an_unknown_token_cannot_be_revoked(store: Store) -> None:
    with raises(UnknownName, "token", got="x"):
        store.revoke("x")


def test_a_retired_team_is_refused_and_stays_known(store: Store) -> None:
    team = store.add_team("A")
    token = store.new_token(team)
    store.retire_team("A")
    store.retire_team("A")
    with raises(TokenRefused, "retired"):
        store.bearer(token)
    assert store.team("A").retired_at is not None
    assert [event.kind for event in store.events()].count("team retired") == 1


def test_a_name_that_reads_alike_is_taken(store: Store) -> None:
    store.add_team("Team A")
    for name in ["Team a", "TEAM A", " Team A "]:
        with raises(UsageError, "'Team A'"):
            store.add_team(name)


def test_a_name_that_cannot_be_read_is_refused(store: Store) -> None:
    for name in ["", "  ", "a\nb", "a\u202eb", "a\tb", "x\0"]:
        with raises(BadArgument, repr(name)):
            store.add_team(name)


def test_a_name_that_no_certificate_can_hold_is_refused(store: Store) -> None:
    for name, size in (("x" * 65, 65), ("漢" * 22, 66), ("Я" * 33, 66)):
        with raises(BadArgument, f"{size} bytes", 64):
            store.add_team(name)
    store.add_team("漢" * 21)


def test_a_name_that_looks_like_another_is_taken(store: Store) -> None:
    """In Greek, Cyrillic and full-width letters."""
    store.add_team("Team A")
    for name in ["Τeam A", "Теаm А", "Ｔeam A"]:
        with raises(UsageError, "'Team A'", f"looks like {name!r}"):
            store.add_team(name)
    for name in ["Ομάδα Α", "Команда", "Team B"]:  # "Α" alone is no other's
        store.add_team(name)


def test_an_unknown_team_is_named(store: Store) -> None:
    store.add_team("Team A")
    with raises(UnknownName, "team", "Team A", got="Team B"):
        store.team("Team B")


def test_a_token_that_was_drawn_elsewhere_can_be_given_again_and_again(store: Store) -> None:
    team = store.add_team_with(GIVEN, "Team A")
    noted = store.events()
    assert store.add_team_with(GIVEN, "Team A") == team == store.bearer(GIVEN)
    assert store.new_token(team, token=GIVEN) == GIVEN
    assert store.events() == noted
    assert len(store.tokens()) == 1


def test_a_token_of_another_is_refused(store: Store) -> None:
    """Also the organiser's; and nobody is added who cannot have the token."""
    team = store.add_team_with(GIVEN, "A")
    organisers = store.new_token(None, token=secrets.token_hex(24))
    for token in (GIVEN, organisers):
        with raises(UsageError, token_id(token)):
            store.add_team_with(token, "B")
    with raises(UsageError, token_id(GIVEN)):
        store.new_token(None, token=GIVEN)
    assert store.teams() == [team]


def test_a_token_that_is_over_is_not_given_again(url: str) -> None:
    clock = Clock(datetime(2026, 5, 1, 12, tzinfo=UTC))
    with Store(url, clock=clock) as store:
        store.add_team_with(GIVEN, "A", clock.now + timedelta(hours=1))
        store.revoke(token_id(store.new_token(store.team("A"), token=GIVEN[::-1])))
        clock.now += timedelta(hours=1)
        for token in (GIVEN, GIVEN[::-1]):
            with raises(UsageError, token_id(token)):
                store.add_team_with(token, "A")


def test_a_team_that_is_there_gets_no_second_token_by_being_added(store: Store) -> None:
    store.add_team_with(GIVEN, "A")
    with raises(UsageError, "'A'"):
        store.add_team_with(GIVEN[::-1], "A")


@pytest.mark.parametrize("token", ["", GIVEN[:47], "a" * 48, GIVEN + " ", "é" * 48, GIVEN * 6])
def test_a_weak_token_is_refused(store: Store, token: str) -> None:
    with raises(BadArgument, f"{len(token)} characters", 48):
        store.add_team_with(token, "A")
    with raises(BadArgument, f"{len(token)} characters", 48):
        store.new_token(None, token=token)
    assert (store.teams(), store.tokens()) == ([], [])
