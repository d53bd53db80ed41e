"""Join strings, and the certificates that they and files hold."""

from __future__ import annotations

import base64
import contextlib
import errno
import ipaddress
import os
import traceback
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reglue.errors import BadArgument, UsageError
from reglue.net.join_string import (
    LONGEST,
    JoinString,
    join_string,
    read_authority,
    socket_path,
    split_address,
    split_der,
    to_pem,
)
from tests.error_facts import raises

# Of a certificate that was made for this test: EC P-256, self-signed, valid to 2126.
CA = base64.b64decode(
    "MIIBMjCB2aADAgECAhQQhm0Cb+qxNlXyntYdwZ7VkvjxgzAKBggqhkjOPQQDAjAOMQwwCgYDVQQDDANvbmUwIBcN"
    "MjYxMTIwMTAzMjIyWhgPMjEyNjEwMjgxMDMyMjJaMA4xDDAKBgNVBAMMA29uZTBZMBMGByqGSM49AgEGCCqGSM49"
    "AwEHA0IABAkJfbPyrt1qCBobN40saeeKMCTsDRVZOGGkVSFqXbLWnbGmia58j8NxWwRRsVz7LUbeXEc2FpR/t+lx"
    "v9VfFsmjEzARMA8GA1UdEwEB/wQFMAMBAf8wCgYIKoZIzj0EAwIDSAAwRQIhAL2L/CkeUTODxLbG3aLL7RQQvMER"
    "XZO0+PzVDcqu8OCJAiBsiVW+SULxlZUUx4wATFCeD9Qh61HlZyoAbqoM/yYn9w=="
)

OTHER = base64.b64decode(
    "MIIBMTCB2aADAgECAhQ1sO8gdwcOfzYe+uGV7AieRAYAhDAKBggqhkjOPQQDAjAOMQwwCgYDVQQDDAN0d28wIBcN"
    "MjYxMTIwMTAzMjIyWhgPMjEyNjEwMjgxMDMyMjJaMA4xDDAKBgNVBAMMA3R3bzBZMBMGByqGSM49AgEGCCqGSM49"
    "AwEHA0IABNuPbQmrAOd3krwjIqb31ndF+kClVDK2KVVcKjygrujSl8RyVwPTajWZCwoAMhJ0JTAsQXI/TF+UBUMM"
    "Gra7LoOjEzARMA8GA1UdEwEB/wQFMAMBAf8wCgYIKoZIzj0EAwIDRwAwRAIgbIy4y6WGE436NfYuylvCkR7mgzba"
    "VbS4/uzqWT4LZSACIC0NgCjnCGZCpbssIPwdbddllnLrDHNsrWc+AvZ7sRut"
)


@pytest.fixture(autouse=True, scope="module")
def _empty_environment() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("REGLUE_ADDRESS", raising=False)
        patch.delenv("REGLUE_TOKEN", raising=False)
        yield


names = st.from_regex(r"[a-z0-9]([a-z0-9.-]{0,20}[a-z0-9])?", fullmatch=True)
hosts = st.one_of(
    names,
    st.ip_addresses(v=4).map(str),
    st.ip_addresses(v=6).map(lambda ip: f"[{ipaddress.ip_address(ip)}]"),
)
sockets = st.from_regex(r"/[A-Za-z0-9._~/+,@=:-]{0,40}[a-z]", fullmatch=True).map("unix:{}".format)
addresses = st.builds("{}:{}".format, hosts, st.integers(1, 65535)) | sockets
words = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)

invitations = st.one_of(
    st.builds(JoinString, addresses, words),
    st.builds(JoinString, addresses, words, st.sampled_from([CA, OTHER, CA + OTHER]), words),
)


@given(invitations)
def test_a_join_string_says_all_of_an_invitation(invited: JoinString) -> None:
    assert join_string(str(invited)) == invited


@given(invitations)
def test_a_join_string_is_plain_ascii_without_spaces(invited: JoinString) -> None:
    """It survives a mail, a shell's quotes and an environment variable."""
    assert str(invited).isascii()
    assert not set(str(invited)) & set(" '\"\\\t\n")


@given(invitations.filter(lambda invited: bool(invited.authority)), st.data())
def test_half_a_join_string_never_invites_to_go_without_tls(
    invited: JoinString, data: st.DataObject
) -> None:
    text = str(invited)
    half = text[: data.draw(st.integers(text.index("?") + 1, len(text) - 1))]
    with contextlib.suppress(UsageError):
        assert join_string(half).authority


