"""Whether the gripper holds an object, from MuJoCo's contacts as arrays."""

from __future__ import annotations

from typing import Any


def touches_both(data: Any, pads: tuple[int, int], thing: int) -> bool:
    """`SawyerXYZEnv.touching_object`: both pads press on the geom `thing`.

    `data` is an MjData, pads and thing are ids of geoms.
    """
    contact = data.contact
    pairs, places = contact.geom.tolist(), contact.efc_address.tolist()
    return all(
        sum(
            data.efc_force[place]
            for pair, place in zip(pairs, places, strict=True)
            if pad in pair and thing in pair
        )
        > 0
        for pad in pads
    )
