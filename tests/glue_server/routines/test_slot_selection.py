"""A program names slots in its own order; peers are asked in ascending order."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from glue_server.routines.slot_selection import Selection


@given(st.permutations([0, 2, 3, 7]))
def test_rows_go_to_peers_by_slot_and_come_back_as_asked(slots: list[int]) -> None:
    selection = Selection.of(slots)
    assert selection.places.tolist() == [0, 2, 3, 7]
    named = np.array(slots) * 10  # each row tells its slot
    assert selection.ascending(named).tolist() == [0, 20, 30, 70]
    assert selection.named(selection.ascending(named)).tolist() == named.tolist()


def test_nobody_can_write_to_the_slots_that_peers_are_told() -> None:
    """They serve turn after turn."""
    selection = Selection.of([1, 0])
    assert not any(array.flags.writeable for array in (selection.places, selection.numbers))