# What goes before what.


def test_host_and_port_are_an_invitation_without_tls() -> None:
    assert join_string("hub:80", "t") == JoinString("hub:80", "t")


def test_what_is_given_goes_before_the_join_string() -> None:
    text = str(JoinString("hub:80", "said", CA, "said"))
    given_ = join_string(text, "given", ca=OTHER, tls_name="given")
    assert given_ == JoinString("hub:80", "given", OTHER, "given")


def test_the_join_string_goes_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGLUE_TOKEN", "environment")
    assert join_string("reglue://hub:80?token=said").token == "said"
    assert join_string("reglue://hub:80").token == "environment"
    assert join_string("hub:80").token == "environment"
    assert join_string("hub:80", "").token == ""


def test_a_join_string_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    invited = JoinString("hub:80", "t", CA, "reglue")
    monkeypatch.setenv("REGLUE_ADDRESS", f" {invited}\n")
    assert join_string() == invited


def test_an_authority_makes_an_address_an_invitation_with_tls() -> None:
    assert join_string("hub:80", "t", ca=CA) == JoinString("hub:80", "t", CA)


# Strings that are none.

CA_TEXT = str(JoinString("hub:80", authority=CA)).partition("=")[2]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("hub", "got address 'hub', wanted host:port"),
        ("hub:", "wanted host:port"),
        (":80", "wanted host:port"),
        ("hub:http", "wanted host:port"),
        ("hub:65536", "wanted host:port"),
        ("hub:0", "wanted the port that the glue listens on"),
        ("::1:80", "wanted host:port"),
        ("a b:80", "wanted host:port"),
        ("hub:80/path", "wanted host:port"),
        ("http://hub:80", "wanted reglue://HOST:PORT"),
        ("reglue://", "got address '', wanted host:port"),
        ("reglue://hub", "got address 'hub', wanted host:port"),
        ("reglue://hub:0", "wanted the port"),
        ("reglue://[::1:80", "wanted reglue://HOST:PORT"),
        ("reglue://me@hub:80", "wanted host:port"),
        ("reglue://hub:80/path?token=t", "wanted reglue://HOST:PORT"),
        ("reglue://hub:80?token=t#rest", "wanted reglue://HOST:PORT"),
        ("reglue://hub:80?", "wanted reglue://HOST:PORT"),
        ("reglue://hub:80?token", "wanted reglue://HOST:PORT"),
        ("reglue://hub:80?token=t&", "wanted reglue://HOST:PORT"),
        ("reglue://hub:80?tokn=t", "got a join string with tokn, wanted ca, name and token"),
        ("reglue://hub:80?token=t&token=u", "with token, token, wanted"),
        ("reglue://hub:80?ca=", "the join string's ca is no certificate"),
        ("reglue://hub:80?ca=AAAA", "the join string's ca is no certificate"),
        ("reglue://hub:80?ca=größe", "the join string's ca is no certificate"),
        ("reglue://hub:80?ca=A", "the join string's ca is no certificate"),
        (
            f"reglue://hub:80?ca=****{CA_TEXT}",
            "the join string's ca is no certificate",
        ),
        (f"reglue://hub:80?ca={CA_TEXT[:-4]}", "the join string's ca is no certificate"),
        ("reglue://hub:80?name=hub", "no authority to trust: give the whole join string"),
    ],
)
def test_a_bad_string_is_told(text: str, told: str) -> None:
    with pytest.raises(UsageError) as error:
        join_string(text)
    assert told in str(error.value)


@given(st.text(max_size=60))
def test_no_string_brings_another_error(text: str) -> None:
    for before in ("", "reglue://", "reglue://hub:80?", "reglue://hub:80?ca="):
        with contextlib.suppress(UsageError):
            join_string(before + text)


TOKEN = "nv0FQqLDsyS1ze8dM3xkXIw7TQGfZ4Jb"


