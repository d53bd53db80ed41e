"""Archives of projects from strangers: what is kept of them, and what is refused."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from reglue.errors import UsageError
from reglue_competition.images import GIB, is_project, keep_archive, kept_file, unpack_project
from tests.reglue_competition.images.test_image import Made, tar

PROJECT = {"reglue.txt": b"agent.py:MyAgent\n", "agent.py": b"agent", "more/weights": b"\0\1"}

Keep = Callable[..., str]


@pytest.fixture
def keep(tmp_path: Path) -> Keep:
    """Keeps an archive in the folder `images`."""

    def kept(
        archive: bytes, *, most_bytes: int = GIB, most_in_all: int = GIB, takes: bool = True
    ) -> str:
        file = tmp_path / "archive.tar"
        file.write_bytes(archive)
        folder = tmp_path / "images"
        folder.mkdir(exist_ok=True)
        before = [*folder.iterdir()]
        try:
            return keep_archive(
                file,
                folder,
                most_bytes=most_bytes,
                most_in_all=most_in_all,
                takes_projects=takes,
            )
        except UsageError:
            assert [*folder.iterdir()] == before  # nothing of what is refused
            raise

    return kept


def with_member(name: str, **about: object) -> bytes:
    """The project with one member more, which is no usual file."""
    buffer = io.BytesIO(tar(PROJECT))
    with tarfile.open(fileobj=buffer, mode="a:") as added:
        member = tarfile.TarInfo(name)
        for key, value in about.items():
            setattr(member, key, value)
        added.addfile(member)
    return buffer.getvalue()


def unpacked(folder: Path, digest: str) -> dict[str, bytes]:
    """The files of a project that was kept."""
    to = folder / "project"
    assert unpack_project(kept_file(folder / "images", digest), to) == "agent.py:MyAgent"
    files = [each for each in to.rglob("*") if each.is_file()]
    return {str(each.relative_to(to)): each.read_bytes() for each in files}


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_the_files_of_a_project_are_kept(
    keep: Keep, tmp_path: Path, pack: Callable[[bytes], bytes]
) -> None:
    digest = keep(pack(tar(PROJECT)))
    assert is_project(digest)
    assert kept_file(tmp_path / "images", digest).stat().st_mode & 0o777 == 0o600
    assert unpacked(tmp_path, digest) == PROJECT
    assert unpacked(tmp_path, digest) == PROJECT  # what a killed process has left is replaced


def test_a_digest_is_of_names_and_contents_alone(keep: Keep, tmp_path: Path) -> None:
    folder = tmp_path / "my-agent"
    for name, content in PROJECT.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    (folder / "agent.py").chmod(0o700)
    with tarfile.open(tmp_path / "by-hand.tgz", "w:gz") as by_hand:  # as tar czf … -C my-agent .
        by_hand.add(folder, ".")
    digest = keep((tmp_path / "by-hand.tgz").read_bytes())
    assert digest == keep(tar(PROJECT))
    assert digest != keep(tar(PROJECT | {"agent.py": b"another"}))
    assert digest != keep(tar(PROJECT | {"b.py": b""}))
    assert len([*(tmp_path / "images").iterdir()]) == 3


def test_every_user_may_read_what_is_unpacked(keep: Keep, tmp_path: Path) -> None:
    digest = keep(tar(PROJECT))
    unpacked(tmp_path, digest)
    modes = {each.stat().st_mode & 0o777 for each in (tmp_path / "project").rglob("*")}
    assert modes == {0o755, 0o644}


def test_a_project_that_is_gone_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"the project cannot be unpacked: .*No such file"):
        unpack_project(tmp_path / "none.tar", tmp_path / "project")


WRONG: dict[str, tuple[Callable[[], bytes], str]] = {
    "no name of an agent": (
        lambda: tar({"agent.py": b""}),
        "no project with reglue.txt",
    ),
    "in a folder": (lambda: tar({"a/reglue.txt": b"agent.py:A"}), "no project with reglue.txt"),
    "no file of the agent": (lambda: tar({"reglue.txt": b"agent.py:A"}), "wanted one line FILE.py"),
    "a module": (lambda: tar(PROJECT | {"reglue.txt": b"os:system"}), "wanted one line FILE.py"),
    "an option with a file": (
        lambda: tar(PROJECT | {"reglue.txt": b"-P.py:A", "-P.py": b""}),
        "got '-P.py:A', wanted one line",
    ),
    "two lines": (
        lambda: tar(PROJECT | {"reglue.txt": b"agent.py:A\nagent.py:B"}),
        "wanted one line FILE.py:CLASS",
    ),
    "an option": (
        lambda: tar(PROJECT | {"reglue.txt": b"--help"}),
        "got '--help', wanted",
    ),
    "a long name of the agent": (
        lambda: tar(PROJECT | {"reglue.txt": bytes(5 << 20)}),
        "has more than",
    ),
    "out of it": (lambda: with_member("../agent.py"), "leads out of it"),
    "an absolute path": (lambda: with_member("/etc/passwd"), "leads out of it"),
    "a link": (
        lambda: with_member("key", type=tarfile.SYMTYPE, linkname="agent.py"),
        "'key' is a link, wanted files",
    ),
    "a link out of it": (
        lambda: with_member("key", type=tarfile.SYMTYPE, linkname="/etc/shadow"),
        "leads out of it",
    ),
    "a hard link": (
        lambda: with_member("key", type=tarfile.LNKTYPE, linkname="agent.py"),
        "'key' is a link, wanted files",
    ),
    "a device": (lambda: with_member("tty", type=tarfile.CHRTYPE), "neither a file nor a folder"),
    "twice": (lambda: with_member("./agent.py"), "is in it twice"),
    "a file in a file": (lambda: with_member("agent.py/x"), "is in a file, wanted in a folder"),
    "a long name": (lambda: with_member("x" * 300), "wanted 200 characters of ASCII at most"),
    "a name of two lines": (lambda: with_member("a\nb"), "wanted 200 characters of ASCII at most"),
    "no archive": (lambda: b"print()", "it is no archive, or not whole"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_no_project_is_refused_by_name(keep: Keep, what: str) -> None:
    make, words = WRONG[what]
    with pytest.raises(UsageError) as error:
        keep(make())
    assert "the archive is refused: " in str(error.value)
    assert words in str(error.value)


def test_a_project_has_the_limits_of_an_image(keep: Keep) -> None:
    large = PROJECT | {"weights": bytes(1 << 20)}
    with pytest.raises(UsageError, match=r"it holds more than|it is too large"):
        keep(gzip.compress(tar(large)), most_bytes=1 << 20)
    with pytest.raises(UsageError, match="there is no room for it: wanted 1,000 bytes"):
        keep(tar(large), most_in_all=1000)


def test_a_competition_of_images_takes_no_projects(keep: Keep) -> None:
    with pytest.raises(UsageError, match=r"plays images alone \(`docker save`\)"):
        keep(tar(PROJECT), takes=False)
    with pytest.raises(UsageError, match=r"it holds no image, as `docker save` writes it$"):
        keep(tar({"agent.py": b""}), takes=False)
    assert not is_project(keep(tar(Made().saved()), takes=False))
