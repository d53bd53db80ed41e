"""Limits on the rate of joins, for each address and each token."""

from __future__ import annotations

import hashlib
import ipaddress
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from urllib.parse import unquote

from glue_server.rpc.admission import Denied
from reglue.net.grpc_settings import grpc

_MOST = 4096  # keys that are remembered
_NETWORK = 64  # bits of an IPv6 address that one household has for itself


class TokenBuckets:
    """Lets each key do something `burst` times at once, and then `per_s` times a second."""

    def __init__(
        self, burst: int, per_s: float, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._burst, self._per_s = burst, per_s
        self._clock = clock
        self._lock = threading.Lock()
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # level, and when

    def take(self, key: str) -> bool:
        """Whether the key may do it once more now."""
        now = self._clock()
        with self._lock:
            level, at = self._buckets.pop(key, (float(self._burst), now))
            level = min(self._burst, level + (now - at) * self._per_s)
            is_left = level >= 1
            self._buckets[key] = (level - is_left, now)
            if len(self._buckets) > _MOST:
                self._buckets.popitem(last=False)
        return is_left


class JoinLimits:
    """Limits of joining, looked at before the token is.

    A token that was good before is not limited by its address: teams may share one, and with it
    somebody who floods it.
    """

    def __init__(self) -> None:
        self._addresses = TokenBuckets(256, 10.0)
        self._tokens = TokenBuckets(32, 1.0)
        self._good: OrderedDict[str, None] = OrderedDict()  # digests of tokens

    def check(self, address: str, token: str) -> None:
        """Count a try. Raises Denied."""
        digest = _digest(token)
        if digest not in self._good and not self._addresses.take(_network(address)):
            raise _too_many(f"from {address}")
        if not self._tokens.take(digest):
            raise _too_many("with this token")

    def note_good(self, token: str) -> None:
        """It has let somebody in."""
        self._good[_digest(token)] = None
        if len(self._good) > _MOST:
            self._good.popitem(last=False)


def plain_address(caller: str) -> str:
    """The IP address of gRPC's `ipv4:…` or `ipv6:…`."""
    return unquote(caller.partition(":")[2]).strip("[]")


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def _too_many(whose: str) -> Denied:
    words = f"too many joins {whose}; try again later"
    return Denied(grpc.StatusCode.RESOURCE_EXHAUSTED, words)


def _network(address: str) -> str:
    """The addresses of one household: an IPv4 address, or an IPv6 network."""
    try:
        known = ipaddress.ip_address(address)
    except ValueError:
        return address
    if known.version == 4 or known.ipv4_mapped is not None:
        return str(known)
    return str(ipaddress.ip_network((known, _NETWORK), strict=False))
