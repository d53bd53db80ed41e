"""Images of agents that teams hand in: read as data, checked, and written anew.

An archive is `docker save`'s, or an OCI archive, of a stranger. Only the image's configuration and
layers are kept, under new names: an engine sees no tag, link or path that a stranger chose.
Layouts: Docker Image Specification v1.2 ("Combined Image JSON + Filesystem Changeset Format"), and
OCI Image Layout Specification 1.0.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import logging
import platform
import posixpath
import re
import subprocess
import tarfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, NoReturn, cast

from glue_server.processes.container import container_engine
from reglue.errors import StorageFailed, UsageError, brief, printable
from reglue_bench.results.whole_file import whole_file

log = logging.getLogger("reglue")

GIB = 2**30

_CHUNK = 1 << 20  # bytes
_MOST_FILES = 10_000  # in an archive
_MOST_LAYERS = 127  # of an image: more than that no engine's storage takes
_MOST_JSON = 4 * _CHUNK  # bytes of a description
_LOAD_S = 600.0  # how long an engine may take to load an image
_REMOVE_S = 60.0

_DIGEST = re.compile(r"sha256:([0-9a-f]{64})")
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_MACHINES = {"x86_64": "amd64", "AMD64": "amd64", "aarch64": "arm64"}


def keep_image(
    source: Path,
    folder: Path,
    *,
    most_bytes: int,
    most_in_all: int,
    watcher: Callable[[int], None] = lambda _: None,
) -> str:
    """Check the archive of an image, and keep that in `folder`; its digest, `sha256:…`.

    `most_bytes` limits the image, unpacked, and `most_in_all` what the folder holds. `watcher` is
    told how many bytes of the image were read. Raises UsageError for anything else than one image
    for this machine, and StorageFailed.
    """
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        with _opened(source, folder, most_bytes) as archive:
            image = archive.image()
            file = folder / f"{image.digest.removeprefix('sha256:')}.tar"
            if not file.exists():
                left = most_in_all - sum(each.stat().st_size for each in folder.glob("*.tar"))
                _write(image, archive, file, min(most_bytes, left), watcher)
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        _refuse(f"it is no archive, or not whole: {error}")
    except OSError as error:
        raise StorageFailed(f"the image cannot be kept: {error}") from error
    return image.digest


def load_image(digest: str, archive: Path) -> None:
    """Have the engine know an image that `keep_image` has kept. Raises UsageError."""
    engine = container_engine()
    if engine is None:
        raise UsageError("there is neither docker nor podman to run an image")
    if _is_known(engine, digest):
        return
    _, said = _asked([engine, "load", "--quiet", "--input", str(archive)], _LOAD_S)
    if not _is_known(engine, digest):
        raise UsageError(f"{Path(engine).name} does not load the image {digest}: {said}")


def forget_image(digest: str) -> None:
    """Have the engine delete it, unless a container runs it."""
    if (engine := container_engine()) is None:
        return
    done, said = _asked([engine, "image", "rm", digest], _REMOVE_S)
    if not done:
        log.info("the image %s stays: %s", digest, said)


def _is_known(engine: str, digest: str) -> bool:
    done, _ = _asked([engine, "image", "inspect", digest], _REMOVE_S)
    return done


def _asked(words: Sequence[str], within_s: float) -> tuple[bool, str]:
    """Whether the engine does it, and what it says."""
    try:
        done = subprocess.run(
            words, capture_output=True, text=True, errors="replace", timeout=within_s, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return False, str(error)
    return done.returncode == 0, printable(f"{done.stdout.strip()} {done.stderr.strip()}".strip())


@dataclass(frozen=True, slots=True)
class _Image:
    """An image in an archive."""

    config: bytes  # its configuration, as JSON
    layers: Sequence[str]  # files of the archive
    diff_ids: Sequence[str]  # digests of the layers, unpacked

    @property
    def digest(self) -> str:
        """As engines name it."""
        return f"sha256:{hashlib.sha256(self.config).hexdigest()}"


class _Archive:
    """The files of a tar archive, none of which is outside of it."""

    def __init__(self, tar: tarfile.TarFile, most_bytes: int) -> None:
        """Raises UsageError."""
        self._tar = tar
        self._files: dict[str, tarfile.TarInfo] = {}
        self._links: dict[str, str] = {}
        total = 0
        for member in tar:
            name = _inside(member.name, member.name)
            if member.isdir():
                continue
            total += max(0, member.size)
            if total > most_bytes:
                _refuse(f"it holds more than {most_bytes / GIB:.3g} GiB")
            if len(self._files) + len(self._links) >= _MOST_FILES:
                _refuse(f"it holds more than {_MOST_FILES} files")
            if name in self._files or name in self._links:
                _refuse(f"{brief(name)} is in it twice")
            if member.issym():
                beside = posixpath.join(posixpath.dirname(name), member.linkname)
                self._links[name] = _inside(beside, member.name)
            elif member.islnk():
                self._links[name] = _inside(member.linkname, member.name)
            elif member.isfile():
                self._files[name] = member
            else:
                _refuse(f"{brief(name)} is neither a file nor a folder")

    def image(self) -> _Image:
        """The one image of the archive, if it is for this machine. Raises UsageError."""
        config_file, layers = self._by_docker() if self._has("manifest.json") else self._by_oci()
        config = self._read(config_file)
        about = _mapping(_json(config), config_file)
        diff_ids = _mapping(about.get("rootfs"), "rootfs").get("diff_ids")
        ids = [_text(each, "diff_ids") for each in _sequence(diff_ids, "diff_ids")]
        if len(ids) != len(layers) or len(ids) > _MOST_LAYERS:
            _refuse(f"got {len(layers)} layers, wanted {min(len(ids), _MOST_LAYERS)}")
        got = (about.get("os"), about.get("architecture"))
        wanted = ("linux", _MACHINES.get(platform.machine(), platform.machine()))
        if got != wanted:
            _refuse(
                f"it is for {brief(got[0])}, {brief(got[1])}; wanted {', '.join(wanted)}: build it "
                f"with --platform {'/'.join(wanted)}"
            )
        _check_start(_mapping(about.get("config") or {}, "config"))
        return _Image(config, layers, ids)

    def layer(self, name: str) -> IO[bytes]:
        """A layer, as it is unpacked. Raises UsageError."""
        file = self._open(name)
        begin = file.read(len(_ZSTD))
        file.seek(0)
        if begin == _ZSTD:
            _refuse("its layers are compressed by zstd, wanted gzip, or none (`docker save`)")
        return _unpacked(file) if begin.startswith(_GZIP) else file

    def _by_docker(self) -> tuple[str, list[str]]:
        """The files of configuration and layers."""
        images = _sequence(_json(self._read("manifest.json")), "manifest.json")
        if len(images) != 1:
            _refuse(f"it holds {len(images)} images, wanted one: `docker save ONE-IMAGE`")
        about = _mapping(images[0], "manifest.json")
        layers = _sequence(about.get("Layers"), "Layers")
        return _text(about.get("Config"), "Config"), [_text(each, "Layers") for each in layers]

    def _by_oci(self) -> tuple[str, list[str]]:
        about, depth = _mapping(_json(self._read("index.json")), "index.json"), 0
        while "manifests" in about:
            found = [_mapping(each, "manifests") for each in _sequence(about["manifests"], "it")]
            images = [each for each in found if not _is_no_image(each)]
            if len(images) != 1 or depth > 1:
                _refuse(f"it holds {len(images)} images, wanted one, for one platform")
            about, depth = _mapping(_json(self._read(_blob(images[0]))), "a manifest"), depth + 1
        layers = _sequence(about.get("layers"), "layers")
        config = _blob(_mapping(about.get("config"), "config"))
        return config, [_blob(_mapping(each, "layers")) for each in layers]

    def _has(self, name: str) -> bool:
        return name in self._files or name in self._links

    def _open(self, name: str) -> IO[bytes]:
        name = posixpath.normpath(name)
        member = self._files.get(self._links.get(name, name))
        file = None if member is None else self._tar.extractfile(member)
        if file is None:
            _refuse(f"{brief(name)} is missing from it: wanted the archive of `docker save`")
        return file

    def _read(self, name: str) -> bytes:
        content = self._open(name).read(_MOST_JSON + 1)
        if len(content) > _MOST_JSON:
            _refuse(f"{brief(name)} has more than {_MOST_JSON:,} bytes")
        return content


class _Sparing(io.RawIOBase):
    """A file of which nothing large is read at once, whatever a header says of its own length."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def read(self, size: int = -1) -> bytes:
        """Raises ReadError."""
        if not 0 <= size <= _MOST_JSON + 1:
            raise tarfile.ReadError("a header that is too long")
        return self._file.read(size)

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def seekable(self) -> bool:
        return True


