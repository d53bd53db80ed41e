"""The code of a run's environments, by its digest."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from reglue_bench.benchmark.benchmark import suite_of
from reglue_bench.plans.plan import Plan
from reglue_bench.runs.trust import foreign_suite
from reglue_bench.settings import Settings

_MODULE = re.compile(r"(\w+)[\w.]*:\w+")  # module:factory


def code_sha256(plan: Plan, settings: Settings) -> str:
    """SHA-256, hexadecimal, of the code of a plan's environments; empty if all are Reglue's.

    Of the Python files that they are in, or of all in the packages that their modules are of; not
    of what these import or read.
    """
    files = {*suite_of(plan, settings).files(), *_modules_files(plan)}
    if not files:
        return ""
    # By content alone: they lie in other folders elsewhere.
    digests = sorted(hashlib.sha256(file.read_bytes()).digest() for file in files)
    return hashlib.sha256(b"".join(digests)).hexdigest()


def _modules_files(plan: Plan) -> Iterator[Path]:
    for name in foreign_suite(plan.to_json()):
        match = _MODULE.fullmatch(name)
        spec = None
        if match:
            with suppress(ValueError):  # the program itself
                spec = find_spec(match[1])
        if spec is None:
            continue
        for folder in spec.submodule_search_locations or ():
            yield from Path(folder).rglob("*.py")
        if not spec.submodule_search_locations and spec.origin is not None:
            yield Path(spec.origin)
