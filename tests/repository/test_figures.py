"""Figures of the README and the page on performance are those of the last measurement."""

from __future__ import annotations

import re

import pytest

from tests.repository.pages import ROOT

RESULTS = (ROOT / "benchmarks/speed/RESULTS.md").read_text(encoding="utf-8")
README, PERFORMANCE = "README.md", "docs/explanation/performance.md"


def figure(section: str, name: str) -> float:
    """The median of a series, or the figure of a claim, as RESULTS.md has it."""
    claims, *sections = RESULTS.split("`make speed ONLY=")[1:]
    named = {text.partition("`")[0]: text for text in sections}
    for text in (named[section], claims):
        if found := re.search(rf"^\| {re.escape(name)} \| \**([\d.,]+)", text, re.MULTILINE):
            return float(found[1].replace(",", ""))
    raise AssertionError(f"{name} was not measured")


def ms(section: str, name: str) -> float:
    """Of a step, from steps a second."""
    return 1e3 / figure(section, name)


WORLD, PLAIN = (
    figure("steps", "reglue's World ÷ floor"),
    figure("steps", "metaworld's step ÷ floor"),
)
WARM = figure("evaluation", "MT10, whole command, warm caches, beside metaworld.evaluation")
UNIX = "make_vec over a Unix socket, 32"


def beside(loop: str, ours: str) -> str:
    """The ratio of our processor time to that of the loop, on CartPole."""
    return f"{figure('light', ours) / figure('light', loop):.1f}"


def of_loop(ours: str, episodes: int) -> str:
    return beside(f"SyncVectorEnv's loop, {episodes} episodes", f"{ours}, {episodes} episodes")


MADE = "gymnasium.make_vec, sync, 8 CartPoles"
IN_PROCESS = beside(MADE, "make_vec in its process, 8 CartPoles")
ON_SOCKET = beside(MADE, "make_vec over a Unix socket, 8 CartPoles")
LONG = beside("gymnasium.make_vec, sync, 8 MountainCars", "make_vec in its process, 8 MountainCars")
MT10 = "make_vec over a Unix socket, MT10, beside Meta-World's AsyncVectorEnv"
MANY = "turns/s of 64 agents ÷ of the best number of them"
MANY_GRPC = "turns/s of 64 agents over gRPC ÷ of the best number of them"
GRPC = figure("streams", "gRPC, 1 slot, beside a plain gRPC stream")
WHOLE = figure("meta_learning", "the same, in whole turns")
HUB, EPISODE = "four processes, RL_step", "four processes, RL_episode"

BATCHES = {
    name: [
        f"{figure('batched', f'{name}: {each}'):,.0f} µs"
        for each in ("reglue.evaluate", "its own steps")
    ]
    for name in (
        "CartPoleVectorEnv, 64 slots",
        "CartPoleVectorEnv, 1,024 slots",
        "CartPole in JAX, 1,024 slots",
    )
}
FEW, MANY_SLOTS, IN_JAX = (f"{ours} in place of {theirs}" for ours, theirs in BATCHES.values())
BY_HAND = [
    figure("batched", f"exact episodes by hand, CartPoleVectorEnv, {slots} slots ÷ its own steps")
    for slots in ("64", "1,024")
]

