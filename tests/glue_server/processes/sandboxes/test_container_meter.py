"""A container's use, by files as both versions of Linux's control groups write them."""

from __future__ import annotations

from pathlib import Path

import pytest

from glue_server.processes.sandboxes.container_meter import ContainerMeter
from glue_server.processes.sandboxes.launch import Used
from tests.waiting import until

CONTAINER = "0123abcd"
MIB = 2**20

SECOND = {
    f"system.slice/docker-{CONTAINER}.scope": {
        "cpu.stat": "usage_usec 2500000\nuser_usec 2000000\nsystem_usec 500000\n",
        "memory.peak": f"{30 * MIB}\n",
        "memory.current": f"{10 * MIB}\n",
    }
}
BEFORE_PEAK = {
    f"user.slice/libpod-{CONTAINER}.scope": {
        "cpu.stat": "usage_usec 2500000\n",
        "memory.current": f"{10 * MIB}\n",
    }
}
FIRST = {
    f"cpu/docker/{CONTAINER}": {"cpu.stat": "nr_periods 7\nnr_throttled 0\n"},
    f"cpuacct/docker/{CONTAINER}": {"cpuacct.usage": "2500000000\n"},
    f"memory/docker/{CONTAINER}": {"memory.max_usage_in_bytes": f"{30 * MIB}\n"},
    "memory/docker/another": {"memory.max_usage_in_bytes": "1\n"},
}


def write(groups: Path, files: dict[str, dict[str, str]]) -> None:
    """The groups of a machine."""
    for group, of in files.items():
        (groups / group).mkdir(parents=True, exist_ok=True)
        for name, text in of.items():
            (groups / group / name).write_text(text, encoding="ascii")


@pytest.mark.parametrize(("files", "peak"), [(SECOND, 30), (BEFORE_PEAK, 10), (FIRST, 30)])
def test_each_version_says_it(tmp_path: Path, files: dict[str, dict[str, str]], peak: int) -> None:
    write(tmp_path, files)
    with ContainerMeter(CONTAINER, tmp_path) as meter:
        assert meter.used() == Used(2.5, peak * MIB)


def test_what_was_seen_last_stays_when_the_container_is_gone(tmp_path: Path) -> None:
    with ContainerMeter(CONTAINER, tmp_path) as meter:
        assert meter.used() is None
        write(tmp_path, BEFORE_PEAK)
        until(lambda: meter.used() == Used(2.5, 10 * MIB), "it is found")
        (group,) = tmp_path.glob("user.slice/*")
        (group / "memory.current").write_text(f"{4 * MIB}\n")
        assert meter.used() == Used(2.5, 10 * MIB)  # the most that was seen
        group.rename(tmp_path / "gone")
        assert meter.used() == Used(2.5, 10 * MIB)
