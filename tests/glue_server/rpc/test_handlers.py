"""The caller of a call, and its failures."""

from __future__ import annotations

from typing import Any

import pytest

from glue_server.rpc.handlers import Caller


class Call:
    """One whose peer showed a certificate of these names."""

    def __init__(self, *names: bytes) -> None:
        self._names = names

    def peer(self) -> str:
        return "ipv4:192.0.2.7:40000"

    def auth_context(self) -> dict[str, list[bytes]]:
        return {"x509_common_name": [*self._names]} if self._names else {}


@pytest.mark.parametrize(
    ("names", "certified"),
    [((), ""), ((b"Ada",), "Ada"), ((b"Ada\xff",), "Ada\N{REPLACEMENT CHARACTER}")],
)
def test_a_caller_is_known_by_its_address_and_its_certificate(
    names: tuple[bytes, ...], certified: str
) -> None:
    call: Any = Call(*names)
    assert Caller.of(call) == Caller("ipv4:192.0.2.7", certified)
