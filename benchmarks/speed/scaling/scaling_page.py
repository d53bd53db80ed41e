"""The page about scaling, and its plot."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median
from typing import Any

from speed.results import number
from speed.scaling.cluster import EPISODES, FAST_S, RUNS, STEP_S
from speed.scaling.scaling_model import Model, fitted, left_out

Found = Mapping[str, Any]


def page(results: Found) -> str:
    """The whole page."""
    parts = (_sustains, _over_ray, _nodes, _ends, _stood_on)
    return "\n".join([_HEAD, *(line for part in parts for line in part(results)), ""])


_HEAD = """# Scaling

Written by `make scaling`, which measures all of it again in about a quarter of an hour;
`build/speed/scaling.json` has every sample then.
[Play on several machines](../../../docs/how-to/cluster.md) tells how to use one.

A run has one **coordinator**: the command itself. It deals shards to processes, which play them,
and writes what comes back to one ledger. So nodes make a run faster until it has too few shards, or
until the coordinator is busy all the time. A row is an episode. An online run is a shard.
"""


def _sustains(results: Found) -> Iterator[str]:
    shapes = results["coordinator"]["found"]
    rates = [max(took["rows"] / took["wall_s"] for took in each["rounds"]) for each in shapes]
    cpu_us = [
        median(1e6 * took["cpu_s"] / took["rows"] for took in each["rounds"]) for each in shapes
    ]
    yield "## What the coordinator sustains\n"
    yield (
        "Processes that do nothing answer each shard at once, so the coordinator is measured alone "
        "(`reglue bench online:mountain-car`): from the first row to the score, with all rows "
        "checked against the plan and committed. The rate is the best of three rounds, as other "
        "programs used the cores too; the CPU time is the median.\n"
    )
    yield (
        "| shards at once | runs | episodes a run | steps an episode | rows a second | "
        "CPU time a row |"
    )
    yield "| --: | --: | --: | --: | --: | --: |"
    for each, rate, us in zip(shapes, rates, cpu_us, strict=True):
        yield (
            f"| {each['shards']} | {each['runs']:,} | {each['episodes']} | {each['steps']} | "
            f"{number(rate)} | {us:.0f} µs |"
        )
    yield ""
    yield (
        f"It sustains {_round(max(rates))} rows a second where runs are long, and "
        f"{_round(min(rates))} where each is a single episode: a shard costs more than a row.\n"
    )


def _over_ray(results: Found) -> Iterator[str]:
    ms = 1e3 * _row_s(results)
    yield "## What Ray adds\n"
    yield (
        "With `--engine ray` a process beside the command fetches what each node says, by a call "
        f"of Ray. Where rows come one by one ({FAST_S * 1e3:.0f} ms apart, from one node), the "
        f"command and this process together take **{ms:.1f} ms of CPU time a row**: "
        f"{_round(1e3 / ms)} rows a second for each core that they keep busy. Rows that wait "
        "together come by one call, and cost less.\n"
    )


def _nodes(results: Found) -> Iterator[str]:
    seconds = _seconds(results)
    model, guesses = fitted(RUNS, seconds), left_out(RUNS, seconds)
    spread = max(max(rounds) / min(rounds) for rounds in results["nodes"]["found"].values())
    yield "## What nodes add\n"
    yield "![Seconds of the command, and the model, over nodes](results.svg)\n"
    yield (
        f"A command plays {RUNS} runs of {EPISODES} episodes on clusters of 1 to 8 nodes with a "
        f"core each. **The nodes are processes of one machine with {results['stood_on']['cores']} "
        f"cores**, so its environment computes nothing: each episode sleeps {STEP_S:g} s. This "
        "measures dealing, starting and waiting. It measures no network between machines, and not "
        "how fast nodes compute. The figure is the faster of two rounds, which differ by up to "
        f"{100 * (spread - 1):.0f} %: other programs used the cores too.\n"
    )
    most, best = max(seconds), min(seconds, key=seconds.__getitem__)
    apart = model.seconds(RUNS, most) - (most - 1) * model.node_s
    yield (
        f"The model: `seconds = {_formula(model)}`. The first number is the command and its "
        "connection. The second is what each node adds, as all start their processes on the same "
        f"cores. The third is a run: {EPISODES * STEP_S:g} s are sleep, the rest is the start of "
        "an agent's process and its turns. For the error, the model is fitted to the other sizes "
        "only.\n"
    )
    yield (
        f"So these nodes wait for each other: {most} are no faster than {best}. On {most} "
        "machines, which start their processes at the same time, the second number would count "
        f"once: {apart:.0f} s, {seconds[1] / apart:.1f} times as fast as one. That is computed, "
        "not measured.\n"
    )
    yield "| nodes | measured | times as fast as one | the model | its error, this one left out |"
    yield "| --: | --: | --: | --: | --: |"
    for nodes, wall_s in seconds.items():
        yield (
            f"| {nodes} | {wall_s:.1f} s | {seconds[1] / wall_s:.2f} | "
            f"{model.seconds(RUNS, nodes):.1f} s | {100 * (guesses[nodes] / wall_s - 1):+.0f} % |"
        )
    yield ""


def _ends(results: Found) -> Iterator[str]:
    alone = 1 / _row_s(results)
    yield "## Where it ends\n"
    yield (
        f"One coordinator takes {_round(alone)} rows a second over Ray, then it is busy all the "
        "time. The table says how many cores send so many rows. It is computed from the cost of "
        "a row; no cluster of this size was measured.\n"
    )
    yield "| an episode takes | cores that keep the coordinator busy |"
    yield "| --: | --: |"
    for seconds in (0.1, 1.0, 10.0, 60.0):
        yield f"| {seconds:g} s | {_round(alone * seconds)} |"
    yield ""
    yield _WAYS


_WAYS = """It ends earlier where there are too few shards, or where starts take the time:

