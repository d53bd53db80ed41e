"""Common tensors for tasks whose tensors differ, and conversions to and from these.

How they are combined is what `env_adapters.fitting` says of `pad` and `superset`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from env_adapters.fitting import Fit
from reglue.spec import Arrays, TaskSpec


@dataclass(frozen=True, slots=True)
class View:
    """Converts between the tensors of one task and the common tensors."""

    observe: Callable[[Arrays], Arrays]  # from the task's observation to the common one
    act: Callable[[Arrays], Arrays]  # from the common action to the task's


def fit_specs(
    specs: Mapping[str, TaskSpec], fit: Fit
) -> tuple[dict[str, TaskSpec], dict[str, View]]:
    """The specs of tasks with common tensors, and the view of each task.

    Raises UsageError, which names the task, for tensors that cannot be combined.
    """
    # Gymnasium is an extra, and tasks with equal tensors do without it.
    from env_adapters.fitting.common_spaces import Actions, Observations
    from env_adapters.gymnasium.space_tensors import Tensors
    from reglue.gymnasium.tensor_spaces import value_of
    from reglue.spaces import space_of

    seen = [(name, space_of(spec.observations)) for name, spec in specs.items()]
    done = [(name, space_of(spec.actions)) for name, spec in specs.items()]
    observations, actions = Observations(seen, fit), Actions(done, fit)
    first = next(iter(specs.values()))
    to_see = Tensors(first.observations[0].name, observations.space)
    to_do = Tensors(first.actions[0].name, actions.space)

    def view(name: str, own_seen: object, own_done: object) -> View:
        spec = specs[name]
        to_common, to_own = observations.of(own_seen), actions.of(own_done)
        tensors = Tensors(spec.actions[0].name, own_done)
        return View(
            lambda arrays: to_see.arrays(to_common(value_of(spec.observations, arrays))),
            lambda arrays: tensors.arrays(to_own(to_do.value(arrays))),
        )

    views = {
        name: view(name, own_seen, own_done)
        for (name, own_seen), (_, own_done) in zip(seen, done, strict=True)
    }
    common = {
        name: replace(spec, observations=to_see.specs, actions=to_do.specs)
        for name, spec in specs.items()
    }
    return common, views
