"""Images that this machine's container engine knows."""

from __future__ import annotations

import logging
import subprocess
from collections.abc import Sequence
from pathlib import Path

from glue_server.processes.sandboxes.container import container_engine
from reglue.error_message import printable
from reglue.errors import UsageError

log = logging.getLogger("reglue")

_LOAD_S = 600.0  # how long an engine may take to load an image
_REMOVE_S = 60.0


def load_image(digest: str, archive: Path) -> None:
    """Have the engine know an image that `keep_archive` has kept. Raises UsageError."""
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


def image_digest(name: str) -> str | None:
    """The digest of the image that the engine has by that name; None if it has none."""
    if (engine := container_engine()) is None:
        return None
    done, said = _asked([engine, "image", "inspect", "--format", "{{.Id}}", name], _REMOVE_S)
    return said if done else None


def _is_known(engine: str, digest: str) -> bool:
    done, _ = _asked([engine, "image", "inspect", digest], _REMOVE_S)
    return done


def _asked(words: Sequence[str], within_s: float) -> tuple[bool, str]:
    """True if the engine did it, and its output."""
    try:
        done = subprocess.run(
            words, capture_output=True, text=True, errors="replace", timeout=within_s, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return False, str(error)
    return done.returncode == 0, printable(f"{done.stdout.strip()} {done.stderr.strip()}".strip())