| what ends it | how you see it | what to do |
| --- | --- | --- |
| the coordinator | it or Ray's process takes a core | longer episodes, or several commands |
| shards | cores idle at the end of a run | more `--runs`; elsewhere a larger `--agents N` |
| starts of agents | runs last seconds | more `--episodes` a run |

Runs are whole: 30 runs use at most 30 cores, and on 20 cores they are no faster than on 15, as some
cores play two either way. `--agents N` is part of the plan.

**Several commands on one cluster**, such as one for each agent or `--seed`, each have a
coordinator. Give each an `--out` and `--processes` of its own; `reglue report` takes all folders.
One run has one coordinator, as its ledger has one writer.

**One machine with many cores** needs no Ray: `--processes N` saves its calls.
"""


def _stood_on(results: Found) -> Iterator[str]:
    yield "## Machine and versions\n"
    yield "| | |"
    yield "| --- | --- |"
    for name, value in results["stood_on"].items():
        yield f"| {name} | {value} |"
    for part, what in (
        ("coordinator", "the coordinator"),
        ("ray", "what Ray adds"),
        ("nodes", "what nodes add"),
    ):
        of = results[part]
        yield f"| {what} | measured on {of['date']}, at a load of {of['load']} when it began |"


def _formula(model: Model) -> str:
    return (
        f"{model.start_s:.1f} + {model.node_s:.2f} × nodes + {model.run_s:.2f} × ceil(runs / nodes)"
    )


def _seconds(results: Found) -> dict[int, float]:
    return {int(nodes): min(rounds) for nodes, rounds in results["nodes"]["found"].items()}


def _row_s(results: Found) -> float:
    return float(median(results["ray"]["found"]))


def _round(value: float) -> str:
    """With two digits: more would say too much."""
    return f"{float(f'{value:.2g}'):,.0f}"


def draw(results: Found, path: Path) -> None:
    """Seconds over nodes, measured and by the model, on white."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    seconds = _seconds(results)
    model = fitted(RUNS, seconds)
    sizes = range(1, max(seconds) + 1)
    modelled = [model.seconds(RUNS, nodes) for nodes in sizes]
    shared = [seconds[1] / nodes for nodes in sizes]
    points = [(int(n), s) for n, rounds in results["nodes"]["found"].items() for s in rounds]
    mpl.rcParams["svg.hashsalt"] = "scaling"  # the same figures make the same file
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    axes = figure.add_subplot()
    axes.plot(sizes, modelled, color="#2a7f62", label=f"model: {_formula(model)}")
    axes.plot(sizes, shared, color="#7b8794", linestyle=":", label="one node's time ÷ nodes")
    axes.plot(*zip(*points, strict=True), "o", color="#c8553d", label="measured, each round")
    axes.set(xlabel="nodes, each with a core", ylabel="seconds of the command", ylim=(0, None))
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, metadata={"Date": None})
