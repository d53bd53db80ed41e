"""The addresses at which commands that listen for peers agree to listen."""

from __future__ import annotations

import pytest

from glue_server.host_settings import HostSettings
from glue_server.rpc.tls.server_tls import server_tls
from reglue.errors import UsageError
from tests.error_facts import raises


def tls_for(listen: str, *, tls: bool = False, insecure: bool = False) -> bool:
    """Whether a server there speaks TLS."""
    return server_tls(HostSettings(listen=listen, tls=tls, insecure=insecure)) is not None


@pytest.mark.parametrize("listen", ["127.0.0.1:0", "127.1.2.3:80", "localhost:0", "[::1]:0"])
def test_this_machine_alone_needs_no_tls(listen: str) -> None:
    assert not tls_for(listen)


@pytest.mark.parametrize("listen", ["0.0.0.0:0", "[::]:0", "192.0.2.1:80", "hub.example.org:80"])
def test_other_machines_need_tls_or_a_word_that_they_do_not(listen: str) -> None:
    with raises(UsageError, settings={"listen", "tls", "tls_cert", "tls_key", "insecure"}):
        tls_for(listen)
    assert tls_for(listen, tls=True)
    assert not tls_for(listen, insecure=True)
