"""The archive that is made of an agent in Python and the files beside it."""

from __future__ import annotations

import os
import tarfile
from pathlib import Path

import pytest

from reglue.errors import UsageError
from reglue.net import project_archive
from reglue.net.project_archive import archive_of


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder as people have them."""
    folder = tmp_path / "my-agent"
    for name, content in {
        "agent.py": "agent",
        "parts/weights": "weights",
        "reglue.txt": "of.py:Another",
        ".git/config": "secret",
        ".env": "secret",
        "__pycache__/agent.pyc": "compiled",
        "parts/__pycache__/x.pyc": "compiled",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    return folder


def files(named: str) -> dict[str, str]:
    """The contents of the archive."""
    with archive_of(named) as made, tarfile.open(made.archive, "r:gz") as tar:
        found = {member.name: tar.extractfile(member) for member in tar}
        return {name: file.read().decode() for name, file in found.items() if file}


def test_it_holds_the_files_beside_the_agent_and_its_name(project: Path) -> None:
    held = {
        "reglue.txt": "agent.py:MyAgent\n",
        "agent.py": "agent",
        "parts/weights": "weights",
    }
    assert files(f"{project}/agent.py:MyAgent") == held


def test_it_is_the_same_to_the_bit_whenever_and_wherever_it_is_made(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So a transfer that broke off goes on by the same command."""
    with archive_of(f"{project}/agent.py:MyAgent") as made:
        first = made.archive.read_bytes()
    assert not made.archive.exists()
    os.utime(project / "agent.py", (0, 1000))
    (project / "agent.py").chmod(0o600)
    project.rename(tmp_path / "moved")
    monkeypatch.chdir(tmp_path / "moved")
    with archive_of("agent.py:MyAgent") as made:
        assert made.archive.read_bytes() == first
        assert made.about == f"the 3 files of {tmp_path / 'moved'}"


def test_a_file_is_sent_as_it_is(tmp_path: Path) -> None:
    with archive_of(str(tmp_path / "agent.tar")) as made:
        assert (made.archive, made.about) == (tmp_path / "agent.tar", "")


def test_what_cannot_be_packed_is_said(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UsageError, match="there is no such file"), archive_of("none.py:A"):
        pass
    for named in (f"{project}/agent.py", str(project)):
        wanted = f"got {named}, wanted an archive, or FILE.py:CLASS of the agent"
        with pytest.raises(UsageError, match=wanted), archive_of(named):
            pass
    (project / "data").symlink_to(tmp_path)
    with pytest.raises(UsageError, match="data is a link to a folder"):
        files(f"{project}/agent.py:MyAgent")
    (project / "data").unlink()
    monkeypatch.setattr(project_archive, "_MOST_FILES", 2)
    with pytest.raises(UsageError, match="more than 2 files: give the agent a folder of its own"):
        files(f"{project}/agent.py:MyAgent")


def test_a_link_to_a_file_is_sent_as_the_file(project: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("large")
    (project / "weights").symlink_to(tmp_path / "elsewhere")
    assert files(f"{project}/agent.py:MyAgent")["weights"] == "large"
