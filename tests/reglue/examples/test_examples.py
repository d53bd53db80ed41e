"""The agents that come with the package, played."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import metaworld
import numpy as np
import numpy.typing as npt
import pytest
from metaworld.env_dict import MT10_V3, MT25_V3, MT50_V3
from metaworld.policies import ENV_POLICY_MAP

from reglue.agents.agent import Agent
from reglue.agents.metaworld import MT10, MT25, MT50
from reglue.errors import MissingExtra, NotAnAgent, UnknownName
from reglue.examples import EXAMPLES
from reglue.examples.expert import ExpertAgent
from reglue.examples.random_agent import RandomAgent
from reglue.examples.reach_adapt import HAND_HIGH, HAND_LOW, ReachAdapt, find_goal, way_points
from reglue.messages.agent_messages import EndKind, Ends, Phase, Starts, Steps, Turn
from reglue.spec import (
    Box,
    Discrete,
    Domain,
    MultiBinary,
    MultiDiscrete,
    TaskSpec,
    TensorSpec,
)
from reglue.tools.loading import load
from tests.error_facts import raises

pytestmark = pytest.mark.slow

ARM = TensorSpec("action", "float32", (4,), Box((-1.0,), (1.0,)))
A = TypeVar("A", bound=Agent)


def robot(
    width: int = 39, *, slots: int = 1, more: tuple[TensorSpec, ...] = (), action: TensorSpec = ARM
) -> TaskSpec:
    return TaskSpec((TensorSpec("observation", "float64", (width,)), *more), (action,), slots=slots)


def begin(agent: A, spec: TaskSpec) -> A:
    agent.spec, agent.phase = spec, Phase.EVALUATE
    agent.agent_init(spec)
    return agent


def play(
    agent: Agent,
    phase: Phase,
    *,
    starts: Mapping[int, int] | None = None,
    steps: Sequence[int] = (),
    ends: Sequence[int] = (),
    kind: EndKind = EndKind.TRUNCATED,
    rewards: Sequence[float] | None = None,
    observations: Mapping[str, npt.NDArray[Any]] | None = None,
) -> npt.NDArray[Any]:
    """One turn; `starts` maps slots to seeds. The rows of the answer's `action`."""
    starts, told = starts or {}, len(ends) + len(steps)
    agent.phase = phase
    answer = agent.turn(
        Turn(
            phase,
            Ends(np.array(ends, np.uint32), np.full(len(ends), kind, np.uint8)),
            Steps(np.array(steps, np.uint32), np.zeros(len(steps), np.uint8)),
            Starts(np.array([*starts], np.uint32), np.array([*starts.values()], np.uint64)),
            np.array([0.0] * told if rewards is None else rewards),
            observations or {"observation": np.zeros((told + len(starts), 39))},
        )
    )
    return np.asarray(answer["action"] if isinstance(answer, Mapping) and answer else answer)


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_made_without_arguments(name: str) -> None:
    assert isinstance(load(name), Agent)


