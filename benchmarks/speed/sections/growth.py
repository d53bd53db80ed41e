"""Goal 6: what an episode costs among many, memory, and many agents at once."""

from __future__ import annotations

from speed.harness import (
    Claim,
    Contender,
    ContenderFailed,
    Scale,
    Section,
    Series,
    Watch,
    interleave,
    run,
)

CELLS = (100, 1000, 10_000, 100_000)
AGENTS = (1, 2, 4, 8, 16, 32, 64)


def growth(scale: Scale, watch: Watch) -> Section:
    """Cost of an episode by the number of episodes; turns by the number of agents."""
    sizes = CELLS[:2] if scale.quick else CELLS
    costs, peaks = _evaluations(sizes, scale, watch)
    counts = AGENTS[:3] if scale.quick else AGENTS
    notes: tuple[str, ...] = ()
    try:
        agents = _agents(counts, scale, watch)
    except ContenderFailed as failed:
        agents, notes = (), (f"many agents could not be measured: {failed}",)
    return Section(
        title="Growth",
        about="Episodes of one step of the light environment through `evaluate`, the agent and the "
        "environment in its process: the time from the first reset to the score by episode, and "
        "the peak of resident memory. Many agents: each in a process of its own, all at one "
        "server, each with a thread and a light environment of its own there; RL_step of all.",
        series=(*costs, *peaks, *_best(agents), *agents),
        claims=_claims(sizes, counts),
        notes=notes,
    )


def _evaluations(
    sizes: tuple[int, ...], scale: Scale, watch: Watch
) -> tuple[list[Series], list[Series]]:
    """Microseconds an episode, and peak megabytes."""
    peaks: dict[int, list[float]] = {cells: [] for cells in sizes}

    def cost(cells: int) -> float:
        found = run("speed.contenders.reglue_evaluation", str(cells)).found
        peaks[cells].append(found["peak_bytes"] / 1e6)
        return 1e6 * float(found["seconds"]) / cells

    costs = interleave(
        {_episodes(cells): lambda cells=cells: cost(cells) for cells in sizes},  # type: ignore[misc]
        "µs an episode",
        rounds=scale.rounds(3),
        watch=watch,
    )
    return list(costs), [Series(_peak(n), "MB", tuple(found)) for n, found in peaks.items()]


def _agents(counts: tuple[int, ...], scale: Scale, watch: Watch) -> tuple[Series, ...]:
    """Turns a second of all agents together."""
    watch(f"start {counts[-1]} agents")
    with Contender("reglue_turns", "agents", str(counts[-1])) as contender:

        def rate(count: int) -> float:
            found = contender.measure(count=count, seconds=1.0)
            return float(found["steps"]) / float(found["seconds"])

        rate(counts[-1])  # warms them up
        return interleave(
            {_playing(count): lambda count=count: rate(count) for count in counts},  # type: ignore[misc]
            "turns/s",
            rounds=scale.rounds(3),
            watch=watch,
        )


def _best(agents: tuple[Series, ...]) -> tuple[Series, ...]:
    if not agents:
        return ()
    best = max(agents, key=lambda series: series.median)
    return (Series("best number of agents", "turns/s", best.samples),)


def _claims(sizes: tuple[int, ...], counts: tuple[int, ...]) -> tuple[Claim, ...]:
    first, last = sizes[0], sizes[-1]
    return (
        *(
            Claim(
                "6",
                f"cost of an episode among {last:,}, of one among {few:,}",
                _episodes(last),
                _episodes(few),
                wanted=1.1,
                sense="at most",
            )
            for few in sizes[:-1]
        ),
        Claim(
            "6",
            f"peak memory of {last:,} episodes, of {first:,}",
            _peak(last),
            _peak(first),
            wanted=1.1,
            sense="at most",
        ),
        Claim(
            "6",
            f"turns/s of {counts[-1]} agents, of the best number",
            _playing(counts[-1]),
            "best number of agents",
            wanted=0.8,
        ),
    )


def _episodes(cells: int) -> str:
    return f"{cells:,} episodes"


def _peak(cells: int) -> str:
    return f"{cells:,} episodes, peak memory"


def _playing(count: int) -> str:
    return f"{count} agents" if count > 1 else "1 agent"
