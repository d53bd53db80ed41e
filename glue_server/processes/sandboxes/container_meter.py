"""Measures what a container uses, by its control groups on this machine."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self

from glue_server.processes.sandboxes.launch import Used

_EVERY_S = 0.5  # its groups are gone with its last process
_GROUPS = Path("/sys/fs/cgroup")


class ContainerMeter:
    """Looks at a container's groups again and again, as long as it is entered.

    Engines name a container's group after its id, in whatever hierarchy. Files: Linux's Control
    Group v2 ("CPU Interface Files", "Memory Interface Files"), and v1 (cpuacct.txt, memory.txt).
    """

    def __init__(self, container: str, groups: Path = _GROUPS) -> None:
        self._container = container
        self._root = groups
        self._groups: Sequence[Path] = ()
        self._processor_s: float | None = None
        self._peak: int | None = None  # bytes
        self._looking = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="reglue-meter", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def used(self) -> Used | None:
        """The use by now, or when it was seen last; None if it never was."""
        self._look()
        if self._processor_s is None or self._peak is None:
            return None
        return Used(self._processor_s, self._peak)

    def _watch(self) -> None:
        while not self._stop.wait(_EVERY_S):
            self._look()

    def _look(self) -> None:
        with self._looking:
            if not self._groups and self._container:
                self._groups = [
                    each for each in self._root.glob(f"**/*{self._container}*") if each.is_dir()
                ]
            processor_s = self._first(
                {"cpu.stat": _usage_s, "cpuacct.usage": lambda text: int(text) / 1e9}
            )
            peak = self._first(
                {"memory.peak": int, "memory.max_usage_in_bytes": int, "memory.current": int}
            )
            if processor_s is not None:
                self._processor_s = processor_s
            if peak is not None:
                self._peak = max(self._peak or 0, int(peak))

    def _first(self, files: dict[str, Callable[[str], float]]) -> float | None:
        """The value in the first of these files that can be read; None if none can."""
        for name, read in files.items():
            for group in self._groups:
                with contextlib.suppress(OSError, ValueError):  # gone, or of the other version
                    return read((group / name).read_text(encoding="ascii"))
        return None


def _usage_s(stat: str) -> float:
    """Raises ValueError for the first version, which says nothing of it."""
    words = dict(line.split(maxsplit=1) for line in stat.splitlines())
    if "usage_usec" not in words:
        raise ValueError("no usage_usec")
    return int(words["usage_usec"]) / 1e6
