"""Where our ways around Meta-World's own code are known to equal it, to the bit.

Goals without resets, task sets written out, resets without settling, shared models and
environments, and the fast step: tests compare each with the plain way, for the versions in
PROVED and the sources whose digest is SOURCES. With any other version or source, also a
changed line, every one of them is off and metaworld's own code plays.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from env_adapters.metaworld.library import version
from reglue.errors import MissingExtra

VERIFIED = {"metaworld": "3.1.1", "mujoco": "3.3.0"}

SOURCES = "5d30f400ef6afd1c4fffe8b41bd149b3010688acc8a0d6cf47c18bed1e885210"
"""SHA-256 of what `sources` lists; see `digest`."""

_log = logging.getLogger("reglue")


@cache
def is_verified() -> bool:
    """Whether the installed versions and sources are the proved ones.

    Loads neither metaworld nor MuJoCo. Takes about 15 ms, once a process. Raises MissingExtra
    where a package is listed as installed and cannot be found.
    """
    if {package: version(package) for package in VERIFIED} != VERIFIED:
        return False
    return digest() == SOURCES


@cache
def warn_if_unverified() -> None:
    """Say once that everything is played plainly, where it is: it takes longer."""
    if version("metaworld") != "none" and not is_verified():
        _log.warning(
            "Meta-World is played without shortcuts: the same numbers, but slower. Installed: "
            "metaworld %s, mujoco %s; the shortcuts were tested with metaworld %s, mujoco %s and "
            "Gymnasium 1.4.0, their files unchanged",
            *map(version, VERIFIED),
            *VERIFIED.values(),
        )


def digest() -> str:
    """Of the content of all that `sources` lists."""
    found = hashlib.sha256()
    for path in sources():
        found.update(hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()


def sources() -> Iterator[Path]:
    """Metaworld's programs and models, and the class of Gymnasium's that they derive from."""
    root = _folder("metaworld")
    yield from sorted(path for path in root.rglob("*") if path.suffix in (".py", ".xml"))
    yield _folder("gymnasium") / "envs" / "mujoco" / "mujoco_env.py"


def _folder(package: str) -> Path:
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise MissingExtra("Meta-World", "metaworld", f"the package {package}")
    return Path(spec.origin).parent
