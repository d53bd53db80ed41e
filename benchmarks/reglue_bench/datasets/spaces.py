"""Where a TaskSpec's tensors stand in a dataset, and the spaces that say so."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from reglue.spec import TensorSpec
from reglue_bench.datasets.source import Place


def places(tensors: Sequence[TensorSpec]) -> dict[str, Place]:
    """The place of each tensor, by name.

    `robot/arm` is entry `arm` of the Dict `robot`, as in Gymnasium's spaces. Where that cannot be
    (a tensor is called `robot`, too), the dataset's Dict is flat, with dots for the slashes.
    """
    if len(tensors) == 1:
        return {tensors[0].name: ()}
    nested = {tensor.name: tuple(tensor.name.split("/")) for tensor in tensors}
    folders = {place[:depth] for place in nested.values() for depth in range(1, len(place))}
    keys = [key for place in nested.values() for key in place]
    if folders.isdisjoint(nested.values()) and all(key not in {"", "."} for key in keys):
        return nested
    flat = {name: name.replace("/", ".").strip(".") or "_" for name in nested}
    if len(set(flat.values())) < len(flat):
        flat = {name: f"tensor_{number}" for number, name in enumerate(nested)}
    return {name: (key,) for name, key in flat.items()}


def space_json(tensors: Sequence[TensorSpec]) -> str:
    """The space of the tensors, as Minari writes it."""
    from minari.serialization import serialize_space

    from reglue.gymnasium.tensor_spaces import space_of

    at = places(tensors)
    return json.dumps(
        _joined(
            {at[each.name]: serialize_space(space_of((each,)), to_string=False) for each in tensors}
        )
    )


def _joined(spaces: Mapping[Place, Any]) -> Any:
    if () in spaces:
        return spaces[()]
    names = dict.fromkeys(place[0] for place in spaces)
    inner = {
        name: _joined({place[1:]: each for place, each in spaces.items() if place[0] == name})
        for name in names
    }
    return {"type": "Dict", "subspaces": inner}
