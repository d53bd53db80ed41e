"""`make scaling`: measures how a run scales; writes RESULTS.md and results.svg."""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from typing import Any

from speed.launches import Scale, run
from speed.results import machine
from speed.scaling import cluster
from speed.scaling.scaling_page import draw, page

HERE = Path(__file__).parent
SAMPLES = HERE.parents[2] / "build/speed/scaling.json"

COORDINATOR = (  # shards at once, runs, episodes of a run, steps of an episode
    (2, 200, 200, 1),
    (2, 200, 200, 100),
    (256, 600, 60, 1),
    (2, 10000, 1, 1),
    (256, 10000, 1, 1),
)


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=PARTS, help="measure one part, and keep the others")
    parser.add_argument("--quick", action="store_true", help="a smoke run, which writes nothing")
    parser.add_argument("--render", action="store_true", help="write the page and plot again")
    arguments = parser.parse_args()
    results = json.loads(SAMPLES.read_text(encoding="utf-8")) if SAMPLES.exists() else {}
    if not arguments.render:
        if results.get("stood_on") != (machine := _stood_on()):
            results = {"stood_on": machine}
        for part in [arguments.only] if arguments.only else PARTS:
            results[part] = _measured(part, Scale(quick=arguments.quick))
    if arguments.quick:
        print(json.dumps(results, indent=1))
        return
    SAMPLES.parent.mkdir(parents=True, exist_ok=True)
    SAMPLES.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    if results.keys() >= PARTS.keys():
        (HERE / "RESULTS.md").write_text(page(results), encoding="utf-8")
        draw(results, HERE / "results.svg")


def _stood_on() -> dict[str, str]:
    """The machine and versions; parts that were measured on others are not kept."""
    packages = ("reglue", "ray", "numpy", "SQLAlchemy")
    return machine() | {name: version(name) for name in packages}


def _measured(part: str, scale: Scale) -> dict[str, Any]:
    """The results of a part, their date, and the machine's load by other work before."""
    about = {"date": time.strftime("%Y-%m-%d"), "load": round(os.getloadavg()[0], 1)}
    return about | {"found": PARTS[part](scale)}


def _coordinator(scale: Scale) -> list[dict[str, Any]]:
    """The coordinator's costs for each shape, each round in a process of its own."""
    measured: list[dict[str, Any]] = [
        {**dict(zip(("shards", "runs", "episodes", "steps"), each, strict=True)), "rounds": []}
        for each in COORDINATOR[: scale.of(len(COORDINATOR), 1)]
    ]
    for turn in range(scale.rounds(3)):
        for shape, each in zip(COORDINATOR, measured, strict=False):
            _watch(f"coordinator {shape}, {turn + 1}")
            ran = run("speed.scaling.coordinator", *map(str, shape))
            each["rounds"].append(ran.found)
    return measured


def _watch(what: str) -> None:
    print(time.strftime("%H:%M:%S"), what, flush=True)


PARTS: Mapping[str, Callable[[Scale], Any]] = MappingProxyType(
    {
        "coordinator": _coordinator,
        "ray": lambda scale: cluster.cpu_s_of_a_row(scale, _watch),
        "nodes": lambda scale: cluster.seconds_by_nodes(scale, _watch),
    }
)


if __name__ == "__main__":
    main()
