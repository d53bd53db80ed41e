"""The cost of an episode among many, memory, and many agents at once."""

from __future__ import annotations

from speed.launches import (
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
RAW = "raw"
WAYS = ("auto", "grpc", RAW)  # of many agents

_WORDS = {"auto": "", "grpc": " over gRPC", RAW: ", raw sockets"}
_LOST = {
    "auto": "what many agents at one server lose together",
    "grpc": "",
    RAW: "what the machine itself loses",
}


def growth(scale: Scale, watch: Watch) -> Section:
    """Cost of an episode by the number of episodes; turns by the number of agents."""
    sizes = CELLS[:2] if scale.quick else CELLS
    costs, peaks = _evaluations(sizes, scale, watch)
    counts = AGENTS[:3] if scale.quick else AGENTS
    notes: tuple[str, ...] = ()
    agents: tuple[Series, ...] = ()
    for way in WAYS:
        try:
            agents += _agents(way, counts, scale, watch)
        except ContenderFailed as failed:
            notes += (f"many agents ({way}) could not be measured: {failed}",)
    return Section(
        title="Growth",
        about="Episodes of one step of the light environment through `evaluate`, the agent and the "
        "environment in its process: the time from the first reset to the score by episode, and "
        "the peak of resident memory. Many agents: each in a process of its own, all at one "
        "server, each with a light environment of its own there, in tasks of one thread, as the "
        "runs of a hub; RL_step of all. The raw sockets carry the bytes of a turn to as many "
        "processes from one loop that does nothing with them.",
        series=(*costs, *peaks, *agents),
        claims=_claims(sizes, counts),
        notes=notes,
    )


def _evaluations(
    sizes: tuple[int, ...], scale: Scale, watch: Watch
) -> tuple[list[Series], list[Series]]:
    """Microseconds an episode, and peak megabytes."""
    peaks: dict[int, list[float]] = {cells: [] for cells in sizes}

    def cost(cells: int) -> float:
        measured = run("speed.contenders.reglue_evaluation", str(cells)).found
        peaks[cells].append(measured["peak_bytes"] / 1e6)
        return 1e6 * float(measured["seconds"]) / cells

    costs = interleave(
        {_episodes(cells): lambda cells=cells: cost(cells) for cells in sizes},  # type: ignore[misc]
        "µs an episode",
        rounds=scale.rounds(3),
        watch=watch,
    )
    return list(costs), [Series(_peak(n), "MB", tuple(measured)) for n, measured in peaks.items()]


def _agents(way: str, counts: tuple[int, ...], scale: Scale, watch: Watch) -> tuple[Series, ...]:
    """Turns a second of all agents together, and of the best number of them."""
    watch(f"start {counts[-1]} agents")
    command = ("plain_transports", "sockets") if way == RAW else ("reglue_turns", "agents", way)
    with Contender(*command, str(counts[-1])) as contender:

        def rate(count: int) -> float:
            measured = contender.measure(count=count, seconds=1.0)
            return float(measured["steps"]) / float(measured["seconds"])

        rate(counts[-1])  # warms them up
        agents = interleave(
            {_playing(count, way): lambda count=count: rate(count) for count in counts},  # type: ignore[misc]
            "turns/s",
            rounds=scale.rounds(3),
            watch=watch,
        )
    best = max(agents, key=lambda series: series.figure)
    return Series(_best(way), "turns/s", best.samples), *agents


def _claims(sizes: tuple[int, ...], counts: tuple[int, ...]) -> tuple[Claim, ...]:
    first, last = sizes[0], sizes[-1]
    return (
        *(
            Claim(
                f"cost of an episode among {last:,} ÷ among {few:,}",
                _episodes(last),
                _episodes(few),
                means="1: an episode costs as much in a long run" if few == first else "",
            )
            for few in sizes[:-1]
        ),
        Claim(
            f"peak memory of {last:,} episodes ÷ of {first:,}",
            _peak(last),
            _peak(first),
            means="1: memory does not grow with the run",
        ),
        *(
            Claim(
                f"turns/s of {_playing(counts[-1], way)} ÷ of the best number of them",
                _playing(counts[-1], way),
                _best(way),
                means=_LOST[way],
            )
            for way in WAYS
        ),
    )


def _episodes(cells: int) -> str:
    return f"{cells:,} episodes"


def _peak(cells: int) -> str:
    return f"{cells:,} episodes, peak memory"


def _best(way: str) -> str:
    return f"best number of agents{_WORDS[way]}"


def _playing(count: int, way: str) -> str:
    return f"{count} agent{'s' * (count > 1)}{_WORDS[way]}"
