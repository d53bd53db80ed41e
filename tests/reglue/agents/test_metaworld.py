"""The calls that a Meta-World object sees, held against Meta-World's own utilities."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pytest
from metaworld import evaluation as upstream

from reglue.agents.adaptation import agent_of
from reglue.agents.agent import Agent
from reglue.agents.metaworld import MetaWorldAgent, Timestep
from reglue.errors import NotAnAgent
from reglue.messages.agent_messages import EndKind, Phase, Turn
from reglue.spec import Discrete, TaskSpec, TensorSpec
from tests.error_facts import raises
from tests.reglue.metaworld_probes import (
    HORIZON,
    Both,
    EachAdaptationStep,
    EachTimestep,
    Evaluated,
    Log,
    ScriptedEnvs,
    frozen,
    make_turn,
    ready,
    rollout,
    task,
)


def calls(log: Log) -> Iterator[str]:
    return (name for name, _ in log)


# The order of calls is Meta-World's.


def test_a_timestep_has_the_fields_of_meta_worlds() -> None:
    assert Timestep._fields == upstream.Timestep._fields


@pytest.mark.parametrize(
    ("successes", "episodes", "first_masks"),
    [
        pytest.param(([2, None, 5],), 3, [[1], [0], [1], [0]], id="one environment"),
        pytest.param(([1], [None]), 2, [[1, 1], [1, 0], [1, 0], [1, 0]], id="a fast and a slow"),
        pytest.param(([2],), 1, [[1], [0], [1]], id="success in mid-episode"),
    ],
)
def test_an_evaluation_makes_the_calls_that_meta_world_makes(
    successes: tuple[Sequence[int | None], ...], episodes: int, first_masks: list[list[int]]
) -> None:
    theirs, ours = Evaluated(), Evaluated()
    theirs.state = ours.state = np.zeros(len(successes))
    upstream.evaluation(theirs, cast(Any, ScriptedEnvs(*successes)), episodes)

    agent = ready(ours, task(slots=len(successes)))
    agent.agent_freeze()
    rollout(agent, ScriptedEnvs(*successes), phase=Phase.EVALUATE, episodes=episodes)

    assert ours.log == theirs.log
    masks = [cast(Any, what)[2] for name, what in ours.log if name == "reset"]
    assert masks[: len(first_masks)] == first_masks


@pytest.mark.parametrize("probe", [EachTimestep, EachAdaptationStep, Both])
@pytest.mark.parametrize(("adaptation_steps", "adaptation_episodes"), [(1, 3), (2, 1), (0, 1)])
def test_meta_learning_makes_the_calls_that_meta_world_makes(
    probe: type[EachTimestep], adaptation_steps: int, adaptation_episodes: int
) -> None:
    theirs, ours, script = probe(), probe(), ([2, None], [None, 4, 1])
    upstream.metalearning_evaluation(
        theirs,
        cast(Any, ScriptedEnvs(*script)),
        num_evals=2,
        adaptation_steps=adaptation_steps,
        adaptation_episodes=adaptation_episodes,
        evaluation_episodes=2,
    )

    agent, envs = ready(ours), ScriptedEnvs(*script)
    for _ in range(2):
        envs.call("sample_tasks")
        agent.adapt_begin()
        for _ in range(adaptation_steps):
            rollout(agent, envs, phase=Phase.ADAPT, episodes=adaptation_episodes)
            agent.adapt()
        agent.agent_freeze()
        rollout(agent, envs, phase=Phase.EVALUATE, episodes=2)

    assert ours.log == theirs.log
    steps = 2 * adaptation_steps * adaptation_episodes * HORIZON
    assert [*calls(ours.log)].count("step") == [*calls(ours.log)].count("adapt_action") == steps


def test_each_freeze_begins_with_a_reset_of_all() -> None:
    probe = Evaluated()
    agent = ready(probe)
    for _ in range(2):
        agent.agent_freeze()
        agent.turn(make_turn(Phase.EVALUATE, starts=[0]))
        agent.turn(make_turn(Phase.EVALUATE, ends=[0]))
    masks = [cast(Any, what)[2] for name, what in probe.log if name == "reset"]
    assert masks == [[True, True], [True, False]] * 2


# Slots that idle, are cut off, or void: what Meta-World's loops never do.


def test_an_idle_slot_repeats_its_last_observation_and_zeros_before_the_first() -> None:
    probe = Evaluated()
    agent = ready(probe)
    agent.turn(make_turn(Phase.EVALUATE, starts=[1], observations=np.full((1, 4), 3.0)))
    agent.turn(
        make_turn(Phase.EVALUATE, ends=[1], starts=[0], observations=np.eye(4)[:2] * [[5], [6]])
    )
    seen = [cast(Any, what)[2] for name, what in probe.log if name == "eval_action"]
    assert seen == [[[0, 0, 0, 0], [3, 3, 3, 3]], [[0, 6, 0, 0], [5, 0, 0, 0]]]


def test_the_actions_of_idle_slots_are_dropped() -> None:
    agent = ready(Evaluated())
    answer = cast(dict[str, Any], agent.turn(make_turn(Phase.EVALUATE, starts=[1])))
    assert answer["action"].tolist() == [[7.0, 1.0]]


def test_actions_are_rows_of_steps_and_then_of_starts() -> None:
    agent = ready(Evaluated())
    agent.turn(make_turn(Phase.EVALUATE, starts=[1]))
    rows = np.arange(8.0).reshape(2, 4)
    turn = make_turn(Phase.EVALUATE, steps=[1], starts=[0], observations=rows)
    answer = cast(dict[str, Any], agent.turn(turn))
    assert answer["action"][:, 0].tolist() == [0.0, 4.0]


def test_a_start_on_a_live_slot_resets_it() -> None:
    probe = Evaluated()
    agent = ready(probe)
    agent.turn(make_turn(Phase.EVALUATE, starts=[0, 1]))
    agent.turn(make_turn(Phase.EVALUATE, steps=[0], starts=[1]))
    assert [what for name, what in probe.log if name == "reset"][-1] == frozen(
        np.array([False, True])
    )


def test_a_start_after_idling_loses_the_state_that_idling_gave() -> None:
    agent = ready(Evaluated())
    agent.turn(make_turn(Phase.EVALUATE, starts=[0, 1]))
    agent.turn(make_turn(Phase.EVALUATE, steps=[0], ends=[1]))
    answer = cast(dict[str, Any], agent.turn(make_turn(Phase.EVALUATE, steps=[0], starts=[1])))
    assert answer["action"][:, 1].tolist() == [3.0, 1.0]


def test_idle_slots_earn_nothing_while_adapting() -> None:
    timestep = adaptation_timestep(make_turn(Phase.ADAPT, steps=[1], rewards=[4.0]), starts=[1])
    assert timestep.reward.tolist() == [0.0, 4.0]
    assert not timestep.truncated.any()
    assert not timestep.terminated.any()


def test_an_episode_that_is_cut_off_while_adapting_is_truncated_without_reward() -> None:
    turn = make_turn(Phase.ADAPT, steps=[1], starts=[0], rewards=[4.0])
    timestep = adaptation_timestep(turn, starts=[0, 1])
    assert timestep.reward.tolist() == [0.0, 4.0]
    assert timestep.truncated.tolist() == [True, False]


def test_a_void_end_gives_neither_reward_nor_observation() -> None:
    void = {"ends": [0], "kinds": [EndKind.VOID], "rewards": [99.0]}
    probe = EachTimestep()
    agent = ready(probe)
    agent.adapt_begin()
    agent.turn(make_turn(Phase.ADAPT, starts=[0]))
    rows = np.full((1, 4), np.nan)
    agent.turn(make_turn(Phase.ADAPT, **cast(Any, void), observations=rows))
    agent.turn(make_turn(Phase.ADAPT, starts=[1]))
    timestep = cast(Any, [what for name, what in probe.log if name == "step"][-1])
    assert timestep[2][2] == [0.0, 0.0]
    assert timestep[4][2] == [True, False]
    assert cast(Any, probe.log[-1][1])[2] == [[7.0] * 4] * 2


def test_observations_have_the_dtype_of_the_spec_and_rewards_float64() -> None:
    probe = EachTimestep()
    agent = ready(probe, task(dtype="float32"))
    agent.adapt_begin()
    agent.turn(make_turn(Phase.ADAPT, starts=[0, 1]))
    agent.turn(make_turn(Phase.ADAPT, ends=[0, 1]))
    timestep = cast(Any, probe.log[-1][1])
    assert [each[:2] for each in timestep[:5]] == [
        ("<f4", (2, 4)),
        ("<f8", (2, 2)),
        ("<f8", (2,)),
        ("|b1", (2,)),
        ("|b1", (2,)),
    ]


def test_an_object_that_writes_on_its_observations_spoils_nothing() -> None:
    class Scaling(Evaluated):
        def eval_action(self, observations: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
            actions = super().eval_action(observations)
            observations *= 0
            return actions

    probe = Scaling()
    agent = ready(probe)
    agent.turn(make_turn(Phase.EVALUATE, starts=[0, 1]))
    agent.turn(make_turn(Phase.EVALUATE, steps=[1]))
    assert cast(Any, probe.log[-1][1])[2] == [[7.0] * 4] * 2


def adaptation_timestep(turn: Turn, *, starts: list[int]) -> Timestep:
    """The argument of `step` at `turn`, after one that started `starts`."""
    given: list[Timestep] = []

    class Keeping(EachTimestep):
        def step(self, timestep: Timestep) -> None:
            given.append(timestep)

    agent = ready(Keeping())
    agent.adapt_begin()
    agent.turn(make_turn(Phase.ADAPT, starts=starts))
    agent.turn(turn)
    return given[-1]


# What is no agent is told so.


def test_an_agent_of_ours_is_passed_through() -> None:
    class Ours(Agent):
        def turn(self, turn: Turn) -> dict[str, Any]:
            return {}

    agent = Ours()
    assert agent_of(agent) is agent


def test_an_agent_of_ours_that_cannot_step_is_refused_by_name() -> None:
    with raises(NotAnAgent, "Agent", "lacks agent_start()"):
        agent_of(Agent())


def test_an_object_without_reset_is_refused_by_name() -> None:
    class Forgetful:
        def eval_action(self, observations: object) -> object:
            return observations

    with raises(NotAnAgent, "Forgetful", "lacks reset()"):
        agent_of(Forgetful())


def test_a_class_in_place_of_an_object_is_refused() -> None:
    with raises(NotAnAgent, "class Evaluated"):
        agent_of(Evaluated)


def test_an_object_with_all_of_meta_learnings_methods_adapts() -> None:
    assert MetaWorldAgent(Both()).adapts


def test_an_object_that_cannot_adapt_names_what_it_lacks() -> None:
    agent = MetaWorldAgent(Evaluated())
    assert not agent.adapts
    assert agent.missing_to_adapt == ("init", "adapt_action", "step", "adapt")


def test_a_wave_is_refused_by_an_object_without_init() -> None:
    with raises(NotAnAgent, "Evaluated", "init(), adapt_action(), step(), adapt()"):
        ready(Evaluated()).adapt_begin()


class Resettable(Evaluated):
    """Has init() but cannot adapt: enough for waves without adaptation steps."""

    def init(self) -> None:
        self.log.append(("init", None))


def test_init_alone_is_enough_for_a_wave_without_adaptation() -> None:
    probe = Resettable()
    agent = ready(probe)
    agent.adapt_begin()
    agent.agent_freeze()
    agent.turn(make_turn(Phase.EVALUATE, starts=[0, 1]))
    assert [*calls(probe.log)] == ["init", "reset", "eval_action"]


def test_adaptation_is_refused_by_an_object_that_has_init_alone() -> None:
    agent = ready(Resettable())
    for adapt in (lambda: agent.turn(make_turn(Phase.ADAPT, starts=[0])), agent.adapt):
        with raises(NotAnAgent, "Resettable", "lacks adapt_action(), step(), adapt()"):
            adapt()


def test_adaptation_actions_without_their_auxiliary_outputs_are_refused() -> None:
    class Alone(EachTimestep):
        def adapt_action(self, observations: npt.NDArray[Any]) -> Any:
            return super().adapt_action(observations)[0]

    agent = ready(Alone())
    agent.adapt_begin()
    with raises(NotAnAgent, "adapt_action()", "ndarray", "tuple"):
        agent.turn(make_turn(Phase.ADAPT, starts=[0]))


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda actions: (actions, {}), ["tuple"]),
        (lambda actions: actions[:, :1], [(2, 1), (2, 2)]),
        (lambda actions: actions.ravel(), [(4,), (2, 2)]),
    ],
)
def test_actions_of_another_shape_or_in_a_tuple_are_refused(change: Any, named: list[Any]) -> None:
    """Also where they have as many numbers: one row a slot, those of idle slots included."""

    class Turned(Evaluated):
        def eval_action(self, observations: npt.NDArray[Any]) -> Any:
            return change(super().eval_action(observations))

    turn = make_turn(Phase.EVALUATE, starts=[0, 1])
    with raises(NotAnAgent, "eval_action()", *named):
        ready(Turned()).turn(turn)


def test_adaptation_actions_of_another_shape_give_no_timestep() -> None:
    class Narrow(EachTimestep):
        def adapt_action(self, observations: npt.NDArray[Any]) -> Any:
            actions, aux = super().adapt_action(observations)
            return actions[:, :1], aux

    probe = Narrow()
    agent = ready(probe)
    agent.adapt_begin()
    for _ in range(2):
        with raises(NotAnAgent, "adapt_action()", (2, 1), (2, 2)):
            agent.turn(make_turn(Phase.ADAPT, starts=[0]))
    assert [*calls(probe.log)] == ["init", "adapt_action", "adapt_action"]


def test_of_several_observations_the_one_called_observation_is_seen() -> None:
    spec = TaskSpec(
        (TensorSpec("task", "int64", (), Discrete(50)), *task().observations), task().actions
    )
    probe = Evaluated()
    probe.state = np.zeros(1)
    turn = make_turn(Phase.EVALUATE, starts=[0])
    agent = ready(probe, spec)
    agent.turn(replace(turn, observations={"task": np.zeros(1, np.int64), **turn.observations}))
    assert probe.log[-1] == ("eval_action", frozen(np.full((1, 4), 7.0)))


def test_several_observations_none_of_them_called_observation_are_refused() -> None:
    cameras = (TensorSpec("left", "uint8", (2,)), TensorSpec("right", "uint8", (2,)))
    with raises(NotAnAgent, "observation", got="left, right"):
        ready(Evaluated(), TaskSpec(cameras, task().actions))


def test_a_task_with_several_actions_is_refused() -> None:
    hands = (TensorSpec("left", "float32", (2,)), TensorSpec("right", "float32", (2,)))
    with raises(NotAnAgent, "actions", "left, right"):
        ready(Evaluated(), TaskSpec(task().observations, hands))
