"""Properties of the machine on which the bits of floating-point results depend."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
from functools import cache
from pathlib import Path

import numpy as np

_SWITCHES = ("OPENBLAS_", "MKL_", "BLIS_", "OMP_", "NPY_", "GLIBC_TUNABLES")


@cache
def machine_identity() -> dict[str, str]:
    """The processor, the C library, and NumPy with its BLAS: equal values mean equal bits.

    Two processor models count as different even if their instruction sets are equal, since
    libraries also choose their code by model.
    """
    numpy = json.dumps([np.__version__, np.show_config(mode="dicts")], sort_keys=True, default=str)
    switches = sorted(each for each in os.environ.items() if each[0].startswith(_SWITCHES))
    return {
        "processor": _processor(),
        "system": f"{platform.system()} {platform.machine()} {' '.join(platform.libc_ver())}",
        "numpy": hashlib.sha256(numpy.encode()).hexdigest(),
        "switches": json.dumps(switches),
    }


def _processor() -> str:
    """The processor's model and a digest of its instruction sets."""
    try:
        first = Path("/proc/cpuinfo").read_text().split("\n\n")[0]
    except OSError:
        return f"{platform.processor()} {platform.version()}"
    entries = dict(re.findall(r"^(\S.*?)\s*:\s*(.*)$", first, re.MULTILINE))
    names = ("vendor_id", "model name", "cpu family", "model", "stepping", "CPU part")
    flags = entries.get("flags") or entries.get("Features") or ""
    parts = [*(entries.get(name, "") for name in names), hashlib.sha256(flags.encode()).hexdigest()]
    return " ".join(filter(None, parts))
