"""Computes the size of a task's messages, and so how many slots fit."""

from __future__ import annotations

from reglue.errors import UsageError
from reglue.spec import TaskSpec

HUB_MESSAGE_BYTES = 64 * 1024 * 1024
"""Largest message of a hub, either way; a larger spec × slots is refused at Init."""

_ROW_BYTES = 64  # of a row, besides its tensors


def most_slots(spec: TaskSpec, max_message_bytes: int = HUB_MESSAGE_BYTES) -> int:
    """The most slots whose largest turn and answer fit into a message."""
    seen = _ROW_BYTES + sum(tensor.row_bytes for tensor in spec.observations)
    done = _ROW_BYTES + sum(tensor.row_bytes for tensor in spec.actions)
    return max_message_bytes // max(2 * seen, done)  # a slot's end, and its next start


def check_size(spec: TaskSpec, max_message_bytes: int) -> None:
    """Raise UsageError if the fullest turn or answer would not fit into a message."""
    most = most_slots(spec, max_message_bytes)
    if spec.slots > most:
        wanted = f"at most {most}" if most else "smaller observations and actions: not one fits"
        raise UsageError(
            got=f"{spec.slots} slots",
            wanted=f"{wanted}: a message may have {max_message_bytes} bytes",
        )