def test_examples_load_no_grpc() -> None:
    code = (
        "import sys; from reglue.tools.loading import load\n"
        f"for name in {[*EXAMPLES]}: load(name)\n"
        "assert 'grpc' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# random


def test_random_actions_depend_on_the_start_seed_alone() -> None:
    one, two = (begin(RandomAgent(), robot(slots=3)) for _ in range(2))
    alone = [play(one, Phase.EVALUATE, starts={0: 2**64 - 1}), play(one, Phase.EVALUATE, steps=[0])]
    play(two, Phase.EVALUATE, starts={1: 5})
    among = [
        play(two, Phase.EVALUATE, steps=[1], starts={2: 2**64 - 1})[1:],
        play(two, Phase.EVALUATE, steps=[2, 1])[:1],
    ]
    np.testing.assert_array_equal(alone, among)


def test_random_actions_differ_from_seed_to_seed_and_step_to_step() -> None:
    agent = begin(RandomAgent(), robot(slots=2))
    first = play(agent, Phase.EVALUATE, starts={0: 1, 1: 2})
    then = play(agent, Phase.EVALUATE, steps=[0, 1])
    assert len({*map(tuple, first), *map(tuple, then)}) == 4


@pytest.mark.parametrize(
    ("dtype", "shape", "domain", "values"),
    [
        ("int64", (), Discrete(3, start=-1), {-1, 0, 1}),
        ("int32", (2,), MultiDiscrete((1, 3)), {0, 1, 2}),
        ("uint8", (2, 2), MultiBinary(), {0, 1}),
        ("uint8", (2,), Box((1.0,), (3.0,)), {1, 2, 3}),
    ],
)
def test_random_actions_take_each_value_of_a_finite_domain(
    dtype: str, shape: tuple[int, ...], domain: Domain, values: set[int]
) -> None:
    agent = begin(
        RandomAgent(), robot(slots=200, action=TensorSpec("action", dtype, shape, domain))
    )
    actions = play(agent, Phase.EVALUATE, starts={slot: slot for slot in range(200)})
    assert actions.shape == (200, *shape)
    assert actions.dtype == dtype
    assert set(np.unique(actions).tolist()) == values


@pytest.mark.parametrize(
    ("low", "high"), [((-1.0, 2.0), (1.0, 5.0)), ((0.0, 0.0), ()), ((), (0.0, 0.0)), ((), ())]
)
def test_random_actions_keep_to_the_bounds_that_there_are(
    low: tuple[float, ...], high: tuple[float, ...]
) -> None:
    tensor = TensorSpec("action", "float32", (2,), Box(low, high))
    agent = begin(RandomAgent(), robot(slots=200, action=tensor))
    actions = play(agent, Phase.EVALUATE, starts={slot: slot for slot in range(200)})
    assert (actions >= tensor.low()).all()
    assert (actions <= tensor.high()).all()
    assert (actions.std(axis=0) > 0.3).all()


# expert


def observed(rows: int, *behind: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    numbers = np.random.default_rng(7).uniform(-0.3, 0.8, (rows, 39))
    return np.concatenate([numbers, *behind], axis=1)


@pytest.mark.parametrize("tasks", [[*MT10_V3], [*MT25_V3], [*MT50_V3]], ids=len)
def test_the_expert_knows_the_task_by_its_one_hot(tasks: list[str]) -> None:
    agent = begin(ExpertAgent(), robot(39 + len(tasks), slots=len(tasks)))
    rows = observed(len(tasks), np.eye(len(tasks)))
    slots = dict.fromkeys(range(len(tasks)), 0)
    actions = play(agent, Phase.EVALUATE, starts=slots, observations={"observation": rows})
    np.testing.assert_array_equal(actions, scripted(tasks, rows))


def test_the_expert_knows_the_task_where_it_is_revealed() -> None:
    tasks = sorted(MT50_V3)
    told = TensorSpec("task", "int64", (), Discrete(50))
    agent = begin(ExpertAgent(), robot(slots=50, more=(told,)))
    rows = observed(50)
    actions = play(
        agent,
        Phase.EVALUATE,
        starts=dict.fromkeys(range(50), 0),
        observations={"observation": rows, "task": np.arange(50)},
    )
    np.testing.assert_array_equal(actions, scripted(tasks, rows))


def test_the_expert_keeps_each_slots_task_as_it_steps() -> None:
    agent = begin(ExpertAgent(), robot(49, slots=2))
    rows = observed(2, np.eye(10)[:2])
    play(agent, Phase.EVALUATE, starts={0: 0, 1: 0}, observations={"observation": rows})
    turned = {"observation": rows[::-1]}
    actions = play(agent, Phase.EVALUATE, steps=[1, 0], observations=turned)
    np.testing.assert_array_equal(actions, scripted(["push-v3", "reach-v3"], rows[::-1]))


def test_the_expert_leaves_its_observations_as_they_are() -> None:
    agent = begin(ExpertAgent("door-open-v3"), robot())
    rows = observed(1)
    play(agent, Phase.EVALUATE, starts={0: 0}, observations={"observation": rows})
    np.testing.assert_array_equal(rows, observed(1))


def test_the_expert_plays_the_task_that_its_argument_names() -> None:
    agent = begin(ExpertAgent("push-v3"), robot())
    rows = observed(1)
    actions = play(agent, Phase.EVALUATE, starts={0: 0}, observations={"observation": rows})
    np.testing.assert_array_equal(actions, scripted(["push-v3"], rows))


def test_the_expert_refuses_a_task_that_there_is_not() -> None:
    with raises(UnknownName, "push-v3", got="push-v4"):
        ExpertAgent("push-v4")


@pytest.mark.parametrize("width", [39, 42])
def test_the_expert_refuses_a_task_that_nothing_tells(width: int) -> None:
    with raises(NotAnAgent, f"{width - 39} numbers", "10, 25 or 50", "task=NAME"):
        begin(ExpertAgent(), robot(width))


def test_the_expert_refuses_what_is_not_meta_world() -> None:
    with raises(NotAnAgent, "Meta-World", "`observation`", 39):
        begin(ExpertAgent(), robot(4))


def test_the_expert_loads_no_simulator_and_leaves_no_trace() -> None:
    program = """
import sys
from reglue.examples.expert import ExpertAgent
from reglue.agents.metaworld import ALL_TASKS
assert {*ExpertAgent()._policies} == {*ALL_TASKS}
assert not {"mujoco", "gymnasium", "metaworld", "metaworld.policies"} & {*sys.modules}
import metaworld, metaworld.policies
assert metaworld.policies.ENV_POLICY_MAP.keys() == ExpertAgent()._policies.keys()
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", program], check=True)


def test_names_are_in_meta_worlds_order() -> None:
    assert ((*MT10_V3,), (*MT25_V3,), (*MT50_V3,)) == (MT10, MT25, MT50)


def test_the_expert_without_meta_world_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "metaworld.policies", None)
    with raises(MissingExtra, "expert", "reglue[metaworld]", name="Meta-World"):
        ExpertAgent()


def test_the_expert_where_meta_world_is_not_installed_names_the_extra() -> None:
    """In a process of its own, where nothing has loaded the package."""
    program = """
import importlib.util
from reglue.errors import MissingExtra
from reglue.examples.expert import ExpertAgent
installed = importlib.util.find_spec
importlib.util.find_spec = lambda name: None if name == "metaworld" else installed(name)
try:
    ExpertAgent()
except MissingExtra as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert "reglue[metaworld]" in done.stdout


def scripted(tasks: Sequence[str], rows: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """The actions of Meta-World's policies, which warn of actions beyond the bounds."""
    policies: Mapping[str, Any] = ENV_POLICY_MAP
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        actions = [
            policies[task]().get_action(row[:39].copy())
            for task, row in zip(tasks, rows, strict=True)
        ]
    return np.array(actions, np.float64)


# reach_adapt


@pytest.fixture(scope="module")
def reach() -> metaworld.ML1:
    return metaworld.ML1("reach-v3", seed=42)  # type: ignore[no-untyped-call]


def successes(agent: Agent, reach: metaworld.ML1, goals: Sequence[int], *, adapt: bool) -> int:
    """Goals reached, each in a slot of its own, after an adaptation step of one episode."""
    envs = [reach.test_classes["reach-v3"](reward_function_version="v2") for _ in goals]
    for env, goal in zip(envs, goals, strict=True):
        env.set_task(reach.test_tasks[goal])
    begin(agent, robot(slots=len(goals)))
    agent.adapt_begin()
    if adapt:
        episode(agent, envs, Phase.ADAPT, steps=500)
        agent.adapt()
    agent.agent_freeze()
    return int(episode(agent, envs, Phase.EVALUATE, steps=150).sum())


def episode(
    agent: Agent, envs: Sequence[Any], phase: Phase, *, steps: int
) -> npt.NDArray[np.bool_]:
    """Play one episode in each environment; whether each succeeded at any step."""
    slots = range(len(envs))
    rows = {"observation": np.stack([env.reset()[0] for env in envs])}
    assert not rows["observation"][:, -3:].any(), "the goal is to be hidden"
    actions = play(agent, phase, starts=dict.fromkeys(slots, 0), observations=rows)
    succeeded = np.zeros(len(envs), np.bool_)
    for step in range(1, steps + 1):
        played = [env.step(action) for env, action in zip(envs, actions, strict=True)]
        rows = {"observation": np.stack([each[0] for each in played])}
        rewards = [float(each[1]) for each in played]
        succeeded |= [bool(each[4]["success"]) for each in played]
        ends, going = (slots, ()) if step == steps else ((), slots)
        actions = play(agent, phase, ends=ends, steps=going, rewards=rewards, observations=rows)
    return succeeded


def test_reach_adapt_finds_hidden_goals_that_it_did_not_reach_before(reach: metaworld.ML1) -> None:
    goals = [0, 1, 2]
    assert successes(ReachAdapt(), reach, goals, adapt=True) == len(goals)
    assert successes(ReachAdapt(), reach, goals, adapt=False) == 0


def test_the_hand_visits_every_way_point_while_it_adapts() -> None:
    agent, hand = begin(ReachAdapt(), robot()), np.array([0.0, 0.6, 0.2])
    agent.adapt_begin()
    rows = {"observation": np.pad(hand, (0, 36))[None]}
    actions = play(agent, Phase.ADAPT, starts={0: 0}, observations=rows)
    track = []
    for _ in range(500):
        hand = hand + actions[0, :3] / 100  # as Meta-World moves it
        track.append(hand)
        rows = {"observation": np.pad(hand, (0, 36))[None]}
        actions = play(agent, Phase.ADAPT, steps=[0], observations=rows)
    gaps = np.linalg.norm(way_points()[:, None] - np.array(track), axis=2).min(axis=1)
    assert (gaps < 0.05).all()


def test_a_new_wave_begins_without_the_goals_of_the_last() -> None:
    agent = begin(ReachAdapt(), robot())
    before = play(agent, Phase.EVALUATE, starts={0: 0})
    explore(agent, np.zeros(3))
    agent.adapt()
    agent.agent_freeze()
    assert not np.array_equal(play(agent, Phase.EVALUATE, starts={0: 0}), before)
    agent.adapt_begin()
    agent.agent_freeze()
    np.testing.assert_array_equal(play(agent, Phase.EVALUATE, starts={0: 0}), before)


def test_a_void_end_is_not_remembered() -> None:
    plain, voided = begin(ReachAdapt(), robot()), begin(ReachAdapt(), robot())
    for agent in (plain, voided):
        explore(agent, np.array([0.1, 0.8, 0.2]))
    play(voided, Phase.ADAPT, ends=[0], kind=EndKind.VOID, rewards=[100.0])
    for agent in (plain, voided):
        agent.adapt()
        agent.agent_freeze()
    first, second = (play(agent, Phase.EVALUATE, starts={0: 0}) for agent in (plain, voided))
    np.testing.assert_array_equal(first, second)


def explore(agent: Agent, goal: npt.NDArray[np.float64]) -> None:
    """Nine steps of adaptation that earn by their distance from `goal`."""
    agent.adapt_begin()
    play(agent, Phase.ADAPT, starts={0: 0})
    for hand in HAND_LOW + (HAND_HIGH - HAND_LOW) * np.random.default_rng(3).random((9, 3)):
        reward = 1 / (1 + float(np.sum((hand - goal) ** 2)))
        rows = {"observation": np.pad(hand, (0, 36))[None]}
        play(agent, Phase.ADAPT, steps=[0], rewards=[reward], observations=rows)


def test_the_goal_is_the_bottom_of_one_over_the_reward() -> None:
    places = np.random.default_rng(1).uniform(HAND_LOW, HAND_HIGH, (20, 3))
    goal = np.array([0.1, 0.8, 0.2])
    rewards = 10 / (1 + 9 * np.sum((places - goal) ** 2, axis=1))
    np.testing.assert_allclose(find_goal(places, rewards), goal)


def test_where_no_bowl_fits_the_goal_is_the_best_place() -> None:
    places = np.array([0.0, 0.6, 0.2]) + np.outer(np.linspace(0, 0.5, 20), [1.0, 0.5, 0.0])
    rewards = 10 / (1 + 9 * np.sum((places - [0.2, 0.7, 0.3]) ** 2, axis=1))
    np.testing.assert_array_equal(find_goal(places, rewards), places[np.argmax(rewards)])


def test_a_hill_in_place_of_a_bowl_gives_the_best_place() -> None:
    places = np.random.default_rng(1).uniform(HAND_LOW, HAND_HIGH, (20, 3))
    rewards = 1 / (9 - np.sum(places**2, axis=1))
    np.testing.assert_array_equal(find_goal(places, rewards), places[np.argmax(rewards)])


def test_places_that_earned_nothing_are_no_part_of_the_bowl() -> None:
    places = np.random.default_rng(1).uniform(HAND_LOW, HAND_HIGH, (20, 3))
    goal = np.array([0.1, 0.8, 0.2])
    rewards = 10 / (1 + 9 * np.sum((places - goal) ** 2, axis=1))
    rewards[::4] = 0.0
    np.testing.assert_allclose(find_goal(places, rewards), goal)