SAID = [
    (
        README,
        f"A Meta-World step costs {WORLD:.1f} times its physics (plain Meta-World: {PLAIN:.1f})",
    ),
    (README, "MT10 takes " + {7: "a seventh", 8: "an eighth"}[round(WARM)] + " of the time"),
    (
        README,
        f"cost `reglue.evaluate` {of_loop('reglue.evaluate', 100)} times the processor time of a "
        f"loop over Gymnasium's `SyncVectorEnv`. A step costs `make_vec` {LONG} times Gymnasium's "
        f"where episodes are long (MountainCar), and {IN_PROCESS} times where they end after 22 "
        f"steps (CartPole with random actions; {ON_SOCKET} over a Unix socket)",
    ),
    (PERFORMANCE, f"{WORLD:.1f} times the physics, in place of {PLAIN:.1f}"),
    (
        PERFORMANCE,
        f"a step takes {1e3 * ms('turns', 'Reglue, RL_step'):.0f} µs over a Unix socket, and "
        f"{1e3 * ms('streams', 'Reglue over gRPC, 1 slot'):.0f} µs over Python's gRPC: "
        f"{1 / GRPC:.1f} times the time of a plain gRPC stream",
    ),
    (
        PERFORMANCE,
        f"takes {figure('meta_learning', 'reglue bench ML10'):.1f} s, and {WHOLE:.1f} s in whole",
    ),
    (
        PERFORMANCE,
        f"`reglue.evaluate` costs {of_loop('reglue.evaluate', 20)} times the processor time of a "
        "loop over Gymnasium's `SyncVectorEnv` with the same seeds, and "
        f"{of_loop('reglue.evaluate', 100)} times of 100 episodes; with two workers it costs "
        f"{of_loop('reglue.evaluate, workers=2', 100)} times",
    ),
    (
        PERFORMANCE,
        f'`make_vec("gymnasium:MountainCar-v0")` costs {LONG} times one of `gymnasium.make_vec`. '
        f"One of CartPole costs {IN_PROCESS} times as much, and {ON_SOCKET} times over a Unix "
        "socket: with random actions its episodes end after 22 steps, and an episode costs as much "
        "as they do. A loop written by hand that gives each episode its own seed costs "
        f"{beside(MADE, 'exact episodes by hand, 8 CartPoles')} times",
    ),
    (
        PERFORMANCE,
        f"plays {figure('stepped', 'make_vec in its process, 32'):,.0f} steps a second in its "
        "process and "
        f"{figure('stepped', UNIX):,.0f} over a Unix socket",
    ),
    (PERFORMANCE, f"over gRPC {figure('streams', 'Reglue over gRPC, 32 slots'):,.0f}"),
    (PERFORMANCE, f"environment, plays {figure('stepped', 'AsyncVectorEnv, 32'):,.0f}"),
    (
        PERFORMANCE,
        f"over a socket is {figure('stepped', MT10):.1f} times as fast",
    ),
    (
        PERFORMANCE,
        f"takes about {ms('turns', f'Reglue, {HUB}'):.2f} ms over Unix sockets and "
        f"{ms('turns', 'Reglue, four processes over gRPC, RL_step'):.1f} ms over gRPC; in "
        f"`RL_episode`, which needs no program, {ms('turns', f'Reglue, {EPISODE}'):.2f} ms",
    ),
    (
        PERFORMANCE,
        f"takes {ms('turns', f'RL-Glue 3 codec, {HUB}'):.2f} and "
        f"{ms('turns', f'RL-Glue 3 codec, {EPISODE}'):.2f} ms",
    ),
    (
        PERFORMANCE,
        f"takes {ms('turns', f'the least Python hub, {HUB}'):.2f}, "
        f"{ms('turns', 'the least Python hub, four processes over gRPC, RL_step'):.1f} and "
        f"{ms('turns', f'the least Python hub, {EPISODE}'):.2f} ms",
    ),
    (
        PERFORMANCE,
        f"play {100 * figure('growth', MANY):.0f} % of what the best number of them plays over "
        f"Unix sockets, and {100 * figure('growth', MANY_GRPC):.0f} % over gRPC",
    ),
    (PERFORMANCE, f"takes {figure('competition', 'processor time'):.1f} seconds of processor time"),
    (
        PERFORMANCE,
        f"a turn of 64 CartPoles costs {FEW} for its own step, one of 1,024 costs {MANY_SLOTS}, "
        f"and one of 1,024 in JAX {IN_JAX}. A loop written by hand that gives each episode its own "
        f"seed and keeps it, and checks nothing, costs {BY_HAND[0]:.1f} and {BY_HAND[1]:.1f} times "
        "the batch's own steps",
    ),
]


def text_of(where: str) -> str:
    return re.sub(r"\s+", " ", (ROOT / where).read_text(encoding="utf-8"))


@pytest.mark.parametrize(("where", "words"), SAID)
def test_what_is_said_was_measured(where: str, words: str) -> None:
    assert words in text_of(where)


def test_the_page_on_performance_says_no_other_figure() -> None:
    text = text_of(PERFORMANCE)
    for where, words in SAID:
        text = text.replace(words, "") if where == PERFORMANCE else text
    assert not re.findall(r"[^.]*\d ?(?:[µm]?s|seconds|[kMG]B|%|×|times)(?!\w)", text)
