"""Every dtype, shape and domain."""

from __future__ import annotations

from functools import partial

from glue_server.conformance.harness import Harness
from glue_server.conformance.specs import TASKS
from glue_server.conformance.verdicts import Check
from reglue.spec import TaskSpec

SLOTS = {"image": 32}
SENTENCES = {
    "scalars": "a tensor without axes, of each dtype",
    "box": "bounds, one for all or each its own",
    "discrete": "Discrete, from a negative start, and up to 64 bits",
    "multi_discrete": "MultiDiscrete",
    "multi_binary": "MultiBinary, of each dtype",
    "image": "two images of 84 × 84 × 3 and a vector, in 32 slots",
    "empty": "tensors without elements among others",
    "axes": "seven axes",
    "names": "nested names, in any script",
}


def _play(spec: TaskSpec, stage: Harness) -> None:
    talk = stage.talk()
    talk.begin(spec)
    talk.play(6)


def _check(name: str, spec: TaskSpec) -> Check:
    what = SENTENCES.get(name, f"{name}, with its extremes")
    whole = spec.with_slots(SLOTS.get(name, 3))
    return Check(
        f"tensors.{name.replace('_', '-')}",
        f"Sees and does as the TaskSpec says: {what}",
        partial(_play, whole),
    )


TENSORS = tuple(_check(name, spec) for name, spec in TASKS.items())
