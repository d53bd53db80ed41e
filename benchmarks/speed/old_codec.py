"""Fetches RL-Glue 3's Python codec, and ports the part that peers and programs need to Python 3.

The codec (PyPI: rlglue 2.02, Apache License 2.0, Python 2) goes into the site-packages of
the Python that runs this. Only spelling changes: nothing of it becomes faster or slower.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path

CODEC = "rlglue==2.02"


def _loader(kind: str) -> tuple[tuple[str, str], ...]:
    """Of the module that connects an agent or an environment."""
    version = (
        f'"RL-Glue Python {kind} Codec Version: "+theCodecVersion+" (Build "+theSVNVersion+")"'
    )
    where = '"\\tConnecting to " + host + " on port " + str(port) + "..."'
    done = f'"\\t {kind} Codec Connected"'
    client = f"Client{kind}"
    module = f"rlglue.{kind.lower()}.{client}"
    return (
        (f"from {client} import {client}", f"from {module} import {client}"),
        *((f"print {each}", f"print({each})") for each in (version, where, done)),
    )


_CHANGES: Mapping[str, tuple[tuple[str, str], ...]] = {
    "__init__.py": (),
    "RLGlue.py": (
        (
            'print "RL-Glue Python Experiment Codec Version: "+theCodecVersion+'
            '" (Build "+theSVNVersion+")"',
            'print("RL-Glue Python Experiment Codec Version: "+theCodecVersion+'
            '" (Build "+theSVNVersion+")")',
        ),
        (
            'print "\\tConnecting to " + host + " on port " + str(port) + "..."',
            'print("\\tConnecting to " + host + " on port " + str(port) + "...")',
        ),
    ),
    "agent/__init__.py": (),
    "agent/AgentLoader.py": _loader("Agent"),
    "agent/ClientAgent.py": (),
    "environment/__init__.py": (),
    "environment/ClientEnvironment.py": (),
    "environment/EnvironmentLoader.py": _loader("Environment"),
    "network/__init__.py": (),
    "network/Network.py": (
        ("import StringIO", "import io"),
        ("StringIO.StringIO('')", "io.BytesIO()"),
        ("StringIO.StringIO()", "io.BytesIO()"),
        ("except socket.error, msg:", "except socket.error:"),
        ("s = ''", "s = b''"),
        ("return self.recvBuffer.read(length)", "return self.recvBuffer.read(length).decode()"),
        ("self.sendBuffer.write(value)", "self.sendBuffer.write(value.encode())"),
    ),
    "types.py": (),
    "versions.py": (),
}
"""Replacements in each file; every first part must be there."""


def main() -> None:
    """Fetch, convert, install."""
    target = Path(sysconfig.get_path("purelib"), "rlglue")
    with tempfile.TemporaryDirectory() as folder:
        source = _fetch(Path(folder))
        for name, changes in _CHANGES.items():
            path = target / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(_converted((source / name).read_text(), changes), encoding="utf-8")


def _fetch(folder: Path) -> Path:
    """The codec's package, unpacked."""
    pip = [sys.executable, "-m", "pip", "--quiet", "download", "--no-deps"]
    subprocess.run([*pip, "--no-binary", ":all:", "--dest", folder, CODEC], check=True)
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    return folder / archive.name.removesuffix(".tar.gz") / "rlglue"


def _converted(source: str, changes: tuple[tuple[str, str], ...]) -> str:
    """Python 3 of a file; its tabs, which it mixes with spaces, are eight wide."""
    source = source.expandtabs(8)
    for before, after in changes:
        if before not in source:
            raise SystemExit(f"{CODEC} is not what was expected: it lacks {before!r}")
        source = source.replace(before, after)
    return source


if __name__ == "__main__":
    main()
