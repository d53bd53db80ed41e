"""Limits on the rate of joins."""

from __future__ import annotations

from itertools import count

import grpc
import pytest

from glue_server.rpc.admission import Denied
from glue_server.rpc.gateways.join_limits import JoinLimits, TokenBuckets, plain_address
from tests.error_facts import raises


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_bucket_is_emptied_at_once_and_fills_with_time() -> None:
    clock = Clock()
    buckets = TokenBuckets(3, 0.5, clock=clock)
    assert [buckets.take("a") for _ in range(5)] == [True, True, True, False, False]
    assert buckets.take("b")
    clock.now = 2.0
    assert [buckets.take("a") for _ in range(2)] == [True, False]
    clock.now = 1000.0
    assert [buckets.take("a") for _ in range(5)] == [True, True, True, False, False]


def test_strangers_cannot_make_it_remember_without_end() -> None:
    buckets = TokenBuckets(1, 0.0)
    for key in range(10_000):
        buckets.take(str(key))
    assert len(buckets._buckets) == 4096


def refused_at(limits: JoinLimits, *tries: tuple[str, str]) -> int:
    """The number of the first refused one of these tries, again and again."""
    for number in count():
        try:
            limits.check(*tries[number % len(tries)])
        except Denied:
            return number
    raise AssertionError("count never ends")


def test_one_token_may_join_less_often_than_one_address() -> None:
    assert 32 <= refused_at(JoinLimits(), ("192.0.2.1", "a")) < 64
    tokens = [("192.0.2.1", f"token {number}") for number in range(100)]
    assert 256 <= refused_at(JoinLimits(), *tokens) < 512


def test_a_token_is_limited_wherever_it_comes_from() -> None:
    places = [(f"192.0.2.{number}", "a") for number in range(100)]
    assert refused_at(JoinLimits(), *places) < 64


def test_a_token_that_was_good_is_not_kept_out_by_a_flood_from_its_address() -> None:
    limits = JoinLimits()
    limits.note_good("good")
    refused_at(limits, *[("192.0.2.1", f"token {number}") for number in range(100)])
    limits.check("192.0.2.1", "good")
    with raises(Denied, "192.0.2.1", code=grpc.StatusCode.RESOURCE_EXHAUSTED):
        limits.check("192.0.2.1", "better")


def test_an_ipv6_network_is_one_address() -> None:
    places = [(f"2001:db8::{number:x}", f"token {number}") for number in range(1000)]
    assert refused_at(JoinLimits(), *places) < 512


@pytest.mark.parametrize(
    ("caller", "address"),
    [("ipv4:192.0.2.1", "192.0.2.1"), ("ipv6:%5B2001:db8::1%5D", "2001:db8::1")],
)
def test_an_address_is_read_from_what_grpc_calls_it(caller: str, address: str) -> None:
    assert plain_address(caller) == address
