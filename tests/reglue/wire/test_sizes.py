"""The number of slots that fit into a message."""

from __future__ import annotations

from reglue import TaskSpec, TensorSpec
from reglue.errors import UsageError
from reglue.wire.sizes import HUB_MESSAGE_BYTES, check_size, most_slots
from tests.error_facts import raises

ACTION = (TensorSpec("action", "uint8", (1,)),)


def test_as_many_slots_as_fit_pass_and_one_more_is_told_how_many() -> None:
    spec = TaskSpec((TensorSpec("image", "uint8", (1600, 1600, 3)),), ACTION)
    most = most_slots(spec)
    assert most == 4  # a turn has two observations of a slot that ends and starts
    check_size(spec.with_slots(most), HUB_MESSAGE_BYTES)
    with raises(UsageError, "at most 4", got="5 slots"):
        check_size(spec.with_slots(most + 1), HUB_MESSAGE_BYTES)


def test_a_task_of_which_not_one_slot_fits_is_told_so() -> None:
    spec = TaskSpec((TensorSpec("image", "uint8", (2**26,)),), ACTION)
    with raises(UsageError, "observations", "actions", got="1 slots"):
        check_size(spec, HUB_MESSAGE_BYTES)
