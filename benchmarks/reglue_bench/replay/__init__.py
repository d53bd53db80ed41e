"""Replays an episode of a run from its cell and its recorded actions."""

from reglue_bench.replay.pictures import Camera, with_pictures
from reglue_bench.replay.recorded import Recorded, read_episode
from reglue_bench.replay.replay import Moment, Replay

__all__ = ["Camera", "Moment", "Recorded", "Replay", "read_episode", "with_pictures"]