@contextmanager
def _opened(source: Path, folder: Path, most_bytes: int) -> Iterator[_Archive]:
    """The archive, which may be compressed as a whole. Raises UsageError, OSError."""
    try:
        file = source.open("rb")
    except OSError as error:
        raise UsageError(f"{source} cannot be read: {error.strerror}") from error
    with file, TemporaryFile(dir=folder) as plain:
        begin = file.read(len(_ZSTD))
        file.seek(0)
        if begin.startswith(_GZIP):  # whose files cannot be found without unpacking all of it
            _copy(_unpacked(file), plain, most_bytes + _MOST_FILES * _CHUNK // 256)
            plain.seek(0)
        whole: Any = _Sparing(plain if begin.startswith(_GZIP) else file)
        with tarfile.open(fileobj=whole, mode="r:") as tar:
            yield _Archive(tar, most_bytes)


def _write(
    image: _Image, archive: _Archive, file: Path, most_bytes: int, watcher: Callable[[int], None]
) -> None:
    """Write the image as `docker load` reads it. Raises UsageError, OSError."""
    name = f"{file.stem}.json"
    layers = [f"{number}/layer.tar" for number in range(len(image.layers))]
    manifest = json.dumps([{"Config": name, "RepoTags": None, "Layers": layers}]).encode()
    done = 0
    with whole_file(file, mode=0o600) as written, tarfile.open(fileobj=written, mode="w:") as tar:
        _add(tar, "manifest.json", io.BytesIO(manifest), len(manifest))
        _add(tar, name, io.BytesIO(image.config), len(image.config))
        for place, layer, wanted in zip(layers, image.layers, image.diff_ids, strict=True):
            with TemporaryFile(dir=file.parent) as plain:
                before = done

                def told(size: int, before: int = before) -> None:
                    watcher(before + size)

                size, digest = _copy(archive.layer(layer), plain, most_bytes - done, told)
                if f"sha256:{digest}" != wanted:
                    _refuse(f"{brief(layer)} is damaged: got {digest}, wanted {brief(wanted)}")
                plain.seek(0)
                _add(tar, place, plain, size)
                done += size


def _copy(
    source: IO[bytes], to: IO[bytes], most: int, watcher: Callable[[int], None] = lambda _: None
) -> tuple[int, str]:
    """Copy all of it; its size and SHA-256. Raises UsageError for more than `most` bytes."""
    size, digest = 0, hashlib.sha256()
    while chunk := source.read(_CHUNK):
        size += len(chunk)
        if size > most:
            _refuse(f"it is too large, or there is no room for it: wanted {max(0, most):,} bytes")
        digest.update(chunk)
        to.write(chunk)
        watcher(size)
    return size, digest.hexdigest()


def _unpacked(file: IO[bytes]) -> IO[bytes]:
    return cast(IO[bytes], gzip.GzipFile(fileobj=file))


def _add(tar: tarfile.TarFile, name: str, content: IO[bytes], size: int) -> None:
    about = tarfile.TarInfo(name)
    about.size = size
    tar.addfile(about, content)


def _inside(path: str, name: str) -> str:
    """A path without detours. Raises UsageError if it leads out of the archive."""
    normal = posixpath.normpath(path)
    if normal.startswith("/") or normal.split("/")[0] == ".." or "\0" in normal:
        _refuse(f"{brief(name)} leads out of it")
    return normal


def _check_start(about: dict[str, Any]) -> None:
    """Raise UsageError for an image that no container could be made of, or that wants disk."""
    if about.get("Volumes"):  # which could be written to without a limit
        _refuse("it declares volumes: leave out VOLUME; what the agent writes goes to /tmp")
    if not (about.get("Entrypoint") or about.get("Cmd")):
        _refuse("it has no command: give it CMD or ENTRYPOINT")
    if not _text(about.get("WorkingDir") or "/", "WorkingDir").startswith("/"):
        _refuse(f"got the working directory {brief(about['WorkingDir'])}, wanted an absolute path")


def _blob(about: dict[str, Any]) -> str:
    """The file of what a descriptor names."""
    digest = _text(about.get("digest"), "digest")
    found = _DIGEST.fullmatch(digest)
    if found is None:
        _refuse(f"got the digest {brief(digest)}, wanted sha256:…")
    return f"blobs/sha256/{found[1]}"


def _is_no_image(about: dict[str, Any]) -> bool:
    """Whether a descriptor is of what a builder says about an image, beside it."""
    of = about.get("platform")
    return isinstance(of, dict) and of.get("os") == "unknown"


def _json(content: bytes) -> object:
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        _refuse(f"its description is no JSON: {error}")


def _mapping(value: object, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        _refuse(f"{what}: got {brief(value)}, wanted an object")
    return value


def _sequence(value: object, what: str) -> list[Any]:
    if not isinstance(value, list):
        _refuse(f"{what}: got {brief(value)}, wanted a list")
    return value


def _text(value: object, what: str) -> str:
    if not isinstance(value, str):
        _refuse(f"{what}: got {brief(value)}, wanted a text")
    return value


def _refuse(why: str) -> NoReturn:
    raise UsageError(f"the image is refused: {printable(why)}")
