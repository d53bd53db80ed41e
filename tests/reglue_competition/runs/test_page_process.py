"""The page with a certificate that browsers know, which is renewed while it serves."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest
import tomli_w

from glue_server.rpc.tls.authority import Authority
from reglue.errors import UsageError
from reglue_competition.competition_folder import CompetitionFolder
from reglue_competition.definition import FILE
from reglue_competition.phases import Secrets
from reglue_competition.runs import page_process
from reglue_competition.runs.page_process import PageProcess, TlsFiles
from reglue_competition.store import Store
from tests.error_facts import raises
from tests.reglue_competition.competitions import definition
from tests.reglue_competition.page.competition_builder import begin
from tests.waiting import until

pytestmark = pytest.mark.slow


@pytest.fixture
def folder(tmp_path: Path) -> CompetitionFolder:
    made = begin(tmp_path, definition())
    Secrets.create(tmp_path / "secrets", "127.0.0.1:4096")
    with Store(made.url) as store:
        file = tomli_w.dumps(store.definition().model_dump(exclude_none=True))
    (tmp_path / FILE).write_text(file, encoding="utf-8")
    return CompetitionFolder.read(tmp_path)


def new_tls(folder: Path) -> tuple[TlsFiles, Authority]:
    """A certificate of another authority than the competition's."""
    files, authority = TlsFiles(folder / "chain.pem", folder / "key.pem"), Authority.create()
    made = authority.server("127.0.0.1:0")
    files.certificate.write_bytes(made.chain)
    files.key.write_bytes(made.key)
    return files, authority


@contextmanager
def serving(folder: CompetitionFolder, tls: TlsFiles) -> Iterator[PageProcess]:
    page = PageProcess(folder, "127.0.0.1:0", tls)
    try:
        yield page
    finally:
        page.close()


def answers(address: str, authority: Authority) -> bool:
    """Whether a browser that trusts the authority is answered."""
    trusted = authority.server("127.0.0.1:0").authority
    context = ssl.create_default_context(cadata=trusted)
    try:
        return httpx2.get(f"{address}healthz", verify=context).status_code == 200
    except httpx2.ConnectError:
        return False


def test_its_certificate_is_renewed_while_it_serves(
    folder: CompetitionFolder,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(page_process, "_AGAIN_S", 0.1)
    files, first = new_tls(tmp_path)
    with serving(folder, files) as page:
        told = ""

        def addresses(count: int) -> list[str]:
            nonlocal told
            page.keep()
            told += capfd.readouterr().out
            lines = told.splitlines()
            return lines if len(lines) == count and told.endswith("\n") else []

        until(lambda: bool(addresses(1)), "the page answers")
        (address,) = addresses(1)
        assert address.startswith("https://")
        assert answers(address, first)
        files.key.write_text("half of a key")
        for _ in range(3):
            page.keep()
        assert answers(address, first)
        _, second = new_tls(tmp_path)
        until(lambda: bool(addresses(2)), "it has begun again")
        assert answers(addresses(2)[1], second)
        assert not answers(addresses(2)[1], first)


def test_a_key_of_another_certificate_is_refused(folder: CompetitionFolder, tmp_path: Path) -> None:
    files, _ = new_tls(tmp_path)
    files.key.write_bytes(Authority.create().server("127.0.0.1:0").key)
    with raises(
        UsageError, "key.pem", wanted="a certificate and its key, in PEM, without a password"
    ):
        PageProcess(folder, "127.0.0.1:0", files)
    files.certificate.unlink()
    with raises(UsageError, "chain.pem", "No such file"):
        PageProcess(folder, "127.0.0.1:0", files)
