"""Goal 5: over gRPC, one slot, many slots, and pictures."""

from __future__ import annotations

import math

from speed.harness import Claim, Scale, Section, Watch
from speed.light import IMAGE
from speed.rates import Program, rates

SLOTS = 32
ONE, PLAIN = "Reglue over gRPC, 1 slot", "plain gRPC stream"
MANY, HERE = f"Reglue over gRPC, {SLOTS} slots", f"Reglue on one host, {SLOTS} slots"
ASYNC, SYNC, DM = f"AsyncVectorEnv, {SLOTS}", f"SyncVectorEnv, {SLOTS}", "dm_env_rpc"
OVER_GRPC, ON_HOST = "pictures over gRPC", "pictures on one host"

PROGRAMS = (
    Program(ONE, "reglue_turns", ("grpc", "light", "1"), 2000),
    Program(PLAIN, "plain_stream", (), 2000),
    Program(MANY, "reglue_turns", ("grpc", "light", str(SLOTS)), 500, {"routine": "episode"}),
    Program(HERE, "reglue_turns", ("auto", "light", str(SLOTS)), 500, {"routine": "episode"}),
    Program(ASYNC, "vector_env", ("async", str(SLOTS)), 500),
    Program(SYNC, "vector_env", ("sync", str(SLOTS)), 5000),
    Program(DM, "dm_env_rpc", (), 1000),
)

PICTURES = (
    Program(OVER_GRPC, "reglue_turns", ("grpc", "image", "1"), 500, {"routine": "episode"}),
    Program(ON_HOST, "reglue_turns", ("auto", "image", "1"), 500, {"routine": "episode"}),
)

CLAIMS = (
    Claim("5", "1 slot: RL_step/s, of a plain gRPC stream's", ONE, PLAIN, wanted=1.0),
    Claim("5", f"{SLOTS} slots: steps/s, of AsyncVectorEnv's", MANY, ASYNC, wanted=9.0),
    Claim("5", f"{SLOTS} slots: steps/s, of dm_env_rpc's", MANY, DM, wanted=80.0),
    Claim("5", f"{SLOTS} slots: steps/s, of SyncVectorEnv's", MANY, SYNC),
    Claim("5", "480×480×3 pictures over gRPC, MB/s", OVER_GRPC, wanted=900.0),
    Claim("5", "480×480×3 pictures on one host, MB/s", ON_HOST),
)


def metric(scale: Scale, watch: Watch) -> Section:
    """Steps a second, and megabytes a second."""
    steps, notes = rates(PROGRAMS, "steps/s", rounds=scale.rounds(5), scale=scale, watch=watch)
    megabytes = math.prod(IMAGE) / 1e6
    pictures, more = rates(
        PICTURES, "MB/s", rounds=scale.rounds(5), scale=scale, watch=watch, per=megabytes
    )
    return Section(
        title="Over gRPC",
        about="The same light environment. The plain stream is gRPC's tutorial with the same "
        "messages: no deadlines, no validation. The vector environments have their agent in their "
        "own process; AsyncVectorEnv has a process for each of its 32 environments. Pictures are "
        "turns of 480×480×3 uint8, one slot.",
        series=(*steps, *pictures),
        claims=CLAIMS,
        notes=(*notes, *more),
    )
