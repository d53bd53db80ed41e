"""Peers to run with `reglue join`, and a few words with their processes."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

from glue_server import EpisodeRunner
from glue_server.agent.agent_port import AgentPort
from glue_server.rpc import GlueServer
from reglue import Phase
from tests.glue_server.playing import PATIENT, cell, corridor_pool, in_turn
from tests.glue_server.rpc.peers import seated

PATIENCE_S = 30.0

AGENTS = """
import numpy as np
import reglue

class Still(reglue.Agent):
    def __init__(self, *, word="quiet"):
        self.word = word
    def agent_message(self, message):
        return self.word
    def agent_start(self, observations, starts):
        return np.zeros((len(starts), 1))
    def agent_step(self, rewards, observations, steps):
        return np.zeros((len(steps), 1))

class Falling(Still):
    def agent_step(self, rewards, observations, steps):
        return 1 / 0

class Stillborn(Still):
    def __init__(self):
        raise OSError("no weights")

class Half(reglue.Agent):
    def agent_start(self, observations, starts):
        return []
"""

ENVIRONMENTS = """
import numpy as np
import reglue

SPEC = reglue.TaskSpec(
    (reglue.TensorSpec("seen", "float64"),), (reglue.TensorSpec("action", "int64"),)
)

class Count(reglue.Environment):
    def __init__(self, *, by=1):
        self.by = by
    def env_init(self, slots):
        self.at = np.zeros(slots)
        return SPEC
    def env_start(self, cells):
        self.at[list(cells)] = 0
        return {"seen": self.at[list(cells)]}
    def env_step(self, actions, slots):
        self.at[slots] += self.by * actions["action"]
        return reglue.Earned(self.at[slots], {"seen": self.at[slots]})

class Counts:
    spec, variants, standardizes = SPEC, {"count": 1}, True
    def world(self):
        return One()

class One:
    def start(self, cell):
        self.at = 0
        return {"seen": self.at}
    def step(self, action):
        self.at += action["action"]
        return reglue.Step(self.at, {"seen": self.at}, False, False, False)
    def close(self):
        pass

class Unstepped(reglue.Environment):
    def env_init(self, slots):
        return SPEC
    def env_start(self, cells):
        return {"seen": np.zeros(len(cells))}

class Uncounted:
    spec = SPEC
    def world(self):
        return One()
"""

Join = Callable[..., "subprocess.Popen[str]"]


def left(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Its exit code, and what it wrote."""
    _, words = process.communicate(timeout=PATIENCE_S)
    return process.returncode, words


def play(server: GlueServer) -> AgentPort:
    """One episode."""
    port = seated(server)
    glue = EpisodeRunner(port, corridor_pool(), timeouts=PATIENT)
    glue.init()
    list(glue.play(in_turn([cell()]), Phase.EVALUATE))
    return port
