"""A glue's certificate: its own authority's, or the one in the user's files."""

from __future__ import annotations

import errno
import ipaddress
import os
import socket
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeAlias

import pytest
from cryptography import x509

from glue_server.rpc.tls.authority import own_certificate, private_authority
from glue_server.rpc.tls.server_certificate import ServerTls
from reglue.errors import UsageError
from tests.error_facts import raises
from tests.glue_server.rpc.tls_certificates import DAY, Certificate, certificate, new_key, written

Files: TypeAlias = tuple[bytes, ...]  # of a certificate, a key, and perhaps an authority

# A private authority.


def leaf(tls: ServerTls) -> x509.Certificate:
    return x509.load_pem_x509_certificate(tls.chain)


def names(tls: ServerTls) -> tuple[set[str], set[str]]:
    """Hosts and addresses that its certificate is made out to."""
    made_out = leaf(tls).extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    addresses = made_out.get_values_for_type(x509.IPAddress)
    return {*made_out.get_values_for_type(x509.DNSName)}, {*map(str, addresses)}


def test_its_certificate_is_made_out_to_reglue_this_machine_and_what_is_dialled() -> None:
    tls = private_authority("0.0.0.0:4096", "hub.example.org:80", "[2001:db8::1]:80", "")
    hosts, addresses = names(tls)
    assert tls.name == "reglue"
    assert hosts == {"reglue", "localhost", socket.gethostname(), "hub.example.org"}
    assert addresses == {"127.0.0.1", "::1", "2001:db8::1"}


def test_its_certificate_is_signed_by_the_authority_that_peers_are_told() -> None:
    tls = private_authority()
    leaf(tls).verify_directly_issued_by(x509.load_der_x509_certificate(tls.authority))


def test_its_certificate_cannot_sign_others() -> None:
    basic = leaf(private_authority()).extensions.get_extension_for_class(x509.BasicConstraints)
    assert not basic.value.ca


def test_it_holds_for_a_year_also_where_a_clock_is_behind() -> None:
    certificate = leaf(private_authority())
    now = datetime.now(UTC)
    assert certificate.not_valid_before_utc < now - timedelta(hours=12)
    assert certificate.not_valid_after_utc > now + timedelta(days=364)


def test_no_two_authorities_are_alike() -> None:
    one, two = (x509.load_der_x509_certificate(private_authority().authority) for _ in "12")
    assert one.subject != two.subject
    assert one.public_key() != two.public_key()


def test_the_key_is_not_shown_where_the_rest_is() -> None:
    assert "PRIVATE KEY" not in repr(private_authority())


def test_a_host_that_is_not_ascii_is_refused() -> None:
    with raises(UsageError, "größe.example.org", "punycode"):
        private_authority("größe.example.org:80")


# The user's own certificate.


@pytest.fixture(scope="module")
def root() -> Certificate:
    return certificate("root")


@pytest.fixture(scope="module")
def server(root: Certificate) -> Certificate:
    return certificate("server", by=root, hosts=("hub.example.org", "10.0.0.1"))


def made(folder: Path, certificate: bytes, key: bytes, authority: bytes | None = None) -> ServerTls:
    files = written(folder, certificate=certificate, key=key)
    if authority is None:
        return own_certificate(files["certificate"], files["key"])
    return own_certificate(files["certificate"], files["key"], written(folder, ca=authority)["ca"])


@pytest.mark.parametrize("form", ["pem", "der"])
def test_own_files_are_shown_as_they_are(
    root: Certificate, server: Certificate, tmp_path: Path, form: str
) -> None:
    tls = made(tmp_path, server.pem, server.key_pem(), getattr(root, form))
    assert (tls.chain, tls.key) == (server.pem, server.key_pem())
    assert (tls.authority, tls.name) == (root.der, "hub.example.org")


def test_an_rsa_key_will_do(root: Certificate, tmp_path: Path) -> None:
    server = certificate("server", by=root, hosts=("hub",), kind="rsa")
    assert made(tmp_path, server.pem, server.key_pem(), root.pem).name == "hub"


def test_a_chain_that_ends_in_its_root_needs_no_authority(
    root: Certificate, server: Certificate, tmp_path: Path
) -> None:
    assert made(tmp_path, server.pem + root.pem, server.key_pem()).authority == root.der


