"""The cost of Reglue beside an environment that steps in microseconds: CartPole."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace

from speed.launches import Claim, Contender, Scale, Section, Watch, interleave

EPISODES = (20, 100)
ENVS, STEPS = 8, 1000
SYNC, PLAIN = "SyncVectorEnv's loop", "a plain loop"
LOOPS = {
    "reglue.evaluate": "default",
    "reglue.evaluate, workers=0": "0",
    "reglue.evaluate, workers=2": "2",
    SYNC: "sync",
    PLAIN: "plain",
}
MADE = f"gymnasium.make_vec, sync, {ENVS} CartPoles"
HERE, SOCKET = (
    f"make_vec in its process, {ENVS} CartPoles",
    f"make_vec over a Unix socket, {ENVS} CartPoles",
)
BY_HAND = f"exact episodes by hand, {ENVS} CartPoles"
BARE = f"our worlds alone, {ENVS} CartPoles"
LONG_MADE, LONG_HERE = (
    f"gymnasium.make_vec, sync, {ENVS} MountainCars",
    f"make_vec in its process, {ENVS} MountainCars",
)
VECTORS = {
    HERE: ("CartPole-v1", "here"),
    SOCKET: ("CartPole-v1", "socket"),
    MADE: ("CartPole-v1", "sync"),
    BY_HAND: ("CartPole-v1", "hand"),
    BARE: ("CartPole-v1", "worlds"),
    LONG_HERE: ("MountainCar-v0", "here"),
    LONG_MADE: ("MountainCar-v0", "sync"),
}
"""A name of each environment, and where it is played."""

CLAIMS = (
    *(
        Claim(
            f"{ours}, {episodes} episodes of CartPole, beside {theirs}",
            f"{ours}, {episodes} episodes",
            f"{theirs}, {episodes} episodes",
            "theirs/ours",
            is_peer=True,
            means=means,
        )
        for episodes in EPISODES
        for ours, theirs, means in (
            ("reglue.evaluate", SYNC, "ten environments, one call of the policy a turn"),
            ("reglue.evaluate, workers=2", SYNC, "what workers cost that do not pay"),
        )
    ),
    Claim(
        f"{HERE}, beside Gymnasium's",
        HERE,
        MADE,
        "theirs/ours",
        is_peer=True,
        means="an episode ends after 22 steps, and costs as much as they do",
    ),
    Claim(
        f"{LONG_HERE}, beside Gymnasium's",
        LONG_HERE,
        LONG_MADE,
        "theirs/ours",
        is_peer=True,
        means="episodes of 200 steps",
    ),
    Claim(f"{SOCKET}, beside Gymnasium's", SOCKET, MADE, "theirs/ours", is_peer=True),
    Claim(
        f"{BY_HAND} ÷ gymnasium.make_vec",
        BY_HAND,
        MADE,
        means="a seed for each, and its return: `make_vec` cannot cost less",
    ),
    Claim(
        f"{BARE} ÷ gymnasium.make_vec",
        BARE,
        MADE,
        means="steps and starts as `make_vec` has them, without session, loop and record",
    ),
)


def light(scale: Scale, watch: Watch) -> Section:
    """Processor time of the very calls that users make."""
    rounds = scale.rounds(5)
    with ExitStack() as closing:
        returns: dict[int, list[list[float]]] = {}
        playing: dict[str, Callable[[], float]] = {}
        for name, kind in LOOPS.items():
            contender = closing.enter_context(Contender("cart_pole", kind))
            contender.measure(episodes=1)  # imports
            for episodes in (scale.of(each, each // 10) for each in EPISODES):
                seen = returns.setdefault(episodes, [])
                playing[f"{name}, {episodes} episodes"] = _evaluation(contender, episodes, seen)
        played = interleave(playing, "s", rounds=rounds, watch=watch)
        for episodes, seen in returns.items():
            assert all(each == seen[0] for each in seen), f"{episodes} episodes differ: {seen}"
        stepping: dict[str, Callable[[], float]] = {}
        for name, (kind, where) in VECTORS.items():
            contender = closing.enter_context(
                Contender("stepped_contender", kind, where, str(ENVS))
            )
            contender.measure(steps=20)
            stepping[name] = _steps(contender, scale.of(STEPS, 50))
        stepped = interleave(stepping, "µs a step", rounds=rounds, watch=watch)
    return Section(
        title="An environment that steps in microseconds",
        about="Processor time of all processes, the least of the rounds; imports are not counted. "
        f"Episodes of CartPole in ten environments with one call of a NumPy policy a turn: "
        "`reglue.evaluate` by default, with 0 and with 2 workers, beside loops over Gymnasium's "
        "SyncVectorEnv and over a list. All play the same seeds, and their returns are compared. "
        f'`reglue.make_vec("gymnasium:CartPole-v1", num_envs={ENVS})`, and the same environments '
        'at a glue in another process, beside `gymnasium.make_vec("CartPole-v1", '
        f'num_envs={ENVS}, vectorization_mode="sync")`, with random actions. By hand: a loop over '
        "those environments with a seed for each episode and its return; nothing is recorded or "
        "caught. Our worlds alone: one Play a turn, of steps and starts. MountainCar's episodes "
        "last 200 steps, where CartPole's last some 22.",
        series=tuple(replace(each, is_least=True) for each in (*played, *stepped)),
        claims=CLAIMS,
    )


def _evaluation(
    contender: Contender, episodes: int, returns: list[list[float]]
) -> Callable[[], float]:
    def measure() -> float:
        measured = contender.measure(episodes=episodes)
        returns.append(measured["returns"])
        return float(measured["seconds"])

    return measure


def _steps(contender: Contender, steps: int) -> Callable[[], float]:
    def measure() -> float:
        measured = contender.measure(steps=steps)
        return 1e6 * float(measured["processor_s"]) / float(measured["steps"])

    return measure
