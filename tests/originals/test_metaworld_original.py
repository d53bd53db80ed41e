"""Meta-World's evaluation page: agents by its protocols, the tuples, and Timestep."""

from __future__ import annotations

from typing import Any, get_type_hints

import numpy as np
import pytest

from tests.originals.original_pages import run

pytestmark = pytest.mark.slow

pytest.importorskip("metaworld")

PROTOCOLS = """
class Agent(Protocol):
    def eval_action(
        self, observations: npt.NDArray[np.float64]
    ) -> npt.NDArray[np.float64]: ...

    def reset(self, env_mask: npt.NDArray[np.bool_]) -> None: ...


class MetaLearningAgent(Agent):
    def init(self) -> None: ...

    def adapt_action(
        self, observations: npt.NDArray[np.float64]
    ) -> tuple[npt.NDArray[np.float64], dict[str, npt.NDArray]]: ...

    def step(self, timestep: Timestep) -> None: ...

    def adapt(self) -> None: ...
"""

TIMESTEP = """
class Timestep(NamedTuple):
    observation: npt.NDArray
    action: npt.NDArray
    reward: npt.NDArray
    terminated: npt.NDArray
    truncated: npt.NDArray
    aux_policy_outputs: dict[str, npt.NDArray]
"""


def page() -> dict[str, Any]:
    from typing import NamedTuple, Protocol

    import numpy.typing as npt

    imports = {"np": np, "npt": npt, "NamedTuple": NamedTuple, "Protocol": Protocol}
    return run(TIMESTEP + PROTOCOLS, imports)


def test_a_timestep_has_the_fields_of_the_page() -> None:
    from reglue_bench.metaworld import Timestep

    assert Timestep._fields == page()["Timestep"]._fields


@pytest.mark.parametrize("name", ["Agent", "MetaLearningAgent"])
def test_the_protocols_have_the_methods_of_the_page(name: str) -> None:
    import reglue_bench.metaworld as ours

    def methods(kind: Any) -> set[str]:
        return {each for each in dir(kind) if not each.startswith("_")}

    assert methods(getattr(ours, name)) == methods(page()[name])
    assert "timestep" in get_type_hints(ours.MetaLearningAgent.step)


def test_an_agent_of_the_page_is_evaluated_and_the_tuples_are_as_in_the_code() -> None:
    """The page says that returns_per_task holds numbers; the code returns lists of returns."""
    from reglue_bench.metaworld import evaluation, metalearning_evaluation
    from tests.reglue_bench.metaworld.metaworld_vector_envs import meta_learning, one_task

    protocol: Any = page()["MetaLearningAgent"]

    class Still(protocol):  # type: ignore[misc]
        def eval_action(self, observations: Any) -> Any:
            return np.zeros((len(observations), 4))

        def reset(self, env_mask: Any) -> None: ...

        def adapt_action(self, observations: Any) -> Any:
            return self.eval_action(observations), {}

    envs = one_task()
    rate, mean_return, rates, returns = evaluation(Still(), envs, 2, workers=0)
    assert (rate, set(rates)) == (rates["reach-v3"], {"reach-v3"})
    assert len(returns["reach-v3"]) == 2
    assert mean_return == pytest.approx(np.mean(returns["reach-v3"]))
    envs.close()
    envs = meta_learning()
    adapted = metalearning_evaluation(Still(), envs, 1, 1, 1, 1, workers=0)
    envs.close()
    assert len(adapted) == 3
    assert adapted[0] == pytest.approx(np.mean(list(adapted[2].values())))
