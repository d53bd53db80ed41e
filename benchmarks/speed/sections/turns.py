"""Turns of one agent on one host and over gRPC, and what their pieces cost."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path

import pyperf

from speed.launches import Claim, Program, Scale, Section, Series, Watch, rates, run
from speed.light import IMAGE

OURS, PLAYED = "Reglue, RL_step", "Reglue, RL_episode"
CODEC, CODEC_ALONE = "RL-Glue 3 codec", "RL-Glue 3 codec, agent alone"
HUB, HUB_PLAYED = "Reglue, four processes, RL_step", "Reglue, four processes, RL_episode"
HUB_GRPC = "Reglue, four processes over gRPC, RL_step"
CODEC_HUB = "RL-Glue 3 codec, four processes, RL_step"
CODEC_PLAYED = "RL-Glue 3 codec, four processes, RL_episode"
PLAIN_HUB = "the least Python hub, four processes, RL_step"
PLAIN_HUB_GRPC = "the least Python hub, four processes over gRPC, RL_step"
PLAIN_HUB_PLAYED = "the least Python hub, four processes, RL_episode"
HUB_COST, HUB_PLAYED_COST = f"{HUB}: cost", f"{HUB_PLAYED}: cost"
CODEC_COST, CODEC_PLAYED_COST = f"{CODEC_HUB}: cost", f"{CODEC_PLAYED}: cost"
PLAIN_COST, PLAIN_PLAYED_COST = f"{PLAIN_HUB}: cost", f"{PLAIN_HUB_PLAYED}: cost"
LEGACY = "RL-Glue 3 agent behind Reglue's bridge"
LEGACY_MANY = "RL-Glue 3 agents behind it, 8 slots"
LEGACY_HERE = "RL-Glue 3 agent, bridge in the glue's process"
LEGACY_HERE_MANY = "RL-Glue 3 agents, bridge in the glue's process, 8 slots"
LEGACY_COST, LEGACY_MANY_COST = f"{LEGACY}: cost", f"{LEGACY_MANY}: cost"
LEGACY_HERE_COST, LEGACY_HERE_MANY_COST = f"{LEGACY_HERE}: cost", f"{LEGACY_HERE_MANY}: cost"
CODEC_ALONE_COST = f"{CODEC_ALONE}: cost"
BRIDGED, BRIDGED_MANY = "dm_env_rpc by Reglue's bridge", "dm_env_rpc by Reglue's bridge, 8 slots"
OPENENV_BRIDGED, OPENENV_BRIDGED_MANY = (
    "OpenEnv by Reglue's bridge",
    "OpenEnv by Reglue's bridge, 8 slots",
)
DM, PLAIN, RAW, OPENENV = "dm_env_rpc", "plain gRPC stream", "raw Unix socket", "OpenEnv"

PROGRAMS = (
    Program(OURS, "reglue_turns", ("auto", "light", "1"), 5000),
    Program(PLAYED, "reglue_turns", ("auto", "light", "1"), 5000, {"routine": "episode"}),
    Program(CODEC, "rl_glue", ("served",), 5000),
    Program(CODEC_ALONE, "rl_glue", ("here",), 10_000, cost=CODEC_ALONE_COST),
    *(
        Program(name, "reglue_turns", ("rl-glue", where, slots), steps, cost=f"{name}: cost")
        for name, where, slots, steps in (
            (LEGACY, "process", "1", 5000),
            (LEGACY_MANY, "process", "8", 1000),
            (LEGACY_HERE, "here", "1", 5000),
            (LEGACY_HERE_MANY, "here", "8", 1000),
        )
    ),
    Program(HUB, "reglue_turns", ("hub", "auto"), 2000, cost=HUB_COST),
    Program(
        HUB_PLAYED,
        "reglue_turns",
        ("hub", "auto"),
        2000,
        {"routine": "episode"},
        cost=HUB_PLAYED_COST,
    ),
    Program(HUB_GRPC, "reglue_turns", ("hub", "grpc"), 500),
    Program(CODEC_HUB, "rl_glue", ("program",), 5000, cost=CODEC_COST),
    Program(
        CODEC_PLAYED,
        "rl_glue",
        ("program",),
        5000,
        {"routine": "episode"},
        cost=CODEC_PLAYED_COST,
    ),
    Program(PLAIN_HUB, "plain_hub", ("socket",), 5000, cost=PLAIN_COST),
    Program(
        PLAIN_HUB_PLAYED,
        "plain_hub",
        ("socket",),
        5000,
        {"routine": "episode"},
        cost=PLAIN_PLAYED_COST,
    ),
    Program(PLAIN_HUB_GRPC, "plain_hub", ("grpc",), 500),
    Program(DM, "dm_env_rpc", (), 1000),
    Program(BRIDGED, "dm_env_rpc", ("bridged", "1"), 1000),
    Program(BRIDGED_MANY, "dm_env_rpc", ("bridged", "8"), 500),
    Program(PLAIN, "plain_transports", ("stream",), 2000),
    Program(RAW, "plain_transports", ("socket",), 20_000),
    Program(OPENENV, "openenv_turns", (), 1000),
    Program(OPENENV_BRIDGED, "openenv_turns", ("bridged", "1"), 1000),
    Program(OPENENV_BRIDGED_MANY, "openenv_turns", ("bridged", "8"), 500),
)

CLAIMS = (
    Claim(
        "RL_step, beside RL-Glue 3's Python codec",
        OURS,
        CODEC,
        is_peer=True,
        means="the codec checks nothing; its environment is a process, too",
    ),
    Claim(
        "RL_step, beside that codec with the environment in the hub's process",
        OURS,
        CODEC_ALONE,
        is_peer=True,
        means="as many processes on both sides",
    ),
    Claim(
        "the codec's agent behind Reglue's bridge, beside that hub",
        LEGACY,
        CODEC_ALONE,
        is_peer=True,
        means="the bridge is one process more",
    ),
    Claim(
        "the same in 8 slots",
        LEGACY_MANY,
        CODEC_ALONE,
        is_peer=True,
        means="an agent for each slot",
    ),
    Claim(
        "the codec's agent behind Reglue's bridge: processor time ÷ that hub's",
        LEGACY_COST,
        CODEC_ALONE_COST,
    ),
    Claim("the same in 8 slots: cost", LEGACY_MANY_COST, CODEC_ALONE_COST),
    Claim(
        "the same with the bridge in the glue's process: cost",
        LEGACY_HERE_COST,
        CODEC_ALONE_COST,
        means="as many processes on both sides",
    ),
    Claim("the same in 8 slots, bridge there: cost", LEGACY_HERE_MANY_COST, CODEC_ALONE_COST),
    Claim("RL_step in four processes, beside that codec", HUB, CODEC_HUB, is_peer=True),
    Claim(
        "RL_episode in four processes, beside that codec", HUB_PLAYED, CODEC_PLAYED, is_peer=True
    ),
    Claim(
        "RL_step in four processes: processor time ÷ that codec's",
        HUB_COST,
        CODEC_COST,
        means="of all four; the codec's hub is the lean one in Python, not RL-Glue's own in C",
    ),
    Claim(
        "RL_episode in four processes: processor time ÷ that codec's",
        HUB_PLAYED_COST,
        CODEC_PLAYED_COST,
        means="likewise",
    ),
    Claim(
        "RL_step in four processes: processor time ÷ the least Python hub's", HUB_COST, PLAIN_COST
    ),
    Claim(
        "RL_episode in four processes: processor time ÷ the least Python hub's",
        HUB_PLAYED_COST,
        PLAIN_PLAYED_COST,
    ),
    Claim(
        "RL_step in four processes, beside the least Python hub",
        HUB,
        PLAIN_HUB,
        is_peer=True,
        means="what sessions, deadlines and checks cost",
    ),
    Claim(
        "RL_episode in four processes, beside the least Python hub",
        HUB_PLAYED,
        PLAIN_HUB_PLAYED,
        is_peer=True,
    ),
    Claim(
        "the least Python hub's RL_episode, beside that codec",
        PLAIN_HUB_PLAYED,
        CODEC_PLAYED,
        means="no hub in Python that passes our messages on can gain more on the codec",
    ),
    Claim(
        "RL_step/s in four processes over gRPC",
        HUB_GRPC,
        means="for peers on other machines; on one host the Unix socket is used",
    ),
    Claim(
        "RL_step in four processes over gRPC, beside the least Python hub",
        HUB_GRPC,
        PLAIN_HUB_GRPC,
        is_peer=True,
    ),
    Claim(
        "RL_step, beside dm_env_rpc",
        OURS,
        DM,
        is_peer=True,
        means="that is gRPC, without an agent's process",
    ),
    Claim(
        "dm_env_rpc through Reglue's bridge and make_vec, beside its own client",
        BRIDGED,
        DM,
        is_peer=True,
        means="the same server",
    ),
    Claim("the same in 8 slots", BRIDGED_MANY, DM, is_peer=True, means="a world for each slot"),
    Claim(
        "RL_step, beside a raw Unix socket",
        OURS,
        RAW,
        is_peer=True,
        means="the socket carries the same bytes and does nothing: nothing over it can be faster",
    ),
    Claim("RL_episode, beside a raw Unix socket", PLAYED, RAW, is_peer=True),
    Claim("RL_step over a Unix socket, beside a plain gRPC stream", OURS, PLAIN, is_peer=True),
    Claim("RL_step, beside OpenEnv", OURS, OPENENV, is_peer=True, means="that is a WebSocket"),
    Claim(
        "OpenEnv through Reglue's bridge and make_vec, beside its own client",
        OPENENV_BRIDGED,
        OPENENV,
        is_peer=True,
        means="the same server",
    ),
    Claim(
        "OpenEnv in 8 slots, beside its own client in one",
        OPENENV_BRIDGED_MANY,
        OPENENV,
        is_peer=True,
        means="an environment for each slot",
    ),
)


def turns(scale: Scale, watch: Watch) -> Section:
    """Steps a second."""
    series, notes = rates(PROGRAMS, "steps/s", rounds=scale.rounds(7), scale=scale, watch=watch)
    return Section(
        title="One agent, one light environment, one host",
        about="Observations of 4 float64, one integer as action, no episode ends. Reglue: the "
        "environment is in the glue's process, as in a program that uses `Glue`; deadlines and "
        "validation are on. RL-Glue 3's codec: agent and environment in processes of their own; a "
        "minimal hub, written for this comparison, in the program's process. The codec's agent "
        "behind Reglue's bridge has a process, as the bridge has, unless that is in the glue's. "
        "Four processes: the program and Reglue's environment have processes of their own, too; "
        "the codec has the same hub. "
        "The least Python hub passes Reglue's messages on between four processes and has no "
        "sessions, budgets or slots. The raw socket carries the same bytes and does not decode "
        "them. Cost: processor time a step of all processes together.",
        series=series,
        claims=CLAIMS,
        notes=notes,
    )


SLOTS = 32
ONE = "Reglue over gRPC, 1 slot"
MANY, HERE = f"Reglue over gRPC, {SLOTS} slots", f"Reglue on one host, {SLOTS} slots"
ASYNC, SYNC = f"AsyncVectorEnv, {SLOTS}", f"SyncVectorEnv, {SLOTS}"
OVER_GRPC, ON_HOST = "pictures over gRPC", "pictures on one host"

STREAM_PROGRAMS = (
    Program(ONE, "reglue_turns", ("grpc", "light", "1"), 2000),
    Program(PLAIN, "plain_transports", ("stream",), 2000),
    Program(MANY, "reglue_turns", ("grpc", "light", str(SLOTS)), 500, {"routine": "episode"}),
    Program(HERE, "reglue_turns", ("auto", "light", str(SLOTS)), 500, {"routine": "episode"}),
    Program(ASYNC, "vector_env_contender", ("async", str(SLOTS)), 500),
    Program(SYNC, "vector_env_contender", ("sync", str(SLOTS)), 5000),
    Program(DM, "dm_env_rpc", (), 1000),
)

PICTURES = (
    Program(OVER_GRPC, "reglue_turns", ("grpc", "image", "1"), 500, {"routine": "episode"}),
    Program(ON_HOST, "reglue_turns", ("auto", "image", "1"), 500, {"routine": "episode"}),
)

STREAM_CLAIMS = (
    Claim(
        "gRPC, 1 slot, beside a plain gRPC stream",
        ONE,
        PLAIN,
        is_peer=True,
        means="what deadlines, checks and sessions cost on each message",
    ),
    Claim(
        f"gRPC, {SLOTS} slots, beside AsyncVectorEnv",
        MANY,
        ASYNC,
        is_peer=True,
        means="AsyncVectorEnv has a process for each environment",
    ),
    Claim(
        f"gRPC, {SLOTS} slots, beside dm_env_rpc",
        MANY,
        DM,
        is_peer=True,
        means=f"dm_env_rpc carries one step a message, Reglue {SLOTS}",
    ),
    Claim(
        f"gRPC, {SLOTS} slots, beside SyncVectorEnv",
        MANY,
        SYNC,
        is_peer=True,
        means="a loop in the agent's process: use it for light environments",
    ),
    Claim("480×480×3 pictures over gRPC, MB/s", OVER_GRPC),
    Claim("480×480×3 pictures on one host, MB/s", ON_HOST),
)


def streams(scale: Scale, watch: Watch) -> Section:
    """Steps a second, and megabytes a second."""
    steps, notes = rates(
        STREAM_PROGRAMS, "steps/s", rounds=scale.rounds(5), scale=scale, watch=watch
    )
    megabytes = math.prod(IMAGE) / 1e6
    pictures, more = rates(
        PICTURES, "MB/s", rounds=scale.rounds(5), scale=scale, watch=watch, per=megabytes
    )
    return Section(
        title="Over gRPC",
        about="The same light environment. The plain stream is gRPC's tutorial with the same "
        "messages: no deadlines, no validation. The vector environments have their agent in their "
        f"own process; AsyncVectorEnv has a process for each of its {SLOTS} environments. Pictures "
        "are turns of 480×480×3 uint8, one slot.",
        series=(*steps, *pictures),
        claims=STREAM_CLAIMS,
        notes=(*notes, *more),
    )


def pieces(scale: Scale, watch: Watch) -> Section:
    """Measure the pieces of a turn by pyperf, in its own processes; a sample is one's mean."""
    watch("pieces of a turn")
    with tempfile.TemporaryDirectory(prefix="reglue-speed-") as folder:
        file = Path(folder, "pieces.json")
        options = ("--processes", str(scale.of(5, 1)), "--values", "3", "--warmups", "1")
        run(
            *("speed.contenders.pieces", "--output", str(file), "--quiet", *options),
            *("--inherit-environ", "PYTHONPATH"),
        )
        benchmarks = pyperf.BenchmarkSuite.load(str(file)).get_benchmarks()
    # as they were measured with: the end of each name
    slots = dict.fromkeys(each.get_name().rpartition(", ")[2] for each in benchmarks)
    return Section(
        title="Pieces of a turn",
        about=f"Of the light environment, with {' and '.join(slots)} slots; reading and writing is "
        "between arrays and bytes, checks included. Measured by pyperf.",
        series=tuple(
            Series(each.get_name(), "µs", tuple(1e6 * value for value in each.get_values()))
            for each in benchmarks
        ),
        claims=(),
    )
