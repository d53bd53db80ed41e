"""Images of agents that teams hand in: read as data, checked, and written anew.

An archive is `docker save`'s, or an OCI archive, of a stranger. Only the image's configuration and
layers are kept, under new names: an engine sees no tag, link or path that a stranger chose.
Layouts: Docker Image Specification v1.2 ("Combined Image JSON + Filesystem Changeset Format"), and
OCI Image Layout Specification 1.0.
"""

from __future__ import annotations

import hashlib
import io
import json
import platform
import re
import tarfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from reglue.error_message import brief
from reglue_bench.results.whole_file import whole_file
from reglue_competition.images.tar_archive import TarArchive, add, copy, refuse

_MOST_LAYERS = 127  # of an image: more than that no engine's storage takes

_DIGEST = re.compile(r"sha256:([0-9a-f]{64})")
_MACHINES = {"x86_64": "amd64", "AMD64": "amd64", "aarch64": "arm64"}


@dataclass(frozen=True, slots=True)
class Image:
    """An image in an archive."""

    archive: TarArchive
    config: bytes  # its configuration, as JSON
    layers: Sequence[str]  # files of the archive
    diff_ids: Sequence[str]  # digests of the layers, unpacked

    @property
    def digest(self) -> str:
        """The name that engines give it."""
        return f"sha256:{hashlib.sha256(self.config).hexdigest()}"

    def write(self, file: Path, most_bytes: int, watcher: Callable[[int], None]) -> None:
        """Write the image as `docker load` reads it. Raises UsageError, OSError."""
        name = f"{file.stem}.json"
        layers = [f"{number}/layer.tar" for number in range(len(self.layers))]
        manifest = json.dumps([{"Config": name, "RepoTags": None, "Layers": layers}]).encode()
        done = 0
        with whole_file(file, mode=0o600) as to, tarfile.open(fileobj=to, mode="w:") as tar:
            add(tar, "manifest.json", io.BytesIO(manifest), len(manifest))
            add(tar, name, io.BytesIO(self.config), len(self.config))
            for place, layer, wanted in zip(layers, self.layers, self.diff_ids, strict=True):
                with TemporaryFile(dir=file.parent) as plain:
                    before = done

                    def told(size: int, before: int = before) -> None:
                        watcher(before + size)

                    content = self.archive.open_unpacked(layer)
                    size, digest = copy(content, plain, most_bytes - done, told)
                    if f"sha256:{digest}" != wanted:
                        refuse(f"{brief(layer)} is damaged: got {digest}, wanted {brief(wanted)}")
                    plain.seek(0)
                    add(tar, place, plain, size)
                    done += size


def image_of(archive: TarArchive) -> Image:
    """The one image of an archive, if it is for this machine. Raises UsageError."""
    config_file, layers = _by_docker(archive) if archive.has("manifest.json") else _by_oci(archive)
    config = archive.read(config_file)
    about = _mapping(_json(config), config_file)
    diff_ids = _mapping(about.get("rootfs"), "rootfs").get("diff_ids")
    ids = [_text(each, "diff_ids") for each in _sequence(diff_ids, "diff_ids")]
    if len(ids) != len(layers) or len(ids) > _MOST_LAYERS:
        refuse(f"got {len(layers)} layers, wanted {min(len(ids), _MOST_LAYERS)}")
    got = (about.get("os"), about.get("architecture"))
    wanted = ("linux", _MACHINES.get(platform.machine(), platform.machine()))
    if got != wanted:
        refuse(
            f"it is for {brief(got[0])}, {brief(got[1])}; wanted {', '.join(wanted)}: build it "
            f"with --platform {'/'.join(wanted)}"
        )
    _check_start(_mapping(about.get("config") or {}, "config"))
    return Image(archive, config, layers, ids)


def _by_docker(archive: TarArchive) -> tuple[str, list[str]]:
    """The files of configuration and layers."""
    images = _sequence(_json(archive.read("manifest.json")), "manifest.json")
    if len(images) != 1:
        refuse(f"it holds {len(images)} images, wanted one: `docker save ONE-IMAGE`")
    about = _mapping(images[0], "manifest.json")
    layers = _sequence(about.get("Layers"), "Layers")
    return _text(about.get("Config"), "Config"), [_text(each, "Layers") for each in layers]


def _by_oci(archive: TarArchive) -> tuple[str, list[str]]:
    about, depth = _mapping(_json(archive.read("index.json")), "index.json"), 0
    while "manifests" in about:
        found = [_mapping(each, "manifests") for each in _sequence(about["manifests"], "it")]
        images = [each for each in found if not _is_no_image(each)]
        if len(images) != 1 or depth > 1:
            refuse(f"it holds {len(images)} images, wanted one, for one platform")
        about, depth = _mapping(_json(archive.read(_blob(images[0]))), "a manifest"), depth + 1
    layers = _sequence(about.get("layers"), "layers")
    config = _blob(_mapping(about.get("config"), "config"))
    return config, [_blob(_mapping(each, "layers")) for each in layers]


def _check_start(about: dict[str, Any]) -> None:
    """Raise UsageError for an image that no container could be made of, or that wants disk."""
    if about.get("Volumes"):  # which could be written to without a limit
        refuse("it declares volumes: leave out VOLUME; what the agent writes goes to /tmp")
    if not (about.get("Entrypoint") or about.get("Cmd")):
        refuse("it has no command: give it CMD or ENTRYPOINT")
    if not _text(about.get("WorkingDir") or "/", "WorkingDir").startswith("/"):
        refuse(f"got the working directory {brief(about['WorkingDir'])}, wanted an absolute path")


def _blob(about: dict[str, Any]) -> str:
    """The file that a descriptor names."""
    digest = _text(about.get("digest"), "digest")
    found = _DIGEST.fullmatch(digest)
    if found is None:
        refuse(f"got the digest {brief(digest)}, wanted sha256:…")
    return f"blobs/sha256/{found[1]}"


def _is_no_image(about: dict[str, Any]) -> bool:
    """Whether a descriptor is of a builder's attestation beside an image."""
    of = about.get("platform")
    return isinstance(of, dict) and of.get("os") == "unknown"


def _json(content: bytes) -> object:
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        refuse(f"its description is no JSON: {error}")


def _mapping(value: object, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        refuse(f"{what}: got {brief(value)}, wanted an object")
    return value


def _sequence(value: object, what: str) -> list[Any]:
    if not isinstance(value, list):
        refuse(f"{what}: got {brief(value)}, wanted a list")
    return value


def _text(value: object, what: str) -> str:
    if not isinstance(value, str):
        refuse(f"{what}: got {brief(value)}, wanted a text")
    return value
