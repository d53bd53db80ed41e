"""Goal 4: one Python agent in its own process, one light environment, one host."""

from __future__ import annotations

from speed.harness import Claim, Scale, Section, Watch
from speed.rates import Program, rates

OURS, PLAYED = "Reglue, RL_step", "Reglue, RL_episode"
CODEC, CODEC_ALONE = "RL-Glue 3 codec", "RL-Glue 3 codec, agent alone"
DM, PLAIN, RAW, OPENENV = "dm_env_rpc", "plain gRPC stream", "raw Unix socket", "OpenEnv"

PROGRAMS = (
    Program(OURS, "reglue_turns", ("auto", "light", "1"), 5000),
    Program(PLAYED, "reglue_turns", ("auto", "light", "1"), 5000, {"routine": "episode"}),
    Program(CODEC, "rlglue_hub", ("served",), 5000),
    Program(CODEC_ALONE, "rlglue_hub", ("here",), 10_000),
    Program(DM, "dm_env_rpc", (), 1000),
    Program(PLAIN, "plain_stream", (), 2000),
    Program(RAW, "raw_socket", (), 20_000),
    Program(OPENENV, "openenv_turns", (), 1000),
)

CLAIMS = (
    Claim("4", "RL_step/s, of RL-Glue 3's Python codec's", OURS, CODEC, wanted=2.0),
    Claim("4", "the same, the codec's environment in the hub's process", OURS, CODEC_ALONE),
    Claim("4", "RL_step/s, of dm_env_rpc's", OURS, DM, wanted=8.0),
    Claim("4", "time, of a raw Unix socket's", OURS, RAW, "theirs/ours", 2.0, "at most"),
    Claim("4", "time, of a raw Unix socket's, RL_episode", PLAYED, RAW, "theirs/ours"),
    Claim("4", "RL_step/s, of a plain gRPC stream's", OURS, PLAIN),
    Claim("4", "RL_step/s, of OpenEnv's", OURS, OPENENV),
)


def metric(scale: Scale, watch: Watch) -> Section:
    """Steps a second."""
    series, notes = rates(PROGRAMS, "steps/s", rounds=scale.rounds(7), scale=scale, watch=watch)
    return Section(
        title="One agent, one light environment, one host",
        about="Observations of 4 float64, one whole number as action, no episode ends. Reglue: the "
        "environment is in the glue's process, as in a program that uses `Glue`; deadlines and "
        "validation are on. RL-Glue 3's codec: agent and environment in their own processes, the "
        "hub a lean one of ours, together with the program. The raw socket carries the same bytes "
        "and does nothing with them.",
        series=series,
        claims=CLAIMS,
        notes=notes,
    )