@pytest.mark.parametrize(
    "text",
    [
        TOKEN,
        f"{TOKEN}:",
        f"{TOKEN}://hub:80",
        f"hub?token={TOKEN}",
        f"reglue://{TOKEN}@hub",
        f"reglue://hub:80/?token={TOKEN}#x",
        f"reglue://hub:80/{TOKEN}",
        f"reglue://hub:80?{TOKEN}",
        f"reglue://hub:80?{TOKEN}=",
        f"reglue://hub:80?token={TOKEN}&token={TOKEN}",
        f"reglue://[hub?token={TOKEN}",
        f"reglue://hub:80?ca={TOKEN}",
    ],
)
def test_no_message_repeats_a_token(text: str) -> None:
    """Logs are read by others."""
    with pytest.raises(UsageError) as error:
        join_string(text)
    told = "".join(traceback.format_exception(error.value))
    assert TOKEN[:8] not in told


@pytest.mark.parametrize(("length", "shown"), [(20, "'" + "h" * 20 + "'"), (21, "'hhhh…")])
def test_a_text_that_is_shorter_than_a_token_is_repeated(length: int, shown: str) -> None:
    with pytest.raises(UsageError) as error:
        split_address("h" * length)
    assert shown in str(error.value)


def test_a_wrong_string_is_not_repeated_at_length() -> None:
    with pytest.raises(UsageError) as error:
        join_string("http://" + "x" * 10_000)
    assert len(str(error.value)) < 300


@pytest.mark.parametrize(("address", "parts"), [("hub:0", ("hub", 0)), ("[::1]:80", ("[::1]", 80))])
def test_an_address_has_a_host_and_a_port(address: str, parts: tuple[str, int]) -> None:
    assert split_address(address) == parts


def test_a_unix_socket_takes_the_place_of_host_and_port() -> None:
    assert join_string("reglue://unix:/run/lobby?token=t") == JoinString("unix:/run/lobby", "t")
    assert join_string("unix:/run/lobby", "t") == JoinString("unix:/run/lobby", "t")
    assert socket_path("unix:/run/lobby") == "/run/lobby"
    assert socket_path("unix:4096") is None


@pytest.mark.parametrize("path", ["lobby", "/", "/a b", "/a%20b", "/a?b", "//ü"])
def test_a_path_that_grpc_would_read_otherwise_is_no_address(path: str) -> None:
    with pytest.raises(UsageError):
        join_string(f"unix:{path}")
    with pytest.raises(UsageError):
        join_string(f"reglue://unix:{path}")


def test_a_path_of_a_socket_has_its_limit() -> None:
    longest = "unix:/" + "a" * (LONGEST - 1)
    assert join_string(longest).address == longest
    with raises(BadArgument, f"{LONGEST + 1} bytes", f"{LONGEST} at most"):
        join_string(f"{longest}a")


# Certificates.


@pytest.mark.parametrize("source", [CA, to_pem(CA), b"words before\n" + to_pem(CA) + b"and after"])
def test_an_authority_is_read_from_pem_and_der(source: bytes, tmp_path: Path) -> None:
    file = tmp_path / "ca"
    file.write_bytes(source)
    assert read_authority(source) == read_authority(file) == read_authority(str(file)) == CA


def test_several_certificates_stand_one_after_another() -> None:
    both = read_authority(to_pem(CA) + to_pem(OTHER))
    assert split_der(both) == [CA, OTHER]
    assert read_authority(to_pem(both)) == both


@pytest.mark.parametrize(
    "source",
    [
        b"",
        b"hello",
        CA[:-1],
        CA + b"\0",
        b"\x30\x03abc",
        b"\x30\xff" + bytes(10),
        to_pem(CA)[:-40],
        to_pem(CA).replace(b"CERTIFICATE", b"PRIVATE KEY"),
    ],
)
def test_what_is_no_certificate_is_told(source: bytes, tmp_path: Path) -> None:
    file = tmp_path / "ca.pem"
    file.write_bytes(source)
    with raises(UsageError, file, "PEM", "DER"):
        read_authority(file)


def test_broken_pem_is_told() -> None:
    with raises(UsageError, "broken"):
        read_authority(b"-----BEGIN CERTIFICATE-----\nA\n-----END CERTIFICATE-----\n")


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with raises(UsageError, tmp_path / "nothing.pem", os.strerror(errno.ENOENT)):
        read_authority(tmp_path / "nothing.pem")


def test_an_invitation_keeps_its_authority_when_its_address_changes() -> None:
    invited = replace(JoinString("hub:80", "t", CA), address="other:80")
    assert join_string(str(invited)).authority == CA
