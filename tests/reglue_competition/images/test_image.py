"""Archives of images from strangers: what is kept of them, and what is refused."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import platform
import tarfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from reglue.errors import UsageError
from reglue_competition.images import GIB, keep_archive

ARCHITECTURE = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), "amd64")

Files = dict[str, bytes]


def tar(files: Files) -> bytes:
    """An archive of files."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:") as written:
        for name, content in files.items():
            about = tarfile.TarInfo(name)
            about.size = len(content)
            written.addfile(about, io.BytesIO(content))
    return buffer.getvalue()


def sha256(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


@dataclass
class Made:
    """An image that a team made, and how it may be packed."""

    layers: list[bytes] = field(
        default_factory=lambda: [tar({"agent": b"an agent"}), tar({"more": b"more"})]
    )
    about: dict[str, Any] = field(default_factory=dict)  # instead of what is right
    tags: list[str] = field(default_factory=lambda: ["reglue:latest"])

    @property
    def config(self) -> bytes:
        ids = [sha256(layer) for layer in self.layers]
        right = {"os": "linux", "architecture": ARCHITECTURE, "rootfs": {"diff_ids": ids}}
        right |= {"config": {"Cmd": ["agent"]}}
        return json.dumps(right | self.about).encode()

    def saved(self, pack: Callable[[bytes], bytes] = bytes) -> Files:
        """As `docker save` packs it."""
        layers = {f"{number}/layer.tar": pack(each) for number, each in enumerate(self.layers)}
        manifest = [{"Config": "config.json", "RepoTags": self.tags, "Layers": [*layers]}]
        return {
            "repositories": b"{}",
            "manifest.json": json.dumps(manifest).encode(),
            "config.json": self.config,
            **layers,
        }

    def oci(self) -> Files:
        """As an OCI archive, with what a builder says about it beside it."""
        blobs = [self.config, *(gzip.compress(each) for each in self.layers)]
        config, *layers = [{"digest": sha256(each)} for each in blobs]
        manifest = json.dumps({"config": config, "layers": layers}).encode()
        beside = {"digest": sha256(b"{}"), "platform": {"os": "unknown"}}
        index = {"manifests": [{"digest": sha256(manifest)}, beside]}
        found = {f"blobs/{sha256(each).replace(':', '/')}": each for each in [*blobs, manifest]}
        return {"index.json": json.dumps(index).encode(), "oci-layout": b"{}", **found}


@pytest.fixture
def keep(tmp_path: Path) -> Callable[..., str]:
    """Keeps an archive in the folder `images`."""

    def kept(archive: bytes, most_bytes: int = GIB, most_in_all: int = GIB) -> str:
        file = tmp_path / "archive.tar"
        file.write_bytes(archive)
        folder = tmp_path / "images"
        try:
            return keep_archive(
                file,
                folder,
                most_bytes=most_bytes,
                most_in_all=most_in_all,
                takes_projects=False,
            )
        except UsageError:
            assert not list(folder.iterdir())  # nothing of what is refused
            raise

    return kept


Keep = Callable[..., str]


def content(folder: Path) -> dict[str, bytes]:
    """The contents of the one archive in `images`."""
    (file,) = (folder / "images").iterdir()
    with tarfile.open(file) as kept:
        assert all(member.isreg() for member in kept)
        found = {member.name: kept.extractfile(member) for member in kept}
        return {name: file.read() for name, file in found.items() if file is not None}


@pytest.mark.parametrize("form", ["saved", "compressed", "layers compressed", "oci"])
def test_configuration_and_layers_alone_are_kept(keep: Keep, tmp_path: Path, form: str) -> None:
    made = Made()
    archive = {
        "saved": lambda: tar(made.saved()),
        "compressed": lambda: gzip.compress(tar(made.saved())),
        "layers compressed": lambda: tar(made.saved(gzip.compress)),
        "oci": lambda: tar(made.oci()),
    }[form]()
    digest = keep(archive)
    assert digest == sha256(made.config)
    name = f"{digest.removeprefix('sha256:')}.json"
    found = content(tmp_path)
    (manifest,) = json.loads(found.pop("manifest.json"))
    assert manifest == {"Config": name, "RepoTags": None, "Layers": ["0/layer.tar", "1/layer.tar"]}
    assert found == {
        name: made.config,
        **{f"{number}/layer.tar": each for number, each in enumerate(made.layers)},
    }


def test_the_same_image_is_kept_once(keep: Keep, tmp_path: Path) -> None:
    assert keep(tar(Made().saved())) == keep(gzip.compress(tar(Made(tags=[]).saved())))
    assert len([*(tmp_path / "images").iterdir()]) == 1


def test_a_layer_may_be_a_link_to_another_within(keep: Keep, tmp_path: Path) -> None:
    """So `docker save` of old packs layers that are equal."""
    made = Made(layers=[tar({"a": b"a"})] * 2)
    files = made.saved()
    del files["1/layer.tar"]
    buffer = io.BytesIO(tar(files))
    with tarfile.open(fileobj=buffer, mode="a:") as written:
        link = tarfile.TarInfo("1/layer.tar")
        link.type, link.linkname = tarfile.SYMTYPE, "../0/layer.tar"
        written.addfile(link)
    keep(buffer.getvalue())
    assert content(tmp_path)["1/layer.tar"] == made.layers[0]


def with_member(kind: bytes, name: str, linkname: str = "") -> bytes:
    """An image's archive, with something else in it."""
    buffer = io.BytesIO(tar(Made().saved()))
    with tarfile.open(fileobj=buffer, mode="a:") as written:
        about = tarfile.TarInfo(name)
        about.type, about.linkname = kind, linkname
        written.addfile(about)
    return buffer.getvalue()


def without(name: str) -> bytes:
    files = Made().saved()
    del files[name]
    return tar(files)


def changed(name: str, to: bytes) -> bytes:
    return tar(Made().saved() | {name: to})


def two() -> bytes:
    files = Made().saved()
    files["manifest.json"] = json.dumps(2 * json.loads(files["manifest.json"])).encode()
    return tar(files)


def long_header() -> bytes:
    """Of an extended header that claims to be as long as a memory."""
    about = tarfile.TarInfo("././@PaxHeader")
    about.type, about.size = tarfile.XHDTYPE, 1 << 40
    return about.tobuf(tarfile.GNU_FORMAT)


WRONG: dict[str, tuple[Callable[[], bytes], str]] = {
    "no archive": (lambda: b"#!/bin/sh\nexit\n" * 100, "it is no archive, or not whole"),
    "nothing": (lambda: b"", "it is no archive, or not whole"),
    "half an upload": (lambda: tar(Made().saved())[:3000], "it is no archive, or not whole"),
    "half a compressed one": (
        lambda: gzip.compress(tar(Made().saved()))[:300],
        "it is no archive, or not whole",
    ),
    "a path upwards": (lambda: with_member(tarfile.REGTYPE, "../x"), "leads out of it"),
    "an absolute path": (lambda: with_member(tarfile.REGTYPE, "/x"), "leads out of it"),
    "a link out": (lambda: with_member(tarfile.SYMTYPE, "x", "../../etc/shadow"), "leads out"),
    "an absolute link": (lambda: with_member(tarfile.SYMTYPE, "x", "/etc/shadow"), "leads out"),
    "a hard link out": (lambda: with_member(tarfile.LNKTYPE, "x", "../x"), "leads out of it"),
    "a device": (lambda: with_member(tarfile.CHRTYPE, "null"), "neither a file nor a folder"),
    "a pipe": (lambda: with_member(tarfile.FIFOTYPE, "pipe"), "neither a file nor a folder"),
    "a file twice": (lambda: with_member(tarfile.REGTYPE, "config.json"), "is in it twice"),
    "a long header": (long_header, "a header that is too long"),
    "no manifest": (
        lambda: without("manifest.json"),
        "it holds no image, as `docker save`",
    ),
    "no layer": (lambda: without("1/layer.tar"), "'1/layer.tar' is missing from it"),
    "two images": (two, "it holds 2 images, wanted one"),
    "a link to itself": (
        lambda: changed("manifest.json", b'[{"Config": "x", "Layers": []}]'),
        "'x' is missing from it",
    ),
    "no JSON": (lambda: changed("manifest.json", b"["), "its description is no JSON"),
    "deep JSON": (lambda: changed("manifest.json", b"[" * 100_000), "is no JSON"),
    "other JSON": (lambda: changed("manifest.json", b'{"a": 1}'), "wanted a list"),
    "large JSON": (lambda: changed("manifest.json", b" " * (5 << 20)), "4,194,304 bytes"),
    "a changed layer": (lambda: changed("0/layer.tar", tar({"x": b""})), "is damaged"),
    "a layer by zstd": (
        lambda: changed("0/layer.tar", b"\x28\xb5\x2f\xfd" + bytes(100)),
        "compressed by zstd, wanted gzip",
    ),
    "another machine": (
        lambda: tar(Made(about={"architecture": "s390x"}).saved()),
        "it is for 'linux', 's390x'; wanted linux",
    ),
    "another system": (lambda: tar(Made(about={"os": "windows"}).saved()), "for 'windows'"),
    "volumes": (
        lambda: tar(Made(about={"config": {"Cmd": ["x"], "Volumes": {"/x": {}}}}).saved()),
        "it declares volumes: leave out VOLUME",
    ),
    "no command": (lambda: tar(Made(about={"config": None}).saved()), "give it CMD or ENTRYPOINT"),
    "a relative folder": (
        lambda: tar(Made(about={"config": {"Cmd": ["x"], "WorkingDir": "x"}}).saved()),
        "got the working directory 'x', wanted an absolute path",
    ),
    "no layers": (lambda: tar(Made(about={"rootfs": {}}).saved()), "wanted a list"),
    "a digest with a path": (
        lambda: tar(
            {
                "index.json": b'{"manifests": [{"digest": "sha256:../../x"}]}',
            }
        ),
        "wanted sha256:",
    ),
    "itself for ever": (
        lambda: tar(
            {
                "index.json": json.dumps({"manifests": [{"digest": sha256(b"x")}]}).encode(),
                f"blobs/{sha256(b'x').replace(':', '/')}": json.dumps(
                    {"manifests": [{"digest": sha256(b"x")}]}
                ).encode(),
            }
        ),
        "it holds 1 images, wanted one, for one platform",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_no_image_is_refused_by_name(keep: Keep, what: str) -> None:
    make, words = WRONG[what]
    with pytest.raises(UsageError) as error:
        keep(make())
    assert "the archive is refused: " in str(error.value)
    assert words in str(error.value)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_an_image_is_unpacked_up_to_its_limit(keep: Keep, pack: Callable[[bytes], bytes]) -> None:
    """A hundred megabytes of nothing are a hundred kilobytes."""
    made = Made(layers=[tar({"zeros": bytes(100 << 20)})])
    with pytest.raises(UsageError, match=r"it is too large|it holds more than"):
        keep(tar(made.saved(pack)), most_bytes=10 << 20)
    with pytest.raises(UsageError, match=r"it is too large|it holds more than"):
        keep(gzip.compress(tar(made.saved(pack))), most_bytes=10 << 20)


def test_all_images_have_a_limit_together(keep: Keep, tmp_path: Path) -> None:
    keep(tar(Made().saved()))
    other = Made(layers=[tar({"other": bytes(50_000)})])
    with pytest.raises(UsageError, match="no room for it"):
        keep_archive(
            _file(tmp_path, tar(other.saved())),
            tmp_path / "images",
            most_bytes=GIB,
            most_in_all=60_000,
            takes_projects=False,
        )
    assert len([*(tmp_path / "images").iterdir()]) == 1


def _file(folder: Path, content: bytes) -> Path:
    file = folder / "other.tar"
    file.write_bytes(content)
    return file


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        keep_archive(
            tmp_path / "none",
            tmp_path / "images",
            most_bytes=1,
            most_in_all=1,
            takes_projects=False,
        )