def test_a_self_signed_certificate_is_its_own_authority(tmp_path: Path) -> None:
    alone = certificate("alone", hosts=("hub",))
    assert made(tmp_path, alone.pem, alone.key_pem()).authority == alone.der


def test_an_authority_behind_others_is_found(root: Certificate, tmp_path: Path) -> None:
    between = certificate("between", by=root)
    server = certificate("server", by=between, hosts=("hub",))
    tls = made(tmp_path, server.pem + between.pem, server.key_pem(), root.pem)
    assert tls.authority == root.der


@pytest.mark.parametrize(
    ("hosts", "name"),
    [
        (("10.0.0.1", "hub.example.org"), "hub.example.org"),
        (("*.example.org",), "reglue.example.org"),
        (("10.0.0.1",), "10.0.0.1"),
        (("2001:db8::1",), str(ipaddress.ip_address("2001:db8::1"))),
    ],
)
def test_peers_are_told_a_name_that_it_is_made_out_to(
    tmp_path: Path, hosts: tuple[str, ...], name: str
) -> None:
    alone = certificate("alone", hosts=hosts)
    assert made(tmp_path, alone.pem, alone.key_pem()).name == name


# Files that will not do.


@pytest.mark.parametrize("missing", ["certificate", "key", "ca"])
def test_a_file_that_is_missing_is_named(
    root: Certificate, server: Certificate, tmp_path: Path, missing: str
) -> None:
    files = written(tmp_path, certificate=server.pem, key=server.key_pem(), ca=root.pem)
    files[missing].unlink()
    with raises(UsageError, files[missing], os.strerror(errno.ENOENT)):
        own_certificate(files["certificate"], files["key"], files["ca"])


def test_a_folder_is_no_file(server: Certificate, tmp_path: Path) -> None:
    with raises(UsageError, tmp_path, os.strerror(errno.EISDIR)):
        own_certificate(tmp_path, tmp_path)


def files_of(own: Certificate, *more: bytes) -> Files:
    return own.pem, own.key_pem(), *more


REFUSED: Mapping[str, tuple[Callable[[Certificate, Certificate], Files], list[str]]] = {
    "no certificate": (
        lambda root, server: (server.key_pem(), server.key_pem()),
        ["certificate.pem", "PEM"],
    ),
    "no key": (
        lambda root, server: (server.pem, server.pem, root.pem),
        ["key.pem", "no private key"],
    ),
    "a key with a password": (
        lambda root, server: (server.pem, server.key_pem(b"open sesame"), root.pem),
        ["key.pem", "encrypted"],
    ),
    "a key of a kind that gRPC does not take": (
        lambda root, server: files_of(
            certificate("server", by=root, hosts=("hub",), kind="ed25519"), root.pem
        ),
        ["key.pem", "Ed25519PrivateKey", "RSA or EC"],
    ),
    "the key of another certificate": (
        lambda root, server: files_of(Certificate(server.certificate, new_key("ec")), root.pem),
        ["key.pem", "certificate.pem"],
    ),
    "an authority of the same name that did not sign": (
        lambda root, server: files_of(server, certificate("root").pem),
        ["certificate.pem", "ca.pem"],
    ),
    "an authority that nobody says": (
        lambda root, server: files_of(server),
        ["certificate.pem", "CN=root", "ca=FILE"],
    ),
    "a certificate of the past": (
        lambda root, server: files_of(
            certificate("old", hosts=("hub",), begins=-2 * DAY, ends=-DAY)
        ),
        ["certificate.pem", "renew"],
    ),
    "a certificate of the future": (
        lambda root, server: files_of(certificate("new", hosts=("hub",), begins=DAY, ends=2 * DAY)),
        ["certificate.pem", "renew"],
    ),
    "no host": (
        lambda root, server: files_of(certificate("nobody")),
        ["certificate.pem", "subjectAltName"],
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_files_that_will_not_do_are_refused(
    root: Certificate, server: Certificate, tmp_path: Path, what: str
) -> None:
    files, named = REFUSED[what]
    with raises(UsageError, *named):
        made(tmp_path, *files(root, server))
