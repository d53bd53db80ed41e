"""Which of our environment variables a program finds in its own."""

from __future__ import annotations

import os
from collections.abc import Iterable

from reglue.errors import UsageError

_NAMES = frozenset(
    "PATH HOME USER LOGNAME SHELL LANG LANGUAGE TZ TERM TMPDIR LD_LIBRARY_PATH LD_PRELOAD "
    "DYLD_LIBRARY_PATH VIRTUAL_ENV CONDA_PREFIX DISPLAY PYOPENGL_PLATFORM NODE_PATH SSL_CERT_FILE "
    "SSL_CERT_DIR REGLUE_LIBRARY REGLUE_LANE_DIR".split()
)
_BEGINNINGS = tuple(
    "LC_ XDG_ PYTHON CUDA NVIDIA_ NCCL_ HIP_ ROCR_ HSA_ OMP_ KMP_ GOMP_ MKL_ OPENBLAS_ NUMEXPR_ "
    "VECLIB_ BLIS_ MALLOC_ MUJOCO_ EGL_ MESA_ LIBGL_ GALLIUM_ TORCH_ PYTORCH_ TF_ XLA_ JAX_ "
    "JULIA_ GRPC_".split()
)
_SECRET = ("TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "KEY", "AUTH")


def agent_environment(passed: Iterable[str] = ()) -> dict[str, str]:
    """What of ours an agent's program is given: how the machine is set up, and `passed`.

    Never the host's secrets: variables go by a list of what programs need. Raises UsageError
    for a name in `passed` that is not set, or is the benchmark's own.
    """
    given = {name: value for name, value in os.environ.items() if _is_needed(name)}
    for name in passed:
        if name.startswith("REGLUE_"):
            raise UsageError(f"--agent-env {name}: that is the benchmark's own, wanted another")
        if name not in os.environ:
            raise UsageError(f"--agent-env {name}: that variable is not set")
        given[name] = os.environ[name]
    return given


def _is_needed(name: str) -> bool:
    if name in _NAMES:
        return True
    return name.startswith(_BEGINNINGS) and not any(word in name for word in _SECRET)
